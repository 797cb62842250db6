"""A network as built beside the same as designed, port by port: the one comparison there is.

Devices are told apart by name and ports by number. What each port sees at the other end of its
cable is taken from that port where it tells, else from the port that claims to see it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.ops.plant import Cable, Plant, Port

__all__ = ["Built", "BuiltCable", "DesignComparison", "Jack", "Place", "SeenCable", "compare"]

Place = Literal["right", "missing", "elsewhere", "disputed"]
TOLERANCE: Final = 0.02  # of a rate; neighbouring speeds differ by far more


class Jack(NamedTuple):
    """A port as the fabric itself tells it: device's name and port's number."""

    device: str
    port: int

    def __str__(self) -> str:
        return f"{self.device}[{self.port}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltCable:
    """A cable that was seen: both ends, *one* being that which told, and its rate where known."""

    one: Jack
    other: Jack
    rate_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was seen of a network: cables that carry, and devices that answer at all."""

    cables: tuple[BuiltCable, ...]
    devices: frozenset[str] = frozenset()

    @classmethod
    def joined(cls, parts: Iterable[Built]) -> Built:
        """Return what several looks saw, such as one at each subnet, as one."""
        parts = tuple(parts)
        return cls(
            cables=tuple(cable for part in parts for cable in part.cables),
            devices=frozenset(name for part in parts for name in part.devices),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCable:
    """A designed cable and what its two ports see.

    Attributes:
        cable: As designed.
        lower: Its lower port.
        upper: Its upper port.
        lower_sees: What the lower port is joined to; None for nothing.
        upper_sees: What the upper port is joined to.
        place: ``right`` where they see one another, ``missing`` where neither sees anything,
            ``disputed`` where a port sees one that sees another, else ``elsewhere``.
        rate_bps: The least that was told of it; None where nothing was.
    """

    cable: Cable
    lower: Jack
    upper: Jack
    lower_sees: Jack | None
    upper_sees: Jack | None
    place: Place
    rate_bps: float | None

    @property
    def name(self) -> str:
        """What findings call it: ``cable:40 (leaf:3 - spine:0)``."""
        return f"cable:{self.cable.number} ({self.lower.device} - {self.upper.device})"

    def is_slow(self, wanted_bps: float) -> bool:
        """Return whether it is where it should be but not at its rate."""
        known = self.place == "right" and self.rate_bps is not None
        return known and abs((self.rate_bps or 0.0) / wanted_bps - 1) > TOLERANCE


@dataclass(frozen=True, kw_only=True)
class DesignComparison:
    """All of it.

    Attributes:
        cables: Every designed cable, in the order of the design.
        silent: Designed devices of which nothing was seen, by name.
        extra: Cables between ports that the design leaves free, or to devices it does not know.
        swapped: Numbers of cables whose ends were exchanged among themselves, group by group.
    """

    cables: tuple[SeenCable, ...]
    silent: frozenset[str]
    extra: tuple[tuple[Jack, Jack], ...]
    swapped: tuple[tuple[int, ...], ...]

    @cached_property
    def owners(self) -> Mapping[Jack, int]:
        """The number of the cable that belongs into each port."""
        return {jack: s.cable.number for s in self.cables for jack in (s.lower, s.upper)}

    def hidden(self, seen: SeenCable) -> bool:
        """Return whether a cable cannot be seen because a device at its end is silent."""
        return bool(self.silent & {seen.lower.device, seen.upper.device})


def compare(plant: Plant, built: Built) -> DesignComparison:
    """Return *built* beside *plant*."""
    return _Sides(plant, built).result()


class _Sides:
    """A design and what was seen, looked up by port."""

    def __init__(self, plant: Plant, built: Built) -> None:
        self.plant = plant
        told: dict[Jack, list[Jack]] = defaultdict(list)
        claimed: dict[Jack, list[Jack]] = defaultdict(list)
        self.rates: dict[frozenset[Jack], float] = {}
        for row in built.cables:
            told[row.one].append(row.other)
            claimed[row.other].append(row.one)
            pair = frozenset((row.one, row.other))
            if row.rate_bps is not None:
                self.rates[pair] = min(row.rate_bps, self.rates.get(pair, row.rate_bps))
        # A port that tells of several, such as an old neighbour that was not forgotten yet, is
        # believed for the one that tells of it too.
        self.partner = {
            jack: next((p for p in some if jack in told.get(p, [])), some[0])
            for jack, some in ({**claimed, **told}).items()
        }
        self.devices = {jack.device for jack in self.partner} | built.devices

    def result(self) -> DesignComparison:
        cables = tuple(self._seen(cable) for cable in self.plant.cables)
        designed = {jack for s in cables for jack in (s.lower, s.upper)}
        silent = frozenset({jack.device for jack in designed} - self.devices)
        absent = {j for s in cables if s.place != "right" for j in (s.lower, s.upper)}
        pairs = {(min(j, p), max(j, p)) for j, p in self.partner.items()}
        wanted = {frozenset((s.lower, s.upper)) for s in cables}
        strange = sorted(pair for pair in pairs if frozenset(pair) not in wanted)
        return DesignComparison(
            cables=cables,
            silent=silent,
            extra=tuple(pair for pair in strange if not absent & set(pair)),
            swapped=tuple(self._swapped(cables, silent)),
        )

    def _jack(self, port: Port) -> Jack:
        return Jack(self.plant.devices[port.device].name, port.number)

    def _seen(self, cable: Cable) -> SeenCable:
        lower, upper = map(self._jack, cable.ends)
        here, there = self.partner.get(lower), self.partner.get(upper)
        place: Place = "elsewhere"
        if (here, there) == (upper, lower):
            place = "right"
        elif here is None and there is None:
            place = "missing"
        elif not (self._agrees(lower, here) and self._agrees(upper, there)):
            place = "disputed"
        return SeenCable(
            cable=cable,
            lower=lower,
            upper=upper,
            lower_sees=here,
            upper_sees=there,
            place=place,
            rate_bps=self.rates.get(frozenset((lower, upper))),
        )

    def _agrees(self, jack: Jack, peer: Jack | None) -> bool:
        """Return whether what a port sees, if anything, sees it too."""
        return peer is None or self.partner.get(peer) == jack

    def _swapped(
        self, cables: Iterable[SeenCable], silent: frozenset[str]
    ) -> Iterable[tuple[int, ...]]:
        """Give groups of two and more cables whose ports are joined among themselves."""
        strays = [
            s
            for s in cables
            if s.place == "elsewhere" and not silent & {s.lower.device, s.upper.device}
        ]
        owner = {jack: s for s in strays for jack in (s.lower, s.upper)}
        seen: set[int] = set()
        for start in strays:
            group = self._reached(start, owner, seen)
            jacks = {jack for s in group for jack in (s.lower, s.upper)}
            if len(group) > 1 and {self.partner.get(jack) for jack in jacks} == jacks:
                yield tuple(sorted(s.cable.number for s in group))

    def _reached(
        self, start: SeenCable, owner: Mapping[Jack, SeenCable], seen: set[int]
    ) -> list[SeenCable]:
        """Return the strays that hang together with one: a port of theirs is joined to its own."""
        group, waiting = [], [start]
        while waiting:
            one = waiting.pop()
            if one.cable.number not in seen:
                seen.add(one.cable.number)
                group.append(one)
                peers = (one.lower_sees, one.upper_sees)
                waiting += [owner[jack] for jack in peers if jack is not None and jack in owner]
        return group
