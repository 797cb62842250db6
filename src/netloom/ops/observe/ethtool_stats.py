"""What network drivers' own statistics are, by the names that ``ethtool -S`` gives them.

Names of mlx5 are those of the kernel's documentation (networking/device_drivers/ethernet/mellanox/
mlx5/counters.rst); a name that is not known is passed over.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["ethtool_metric"]

_NAMES: Final = {
    "rx_bytes_phy": "received_bytes",
    "tx_bytes_phy": "sent_bytes",
    "rx_packets_phy": "received_packets",
    "tx_packets_phy": "sent_packets",
    "rx_crc_errors_phy": "receive_errors",
    "tx_errors_phy": "send_errors",
    "rx_discards_phy": "receive_discards",
    "tx_discards_phy": "send_discards",
    "rx_pcs_symbol_err_phy": "symbol_errors",  # those that FEC did not put right
    "link_down_events_phy": "link_downs",
    "rx_pause_ctrl_phy": "pause_frames_received",
    "tx_pause_ctrl_phy": "pause_frames_sent",
    "np_ecn_marked_roce_packets": "ecn_marked_packets",
    "rp_cnp_handled": "congestion_notifications",
    "out_of_sequence": "out_of_sequence_packets",
    "local_ack_timeout_err": "ack_timeouts",
}
_PRIORITY: Final = re.compile(r"(?P<way>rx|tx)_prio(?P<priority>[0-7])_pause", re.ASCII)
_LANE: Final = re.compile(r"rx_err_lane_(?P<lane>\d)_phy", re.ASCII)


def ethtool_metric(name: str) -> tuple[str, str] | None:
    """Return the metric that a statistic is, and of what inside the port; None for no known one.

    >>> ethtool_metric("rx_prio3_pause"), ethtool_metric("rx_crc_errors_phy")
    (('pause_frames_received', 'priority:3'), ('receive_errors', ''))
    """
    if name in _NAMES:
        return _NAMES[name], ""
    if match := _PRIORITY.fullmatch(name):
        metric = "pause_frames_received" if match["way"] == "rx" else "pause_frames_sent"
        return metric, f"priority:{match['priority']}"
    if match := _LANE.fullmatch(name):
        return "fec_symbol_errors", f"lane:{int(match['lane']) + 1}"
    return None
