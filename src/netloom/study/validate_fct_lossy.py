"""NDP, IRN and RoCE as the sources of published completion times have them, by name.

Read or recalled as docs/models/packet.md says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.engines.packet import Ecn, PacketSettings, Switch, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["LOSSY_SETTINGS"]

_US: Final = 1_000_000


def _ndp(num_paths: int) -> PacketSettings:
    """Return NDP as its paper has it (recalled): 9 KB packets, queues of 8, first window of 30."""
    payload = 8936
    return PacketSettings(
        flow_control="trimming",
        balance="source",
        spray="oblivious",
        num_paths=num_paths,
        switch=Switch(buffer_bytes=1 << 40, queue_bytes=8 * (payload + 64), reserve_bytes=0),
        transport=Transport(
            recovery="pulled",
            payload_bytes=payload,
            header_bytes=64,
            gap_bytes=0,
            ack_bytes=64,
            timeout_ps=20_000 * _US,
            pull_bytes=payload,
            first_window_bytes=30 * payload,
        ),
    )


def _irn() -> PacketSettings:
    """Return IRN (recalled): a window of 120 KB, timeouts of 320 and 100 us, 240 KB a port."""
    return PacketSettings(
        flow_control="lossy",
        switch=Switch(buffer_bytes=6 * 240_000, queue_bytes=240_000, reserve_bytes=0),
        transport=Transport(
            recovery="selective",
            payload_bytes=1000,
            disorder_packets=1,
            window_bytes=120_000,
            timeout_ps=320 * _US,
            timeout_low_ps=100 * _US,
            timeout_low_packets=3,
        ),
    )


def _go_back_n() -> PacketSettings:
    """Return the same switches and go-back-N without a window, a gap reported once a round trip.

    Its timeout is IRN's longer one (recalled).
    """
    host = Transport(payload_bytes=1000, nack_interval_ps=24 * _US, timeout_ps=320 * _US)
    return replace(_irn(), transport=host)


def _go_back_n_pfc() -> PacketSettings:
    return replace(
        _go_back_n(),
        flow_control="pfc",
        switch=Switch(buffer_bytes=6 * 240_000, alpha=1.0, reserve_bytes=0),
        transport=Transport(payload_bytes=1000),
    )


def _roce() -> PacketSettings:
    """Return RoCEv2 with PFC and DCQCN as NICs run it, one QP."""
    return PacketSettings(
        flow_control="pfc",
        congestion_control="dcqcn-firmware",
        ecn=Ecn(),
        transport=Transport(cnp_interval_ps=4 * _US),
    )


def _with_dcqcn(settings: PacketSettings) -> PacketSettings:
    """Return *settings* with DCQCN as its paper has it: marks from 5 to 200 KB, 1 % (secondary)."""
    return replace(
        settings,
        congestion_control="dcqcn",
        ecn=Ecn(kmin_bytes=5_000, kmax_bytes=200_000, pmax=0.01, at_rate_bps=0),
        transport=replace(settings.transport, cnp_interval_ps=50 * _US),
    )


def _with_timely(settings: PacketSettings) -> PacketSettings:
    return replace(settings, congestion_control="timely")


# By scheme; each is told the number of paths.
LOSSY_SETTINGS: Final[Mapping[str, Callable[[int], PacketSettings]]] = {
    "ndp": _ndp,
    "irn": lambda _: _irn(),
    "irn-with-dcqcn": lambda _: _with_dcqcn(_irn()),
    "irn-with-timely": lambda _: _with_timely(_irn()),
    "roce-pfc": lambda _: _go_back_n_pfc(),
    "roce-lossy": lambda _: _go_back_n(),
    "roce-lossy-with-dcqcn": lambda _: _with_dcqcn(_go_back_n()),
    "roce-lossy-with-timely": lambda _: _with_timely(_go_back_n()),
    "roce": lambda _: _roce(),
}
