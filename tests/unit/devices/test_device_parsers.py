"""What devices print becomes ports and numbers; where a source is named, not recorded from one."""

from __future__ import annotations

from pathlib import Path

import pytest

from netloom.drivers.devices.adapters import look_by_ethtool
from netloom.drivers.programs import missing_packages
from netloom.formats.linux.adapters import ethtool_report, mlxlink_report
from netloom.formats.prometheus.exporters import report_of as exported
from netloom.formats.prometheus.exposition import parse_exposition
from netloom.ops.observe.devices import DeviceAccess, DeviceReport, PortValue

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


# Labels of ethtool's sff-common.c and names of mlx5's counters; the numbers are ours.
ETHTOOL = """@netloom@ state eth2
up
400000
@netloom@ stats eth2
NIC statistics:
     rx_packets_phy: 1000
     rx_crc_errors_phy: 3
     rx_prio3_pause: 5
     rx_err_lane_0_phy: 9
     tx_queue_0_packets: 77
@netloom@ module eth2
\tIdentifier                                : 0x11 (QSFP28)
\tLaser tx bias current (Channel 2)         : 6.750 mA
\tTransmit avg optical power (Channel 2)    : 0.8812 mW / -0.55 dBm
\tRcvr signal avg optical power(Channel 1)  : 0.7000 mW / -1.55 dBm
\tModule temperature                        : 31.50 degrees C / 88.70 degrees F
\tModule voltage                            : 3.2800 V
\tModule temperature high alarm threshold   : 75.00 degrees C / 167.00 degrees F
@netloom@ state eth3
down
-1
"""
# Keys of mstflint's mlxlink_commander.cpp; the numbers are ours.
MLXLINK = """@netloom@ mlxlink mlx5_0
{"result": {"output": {
 "Operational Info": {"State": "Active", "Physical state": "LinkUp", "Speed": "IB-NDR"},
 "Physical Counters and BER Info": {"Effective Physical Errors": "2",
  "Effective Physical BER": "15E-255", "Raw Physical BER": "3E-09", "Link Down Counter": "1",
  "Raw Physical Errors Per Lane": {"values": ["1", "2", "3", "4"]}},
 "Module Info": {"Temperature [C]": "45 [-5..75]", "Voltage [mV]": "3280.5 [3100..3500]",
  "Rx Power Current [dBm]": "1.25,-40,1.5,1.75 [-8..6]", "Bias Current [mA]": {"values": ["7.5"]}}
}}}
@netloom@ mlxlink mlx5_1
-E- failed
"""


def test_ethtool_is_read() -> None:
    assert values(ethtool_report(ETHTOOL)) == {
        PortValue("eth2", "link_up", 1),
        PortValue("eth2", "rate_bps", 400e9),
        PortValue("eth2", "received_packets", 1000),
        PortValue("eth2", "receive_errors", 3),
        PortValue("eth2", "pause_frames_received", 5, "priority:3"),
        PortValue("eth2", "fec_symbol_errors", 9, "lane:1"),
        PortValue("eth2", "optic_bias_a", 6.75e-3, "lane:2"),
        PortValue("eth2", "optic_transmit_power_dbm", -0.55, "lane:2"),
        PortValue("eth2", "optic_receive_power_dbm", -1.55, "lane:1"),
        PortValue("eth2", "optic_temperature_c", 31.5),
        PortValue("eth2", "optic_voltage_v", 3.28),
        PortValue("eth3", "link_up", 0),
    }


def test_mlxlink_is_read_and_what_it_does_not_know_is_left_out() -> None:
    report = mlxlink_report(MLXLINK)
    assert report.missing == "mlxlink says nothing of mlx5_1"
    assert values(report) == {
        PortValue("mlx5_0", "link_up", 1),
        PortValue("mlx5_0", "symbol_errors", 2),
        PortValue("mlx5_0", "pre_fec_error_rate", 3e-9),
        PortValue("mlx5_0", "link_downs", 1),
        PortValue("mlx5_0", "optic_temperature_c", 45),
        PortValue("mlx5_0", "optic_voltage_v", 3280.5 * 1e-3),
        PortValue("mlx5_0", "optic_receive_power_dbm", 1.25, "lane:1"),
        PortValue("mlx5_0", "optic_receive_power_dbm", -40, "lane:2"),
        PortValue("mlx5_0", "optic_receive_power_dbm", 1.5, "lane:3"),
        PortValue("mlx5_0", "optic_receive_power_dbm", 1.75, "lane:4"),
        PortValue("mlx5_0", "optic_bias_a", 7.5e-3, "lane:1"),
    }


def test_ethtool_on_this_machine_says_what_it_has() -> None:
    if missing_packages(["ethtool"]):
        pytest.skip("needs the package ethtool")
    report = look_by_ethtool(DeviceAccess(name="here", address="local"))
    real = {path.parent.name for path in Path("/sys/class/net").glob("*/device")}
    assert {one.port for one in report.values} <= real
    assert bool(report.missing) == (not report.values)
