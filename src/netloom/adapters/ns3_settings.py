"""The packet engine set up as HPCC's simulator on ns-3 is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.settings import Ecn, PacketSettings, Pfc, Switch, Transport
from netloom.errors import SpecError
from netloom.fabric.wiring_paths import first_ways

if TYPE_CHECKING:
    from netloom.adapters.ns3 import Ns3Config
    from netloom.fabric.wiring import Wiring

__all__ = ["HEADER_BYTES", "packet_settings"]

# Ethernet 14, IPv4 20, UDP 8 and the simulator's own sequence header 6: custom-header.cc,
# GetStaticWholeHeaderSize without telemetry.
HEADER_BYTES: Final = 48
ACK_BYTES: Final = 46  # Ethernet 14, IPv4 20, qbb-header.cc 12; telemetry comes on top
LEAST_ACK_BYTES: Final = 60  # rdma-hw.cc, ReceiveUdp
# What telemetry adds to data and acknowledgements, int-header.h: five hops of 8 bytes and their
# number; a time stamp for TIMELY.
TELEMETRY_BYTES: Final = {"hpcc": 42, "timely": 8}
NACK_INTERVAL_PS: Final = 500_000_000  # rdma-hw.cc: NACK_INTERVAL 500 us
_SCHEMES: Final = {
    "dcqcn": "dcqcn-firmware",
    "hpcc": "hpcc",
    "timely": "timely",
    "dctcp": "dctcp-rate",
}
MAX_PAIRS: Final = 200_000


def packet_settings(config: Ns3Config, wiring: Wiring) -> PacketSettings:
    """Return what *config* says, in netloom's terms, with the simulator's own rules around it.

    Raises:
        SpecError: the scheme is none that the packet engine has, or marking thresholds are not
            in proportion to the rates.
    """
    scheme = _SCHEMES.get(config.congestion_control)
    if scheme is None:
        message = (
            f"CC_MODE: {config.congestion_control} is not there packet by packet; "
            f"use one of {', '.join(_SCHEMES)}"
        )
        raise SpecError(message)
    parameters = {}
    if scheme == "hpcc":
        parameters = {"target": config.target_utilisation, "max_stage": float(config.max_stage)}
    extra = TELEMETRY_BYTES.get(scheme, 0)
    return PacketSettings(
        flow_control="pfc",
        balance="ecmp",
        congestion_control=scheme,
        parameters=parameters,
        connections=1,
        switch=Switch(buffer_bytes=config.buffer_bytes),
        pfc=Pfc(headroom_products=3.0),
        ecn=_ecn(config),
        transport=Transport(
            payload_bytes=config.payload_bytes,
            header_bytes=HEADER_BYTES + extra,
            gap_bytes=0,
            least_bytes=0,
            ack_bytes=max(ACK_BYTES + extra, LEAST_ACK_BYTES),
            ack_on_data_lane=config.words.get("ACK_HIGH_PRIO", ("0",)) == ("0",),
            telemetry=scheme == "hpcc",
            nack_interval_ps=NACK_INTERVAL_PS,
            window_bdp=1.0 if config.has_window else 0.0,
            base_rtt_ps=_longest_rtt_ps(wiring, config.payload_bytes),
        ),
    )


def _ecn(config: Ns3Config) -> Ecn | None:
    if not config.ecn:
        return None
    rates = sorted(config.ecn)
    low, high, most = config.ecn[rates[0]]
    for rate in rates[1:]:
        other = config.ecn[rate]
        factor = rate / rates[0]
        if not np.allclose(other, (low * factor, high * factor, most), rtol=0.01):
            message = (
                f"KMIN_MAP, KMAX_MAP, PMAX_MAP: {rate} bit/s is not in proportion to "
                f"{rates[0]}; netloom's thresholds grow with the rate"
            )
            raise SpecError(message)
    return Ecn(kmin_bytes=low, kmax_bytes=high, pmax=most, at_rate_bps=float(rates[0]))


def _longest_rtt_ps(wiring: Wiring, payload_bytes: int) -> int:
    """Return the longest base round trip: third.cc gives it to every flow (GLOBAL_T 1)."""
    switch = np.full(wiring.num_endpoints, -1, dtype=np.int64)
    out = wiring.link_source < wiring.num_endpoints
    switch[wiring.link_source[out]] = wiring.link_target[out]
    _, first = np.unique(switch, return_index=True)  # one host of each leaf stands for all
    _, last = np.unique(switch[::-1], return_index=True)
    ends = np.unique(np.concatenate([first, wiring.num_endpoints - 1 - last]))
    one, other = (axis.reshape(-1) for axis in np.meshgrid(ends, ends))
    pairs = np.flatnonzero(one != other)[:MAX_PAIRS]
    if not len(pairs):
        return 0
    ways = first_ways(wiring, one[pairs], other[pairs])
    return round(float((2 * ways.delay_ps + payload_bytes * ways.ps_per_byte).max()))
