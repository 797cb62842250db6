"""NDP, IRN and RoCE as the sources of published completion times have them, by name.

Read or recalled as docs/models/packet.md says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.engines.packet import Ecn, PacketSettings, SwitchSettings, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["LOSSY_SETTINGS", "irn_settings"]

_US: Final = 1_000_000


def _ndp(num_paths: int) -> PacketSettings:
    """Return NDP as its paper has it (recalled): 9 KB packets, queues of 8, first window of 30."""
    payload = 8936
    return PacketSettings(
        flow_control="trimming",
        balance="source",
        spray="oblivious",
        num_paths=num_paths,
        switch=SwitchSettings(
            buffer_bytes=1 << 40,
            queue_bytes=8 * (payload + 64),
            reserve_bytes=0,
            return_headers=True,
        ),
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


# Mittal et al., SIGCOMM 2018, section 4.1 (recalled): input-queued switches whose ports serve
# inputs in turn, twice the network's product of 120 KB for each input port.
_IRN_SWITCH: Final = SwitchSettings(ingress_bytes=240_000, input_turns=True, reserve_bytes=0)


def _irn() -> PacketSettings:
    """Return IRN (recalled): 110 packets in flight, timeouts of 320 and, up to three, 100 us.

    There the 110 count from the last packet that is acknowledged with all before it: here no more
    than 128 numbers are open from there. Acknowledgements queue and pause with the data (assumed:
    an input has one buffer and one threshold there, and no classes are told of).
    """
    return PacketSettings(
        flow_control="lossy",
        switch=_IRN_SWITCH,
        transport=Transport(
            recovery="selective",
            payload_bytes=1000,
            ack_on_data_lane=True,
            disorder_packets=1,
            window_bytes=110_000,
            ring_packets=128,
            timeout_ps=320 * _US,
            timeout_low_ps=100 * _US,
            timeout_low_packets=3,
        ),
    )


def _go_back_n() -> PacketSettings:
    """Return the same switches and go-back-N without a window, with IRN's longer timeout.

    A gap is reported once a round trip (assumed; once for all, as InfiniBand has it, does worse).
    """
    host = Transport(
        payload_bytes=1000,
        ack_on_data_lane=True,
        nack_interval_ps=24 * _US,
        timeout_ps=320 * _US,
    )
    return replace(_irn(), transport=host)


def _with_pfc(settings: PacketSettings) -> PacketSettings:
    """Return *settings* with pauses and, as the authors have it (recalled), without timeouts.

    The threshold is the buffer less what a cable needs; the authors' headroom is its product.
    """
    host = replace(settings.transport, timeout_ps=0, timeout_low_ps=0, timeout_low_packets=0)
    return replace(settings, flow_control="pfc", transport=host)


def _roce() -> PacketSettings:
    """Return RoCEv2 with PFC and DCQCN as NICs run it, one QP."""
    return PacketSettings(
        flow_control="pfc",
        congestion_control="dcqcn-firmware",
        ecn=Ecn(),
        transport=Transport(cnp_interval_ps=4 * _US),
    )


# Zhu et al., SIGCOMM 2015 (recalled): Trident II, 12 MB; beta 8, which is alpha 1; 1 KB packets.
_TRIDENT: Final = SwitchSettings(buffer_bytes=12_000_000, alpha=1.0)


def _uncontrolled() -> PacketSettings:
    return PacketSettings(switch=_TRIDENT, transport=Transport(payload_bytes=1000))


def _dctcp() -> PacketSettings:
    """Return DCTCP beside DCQCN in its paper: marks above 160 KB (recalled), Ethernet frames."""
    return PacketSettings(
        flow_control="lossy",
        congestion_control="dctcp",
        switch=_TRIDENT,
        ecn=Ecn(kmin_bytes=160_000, kmax_bytes=160_000, pmax=1.0, at_rate_bps=0),
        transport=Transport(
            recovery="selective",
            payload_bytes=1460,
            header_bytes=58,
            disorder_packets=3,
            timeout_ps=10_000 * _US,
        ),
    )


def _with_dcqcn(settings: PacketSettings) -> PacketSettings:
    """Return *settings* with DCQCN as its paper has it: marks from 5 to 200 KB, 1 % (secondary)."""
    return replace(
        settings,
        congestion_control="dcqcn",
        ecn=Ecn(kmin_bytes=5_000, kmax_bytes=200_000, pmax=0.01, at_rate_bps=0),
        transport=replace(settings.transport, cnp_interval_ps=50 * _US),
    )


def _with_nic_dcqcn(settings: PacketSettings) -> PacketSettings:
    """Return *settings* with DCQCN as in ConnectX-4, which IRN's authors simulate (recalled).

    Notifications go first, as NICs ship. Marks are those of DCQCN's paper.
    """
    marked = _with_dcqcn(settings)
    return replace(
        marked,
        congestion_control="dcqcn-firmware",
        transport=replace(marked.transport, cnp_interval_ps=4 * _US, cnp_first=True),
    )


def _with_timely(settings: PacketSettings) -> PacketSettings:
    return replace(settings, congestion_control="timely")


_IRN_TRANSPORTS: Final[Mapping[str, Callable[[], PacketSettings]]] = {
    "irn": _irn,
    "irn-pfc": lambda: _with_pfc(_irn()),
    "roce-pfc": lambda: _with_pfc(_go_back_n()),
    "roce-lossy": _go_back_n,
}
_IRN_CONTROLS: Final[Mapping[str, Callable[[PacketSettings], PacketSettings]]] = {
    "": lambda settings: settings,
    "dcqcn": _with_nic_dcqcn,
    "timely": _with_timely,
}


def irn_settings(scheme: str) -> PacketSettings:
    """Return one side of IRN's comparisons: a transport, after ``-with-`` its control."""
    transport, _, control = scheme.partition("-with-")
    return _IRN_CONTROLS[control](_IRN_TRANSPORTS[transport]())


# By scheme; each is told the number of paths.
LOSSY_SETTINGS: Final[Mapping[str, Callable[[int], PacketSettings]]] = {
    "ndp": _ndp,
    "roce": lambda _: _roce(),
    "roce-8-qps": lambda _: replace(_roce(), connections=8),
    "uncontrolled": lambda _: _uncontrolled(),
    "dcqcn": lambda _: _with_dcqcn(_uncontrolled()),
    "dctcp": lambda _: _dctcp(),
}
