"""What devices print becomes ports and numbers; where a source is named, not recorded from one."""

from __future__ import annotations

import pytest

from netloom.formats.prometheus.exporters import report_of as exported
from netloom.formats.prometheus.exposition import parse_exposition
from netloom.ops.observe.devices import DeviceReport, PortValue

# Fields and labels as dcgm-exporter's documentation prints them; the numbers are ours.
DCGM = """
# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="3",UUID="GPU-604ac76c",device="nvidia3",Hostname="node1"} 41
DCGM_FI_DEV_XID_ERRORS{gpu="3",UUID="GPU-604ac76c",device="nvidia3",Hostname="node1"} 79
DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{gpu="3",device="nvidia3"} 12
DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu="3",device="nvidia3"} 5
DCGM_FI_DEV_SM_CLOCK{gpu="3",device="nvidia3"} 1980
"""
# Statistics of mlx5 (the kernel's mlx5/counters.rst) as node_exporter's ethtool collector renames
# them; the numbers are ours.
MLX5 = """
node_ethtool_received_prio3_pause{device="eth2"} 11
node_ethtool_transmitted_prio3_pause{device="eth2"} 12
node_ethtool_received_discards_phy{device="eth2"} 13
node_ethtool_received_crc_errors_phy{device="eth2"} 14
node_ethtool_link_down_events_phy{device="eth2"} 15
node_ethtool_received_pcs_symbol_err_phy{device="eth2"} 16
node_network_speed_bytes{device="eth2"} 5e+10
node_network_speed_bytes{device="eth3"} -125000
"""


def values(report: DeviceReport) -> set[PortValue]:
    return set(report.values)


def test_dcgm_tells_of_gpus() -> None:
    assert values(exported(parse_exposition(DCGM))) == {
        PortValue("", "gpu_temperature_c", 41, "gpu:3"),
        PortValue("", "gpu_xid", 79, "gpu:3"),
        PortValue("", "nvlink_crc_errors", 12, "gpu:3"),
        PortValue("", "pcie_replays", 5, "gpu:3"),
    }


def test_ethtool_statistics_of_mlx5_are_known() -> None:
    assert values(exported(parse_exposition(MLX5))) == {
        PortValue("eth2", "pause_frames_received", 11, "priority:3"),
        PortValue("eth2", "pause_frames_sent", 12, "priority:3"),
        PortValue("eth2", "receive_discards", 13),
        PortValue("eth2", "receive_errors", 14),
        PortValue("eth2", "link_downs", 15),
        PortValue("eth2", "symbol_errors", 16),
        PortValue("eth2", "rate_bps", 400e9),
    }


@pytest.mark.parametrize("text", ['node_network_up{device="eth0"} NaN', "x 1"])
def test_what_says_nothing_is_passed_over(text: str) -> None:
    assert values(exported(parse_exposition(text))) == set()
