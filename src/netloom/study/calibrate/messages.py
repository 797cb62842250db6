"""What two ends measured between them: a technology's latency, and what its hosts can push."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.fabric.wire import framing, latency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.network import Network
    from netloom.parts.parts import Technology

__all__ = ["MAX_LATENCY_BYTES", "MIN_RATE_BYTES", "TimedMessage", "with_latency", "with_rate"]

MAX_LATENCY_BYTES: Final = 64  # of a message whose latency is the network's
MIN_RATE_BYTES: Final = 65_536  # of one whose rate is
_CABLE_M: Final = 40.0  # to a switch and on, as in a row of racks
_SHORT_OF_RATE: Final = 0.97  # over which hosts do not hold a NIC back
# What switches take is known; the ends' parts are what differs from host to host.
_ENDS: Final = (
    "post_s",
    "send_stack_s",
    "doorbell_s",
    "nic_send_s",
    "nic_receive_s",
    "interrupt_s",
    "receive_stack_s",
    "wake_s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedMessage:
    """What a program measured between two ends, through one switch.

    Attributes:
        program: ``ib_write_lat``, ``iperf3`` ...
        size_bytes: None where bytes stream.
        latency_s: One way; None where a rate was measured.
        rate_bps: Payload in one direction; None where a latency was measured.
        where: File and line.
    """

    program: str
    size_bytes: int | None
    latency_s: float | None
    rate_bps: float | None
    where: str = ""


def with_latency(
    network: Network, messages: Sequence[TimedMessage]
) -> tuple[Technology, tuple[TimedMessage, ...]]:
    """Return the technology at the measured latency, and what decided it; none leaves it as is.

    The parts of the two ends are scaled alike; switches and cables stay.
    """
    technology = network.technology
    used = tuple(one for one in messages if _tells_latency(one))
    times_s = [one.latency_s for one in used if one.latency_s is not None]
    if not times_s:
        return technology, ()
    known_s = latency.one_way_s(
        technology,
        num_hops=1,
        cable_m=_CABLE_M,
        message_bytes=8.0,
        rate_bps=network.nic_rate_bps,
    )
    ends_s = sum(getattr(technology.latency, name) for name in _ENDS)
    scale = max(0.0, ends_s + median(times_s) - known_s) / ends_s
    scaled = {name: getattr(technology.latency, name) * scale for name in _ENDS}
    return technology.model_copy(
        update={"latency": technology.latency.model_copy(update=scaled)}
    ), used


def with_rate(
    network: Network, messages: Sequence[TimedMessage]
) -> tuple[Technology, tuple[TimedMessage, ...]]:
    """Return the technology held to what hosts pushed through a NIC, and what decided it.

    Where hosts reach the NIC's rate and are not known to fall short of it, it stays as it is.
    """
    technology = network.technology
    rated = [
        one
        for one in messages
        if one.rate_bps and (one.size_bytes or MIN_RATE_BYTES) >= MIN_RATE_BYTES
    ]
    best = max(rated, key=lambda one: one.rate_bps or 0.0, default=None)
    if best is None or best.rate_bps is None:
        return technology, ()
    headers = framing.efficiency(technology.payload_bytes, technology.header_bytes)
    wire_bps = best.rate_bps / headers
    if technology.host_rate_bps is None and wire_bps >= _SHORT_OF_RATE * network.nic_rate_bps:
        return technology, ()
    return technology.model_copy(update={"host_rate_bps": wire_bps}), (best,)


def _tells_latency(one: TimedMessage) -> bool:
    small = one.size_bytes is not None and one.size_bytes <= MAX_LATENCY_BYTES
    return one.latency_s is not None and small
