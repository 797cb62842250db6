"""What ports count, against what healthy ports count too: errors, downs, and full queues.

One set of rules for all commands. What a counter held before the first look says nothing; packets
that a port threw away for want of room are congestion, and management packets (VL15) nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.fabric.part_id import Direction
from netloom.ops.locate.congested.report import Congestion
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.testimony import (
    COUNTED_DOWN,
    DAMAGE_PRIOR,
    SYMBOL_PRIOR,
    TRUST,
    Report,
    belief_in_counts,
    believed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.tracks import Track
    from netloom.ops.plant import Cable

__all__ = [
    "FLAPS",
    "damaged",
    "down_report",
    "full_links",
    "increase",
    "retrained",
    "symbol_errors",
]

FLAPS: Final = 2  # times down within a window before a cable is said to flap; once is an event

# A link is out of specification above this bit error rate: InfiniBand Architecture Specification,
# volume 2 (recalled).
MAX_ERROR_RATE: Final = 1e-12
PACKET_BYTES: Final = 4096  # the largest path MTU; a symbol error damages one packet
HEALTHY_LOSS: Final = 1e-8  # of packets: as the locator takes a healthy link to lose
_FULL: Final = {
    "send_discards": "{} threw away {:,.0f} packets instead of sending them",
    "buffer_overruns": "buffers of {} overran {:,.0f} times",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """What one port counted beyond what is allowed.

    Attributes:
        part: The port.
        rises: By how much, at each look at which it did.
        num_looks: How often it was looked at.
        span_s: Over how long.
    """

    part: str
    rises: tuple[float, ...]
    num_looks: int
    span_s: float

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.rises)

    def belief(self, prior: float) -> float:
        """Return the chance that something is broken there."""
        return belief_in_counts(prior, self.rises, num_looks=self.num_looks)


def symbol_errors(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    is_away: Callable[[Cable], bool],
    has_trained: Callable[[Cable], bool],
) -> Iterator[Finding]:
    """Give the cables with more physical errors than the specification or their port allows.

    Args:
        network: As designed.
        heard: What ports counted.
        is_away: Whether a cable carries nothing.
        has_trained: Whether a cable came up in the window, which makes errors.
    """
    by_cable: dict[int, list[_Count]] = defaultdict(list)
    for part, track in heard.of("symbol_errors").items():
        cable = network.at.get(part)
        if len(track.values) < 2 or cable is None or is_away(cable):
            continue
        allowed_per_s = MAX_ERROR_RATE * network.rate_bps(cable)
        one = _counted(heard, part, track, allowed_per_s=allowed_per_s)
        if one is not None:
            by_cable[cable.number].append(one)
    over = _over_threshold(network, heard, lambda c: is_away(c) or has_trained(c))
    for number in sorted({*by_cable, *over}):
        cable, counts = network.cables[number], by_cable[number]
        per_s = max((one.total / one.span_s for one in counts), default=0.0)
        says = [(one.belief(SYMBOL_PRIOR), _symbol_text(one)) for one in counts] + over[number]
        loss = min(1.0, per_s / network.rate_bps(cable) * PACKET_BYTES * 8)
        yield network.finding(
            network.part(cable),
            Trouble.SYMBOL_ERRORS,
            "; ".join(text for _, text in says),
            confidence=max(sure for sure, _ in says),
            magnitude=loss,
            gain=loss,
        )


def _symbol_text(one: _Count) -> str:
    return (
        f"{one.part} counted {one.total:,.0f} symbol errors in {one.span_s:.0f} s beyond the "
        f"{MAX_ERROR_RATE:g} of all bits at full load that are allowed"
    )


def _over_threshold(
    network: DesignedNetwork, heard: TelemetryWindow, is_apart: Callable[[Cable], bool]
) -> dict[int, list[tuple[float, str]]]:
    """Return, by cable, how sure it is that physical errors pass the threshold of a port, and why.

    Each count stands for many errors, so that few are enough; the counter ends at 15.
    """
    found: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for part, track in sorted(heard.of("integrity_errors").items()):
        cable, count = network.at.get(part), increase(track)
        if cable is None or count < FLAPS or is_apart(cable):
            continue
        said = Report(is_so=True, num_looks=int(count))
        text = f"{part} had more physical errors than its threshold allows, {count:.0f} times"
        found[cable.number].append((believed(TRUST[Trouble.SYMBOL_ERRORS], [said]), text))
    return found


def down_report(heard: TelemetryWindow, end: str, other: str, num_downs: int) -> Report:
    """Return what the port *end* of a cable, which went down so often, says of flapping.

    What it counted itself is worth more than what looks saw, unless the device at *other*
    restarted: then its cable went down with it.
    """
    counted = increase(heard.of("link_downs").get(end))
    far = heard.of("link_downs").get(other)
    restarted = far is not None and any(math.isnan(rise) for *_, rise in far.rises())
    trust = COUNTED_DOWN if counted >= FLAPS and not restarted else None
    return Report(is_so=num_downs > 0, num_looks=max(num_downs, 1), trust=trust)


def full_links(
    network: DesignedNetwork, heard: TelemetryWindow, is_away: Callable[[Cable], bool]
) -> Iterator[Congestion]:
    """Give the links for which a port had no room, where no flows tell: nothing is broken.

    A port that sends throws packets away which wait too long (``send_discards``); buffers of one
    that receives overrun (``buffer_overruns``).
    """
    for metric, text in _FULL.items():
        for part, track in sorted(heard.of(metric).items()):
            cable, count = network.at.get(part), increase(track)
            if cable is None or count < 1 or is_away(cable):
                continue
            goes_up = (part == network.ends[cable.number][0]) == (metric == "send_discards")
            yield Congestion(
                part=network.part(cable, Direction.UP if goes_up else Direction.DOWN),
                is_shown=True,
                receiver="",
                senders=(),
                is_incast=False,
                shares=(),
                num_flows=0,
                evidence=(text.format(part, count),),
            )


def retrained(
    network: DesignedNetwork, heard: TelemetryWindow, is_away: Callable[[Cable], bool]
) -> Iterator[Finding]:
    """Give the cables that train again and again without going down: each time nothing passes."""
    by_cable: dict[int, list[_Count]] = defaultdict(list)
    for part, track in heard.of("link_recoveries").items():
        cable = network.at.get(part)
        if len(track.values) < 2 or cable is None or is_away(cable):
            continue
        one = _counted(heard, part, track)
        if one is not None and len(one.rises) > 1:  # once may be a cable that was plugged in
            by_cable[cable.number].append(one)
    for number, counts in sorted(by_cable.items()):
        text = "; ".join(
            f"{one.part} trained its link again {one.total:,.0f} times in {one.span_s:.0f} s"
            for one in counts
        )
        yield network.finding(
            network.part(network.cables[number]),
            Trouble.FLAPPING,
            text,
            confidence=max(one.belief(SYMBOL_PRIOR) for one in counts),
            magnitude=max(one.total for one in counts),
        )


def damaged(
    network: DesignedNetwork, heard: TelemetryWindow, is_away: Callable[[Cable], bool]
) -> Iterator[Finding]:
    """Give the links whose receiving port found packets damaged."""
    for part, track in heard.of("receive_errors").items():
        cable = network.at.get(part)
        if len(track.values) < 2 or cable is None or is_away(cable):
            continue
        packets = increase(heard.of("received_packets").get(part))
        one = _counted(heard, part, track, allowed=HEALTHY_LOSS * packets)
        if one is None:
            continue
        share = one.total / (one.total + packets)
        at_lower = part == network.ends[cable.number][0]
        yield network.finding(
            network.part(cable, Direction.DOWN if at_lower else Direction.UP),
            FaultKind.LOSS,
            f"{part} counted {one.total:,.0f} damaged packets beside {packets:,.0f} whole",
            confidence=one.belief(DAMAGE_PRIOR),
            magnitude=share,
            gain=share,
        )


def increase(track: Track | None) -> float:
    """Return by how much a counter rose in a window, falls left out; 0 where it is not told."""
    return sum(rise for *_, rise in track.rises() if rise > 0) if track else 0.0


def _counted(
    heard: TelemetryWindow,
    part: str,
    track: Track,
    *,
    allowed_per_s: float = 0.0,
    allowed: float = 0.0,
) -> _Count | None:
    """Return what a port counted beyond what is allowed; None for nothing.

    Looks at which the counter fell say nothing. What is allowed at a look has three standard
    deviations to it; the time between looks is long where netloom did not run meanwhile.
    """
    looks = heard.looks.get(track.source, ())
    rises = tuple(track.rises())
    each = allowed / max(1, len(looks))
    beyond, span_s = [], (looks[-1] - looks[0]) if looks else 0.0
    for before_s, time_s, rise in rises:
        place = bisect_left(looks, time_s)
        since_s = looks[place - 1] if place else before_s
        span_s += 0.0 if place else time_s - before_s
        usual = each + allowed_per_s * (time_s - since_s)
        over = rise - usual - 3 * math.sqrt(usual)
        if over >= 1:  # NaN is not
            beyond.append(over)
    if not beyond:
        return None
    num_falls = sum(math.isnan(rise) for *_, rise in rises)
    return _Count(
        part=part,
        rises=tuple(beyond),
        num_looks=max(1, len(looks) - num_falls),
        span_s=max(1.0, span_s),
    )
