"""What known exporters say of a host: node_exporter and NVIDIA's DCGM exporter.

Of node_exporter: the collectors netdev, netclass, infiniband and ethtool. The last writes
``received`` for rx and ``transmitted`` for tx, as its source has it; names of DCGM's fields are
those of its default counters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.ops.observe.devices import DeviceReport, PortValue
from netloom.ops.observe.ethtool_stats import ethtool_metric
from netloom.ops.observe.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.formats.prometheus.exposition import Exposition, Sample

__all__ = ["port_value", "report_of"]

_INFINIBAND: Final = {f"node_infiniband_{m.node}": (m.name, 1.0) for m in METRICS if m.node} | {
    "node_infiniband_rate_bytes_per_second": ("rate_bps", 8.0),
}
_NETWORK: Final = {f"node_network_{m.network}": (m.name, 1.0) for m in METRICS if m.network} | {
    "node_network_up": ("link_up", 1.0),
    "node_network_speed_bytes": ("rate_bps", 8.0),
    "node_network_mtu_bytes": ("mtu_bytes", 1.0),
    "node_network_carrier_down_changes_total": ("link_downs", 1.0),
}
_DCGM: Final = {
    "DCGM_FI_DEV_GPU_TEMP": "gpu_temperature_c",
    "DCGM_FI_DEV_XID_ERRORS": "gpu_xid",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": "pcie_replays",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": "nvlink_crc_errors",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": "nvlink_replays",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": "nvlink_recoveries",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "gpu_double_bit_errors",
}
ACTIVE: Final = 4  # of a port's state: IBTA volume 1, PortInfo (PortState)
_ETHTOOL: Final = "node_ethtool_"
_RECEIVED: Final = re.compile(r"(^|_)received(?=_|$)")
_TRANSMITTED: Final = re.compile(r"(^|_)transmitted(?=_|$)")


def report_of(said: Exposition) -> DeviceReport:
    """Return what a host's exporter says; what netloom does not know is passed over.

    A port of an adapter goes by ``mlx5_0[1]``, and the first also by ``mlx5_0``.
    """
    values = [one for sample in said.samples if (one := port_value(sample)) is not None]
    ports = {one.port for one in values if one.port.endswith("[1]")}
    return DeviceReport(
        values=values,
        aliases={port: port.removesuffix("[1]") for port in ports},
        missing=f"{said.num_odd} lines are not Prometheus' format" if said.num_odd else "",
        versions=dict(pair for sample in said.samples if (pair := _version(sample)) is not None),
    )


def _version(sample: Sample) -> tuple[str, str] | None:
    """Return the component and version that a sample of node_exporter tells of."""
    labels = sample.labels
    match sample.name:
        case "node_uname_info":
            return "os", labels.get("release", "")
        case "node_infiniband_info":
            return f"firmware {labels.get('device', '')}", labels.get("firmware_version", "")
        case "node_ethtool_info":
            return f"firmware {labels.get('device', '')}", labels.get("firmware_version", "")
        case _:
            return None


# No counter or rate of a port comes near; beyond it, arithmetic may overflow.
MAX_VALUE: Final = 1e300


def port_value(sample: Sample) -> PortValue | None:
    """Return what a sample says of a port or a GPU of its host; None for all else."""
    name, labels, value = sample.name, sample.labels, sample.value
    if not abs(value) < MAX_VALUE:
        return None
    if name in _NETWORK:
        metric, scale = _NETWORK[name]
        # Speed -1 means that the kernel does not know it.
        return PortValue(labels.get("device", ""), metric, scale * value) if value >= 0 else None
    if name in _INFINIBAND or name == "node_infiniband_state_id":
        return _adapter(name, labels, value)
    if name in _DCGM:
        return PortValue("", _DCGM[name], value, f"gpu:{labels.get('gpu', '')[:8]}")
    return _driver(name, labels, value) if name.startswith(_ETHTOOL) else None


def _adapter(name: str, labels: Mapping[str, str], value: float) -> PortValue:
    port = f"{labels.get('device', '')}[{labels.get('port', '')}]"
    if name == "node_infiniband_state_id":
        return PortValue(port, "link_up", float(value == ACTIVE))
    metric, scale = _INFINIBAND[name]
    return PortValue(port, metric, scale * value)


def _driver(name: str, labels: Mapping[str, str], value: float) -> PortValue | None:
    stat = _RECEIVED.sub(r"\1rx", name.removeprefix(_ETHTOOL))
    found = ethtool_metric(_TRANSMITTED.sub(r"\1tx", stat))
    if found is None:
        return None
    metric, inside = found
    return PortValue(labels.get("device", ""), metric, value, inside)
