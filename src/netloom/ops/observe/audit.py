"""As built against as designed: which cables are missing, too many, swapped or too slow.

Devices are told apart by name and ports by number, so two switches with each other's names look
like all of their cables swapped.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from netloom.ops.plant import Cable, Plant, Port

__all__ = ["Audit", "Built", "BuiltCable", "Difference", "Jack", "audit"]

Kind = Literal["silent", "missing", "swapped", "misplaced", "extra", "wrong-speed"]
KINDS: Final[tuple[Kind, ...]] = (
    "silent",
    "missing",
    "swapped",
    "misplaced",
    "extra",
    "wrong-speed",
)
TOLERANCE: Final = 0.02  # of a rate; neighbouring speeds differ by far more


class Jack(NamedTuple):
    """A port as the fabric itself tells it: device's name and port's number."""

    device: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltCable:
    """A cable that was seen: both ends, and its rate where that is known."""

    one: Jack
    other: Jack
    rate_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was seen of a network: cables that carry, and devices that answer at all."""

    cables: tuple[BuiltCable, ...]
    devices: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not as designed.

    Attributes:
        kind: ``silent`` is a device that does not answer, ``misplaced`` a cable with one end in
            the wrong port.
        cables: Numbers of the designed cables that it concerns.
        parts: Ports (``leaf:3[7]``) or the device.
        text: In words, with rack and port.
    """

    kind: Kind
    cables: tuple[int, ...]
    parts: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The comparison.

    Attributes:
        differences: By kind, then by cable.
        num_devices: As designed, those with cables.
        num_cables: As designed.
        num_right: Of these, where they should be, at whatever speed.
        num_unknown_speed: Of these, how many did not tell their speed.
    """

    differences: tuple[Difference, ...]
    num_devices: int
    num_cables: int
    num_right: int
    num_unknown_speed: int

    @property
    def counts(self) -> dict[Kind, int]:
        """How many differences of each kind; kinds without any are zero."""
        return {kind: sum(d.kind == kind for d in self.differences) for kind in KINDS}


def audit(
    plant: Plant,
    built: Built,
    *,
    racks: Mapping[str, str],
    label: Callable[[Port], str],
    rate_bps: Callable[[Cable], float],
) -> Audit:
    """Return how *built* differs from *plant*.

    Args:
        plant: As designed.
        built: As seen.
        racks: Where each device stands, by name.
        label: What is printed beside a port: ``port 7``, ``swp7``.
        rate_bps: What each cable should run at.
    """
    return _Comparison(plant, built, racks, label).result(rate_bps)


class _Comparison:
    """A design and what was seen, looked up by port."""

    def __init__(
        self,
        plant: Plant,
        built: Built,
        racks: Mapping[str, str],
        label: Callable[[Port], str],
    ) -> None:
        self.plant, self.racks, self.label = plant, racks, label
        self.ports = {self._jack(port): port for c in plant.cables for port in c.ends}
        self.designed = {frozenset(map(self._jack, c.ends)): c for c in plant.cables}
        self.rates: dict[frozenset[Jack], float | None] = {}
        self.partner: dict[Jack, Jack] = {}
        for one in built.cables:
            pair = frozenset((one.one, one.other))
            known = [r for r in (self.rates.get(pair), one.rate_bps) if r is not None]
            self.rates[pair] = min(known, default=None)
            self.partner |= {one.one: one.other, one.other: one.one}
        alive = {jack.device for jack in self.partner} | built.devices
        self.silent = {jack.device for jack in self.ports} - alive
        self.absent = [c for pair, c in self.designed.items() if pair not in self.rates]
        self.strange = [pair for pair in self.rates if pair not in self.designed]

    def result(self, rate_bps: Callable[[Cable], float]) -> Audit:
        right = [c for pair, c in self.designed.items() if pair in self.rates]
        unknown = [c for c in right if self.rates[self._pair(c)] is None]
        found = [*self._silent(), *self._wrong_places(), *self._extra()]
        found += [d for c in right if (d := self._speed(c, rate_bps(c))) is not None]
        found.sort(key=lambda d: (KINDS.index(d.kind), d.cables, d.parts))
        return Audit(
            differences=tuple(found),
            num_devices=len({jack.device for jack in self.ports}),
            num_cables=len(self.plant.cables),
            num_right=len(right),
            num_unknown_speed=len(unknown),
        )

    def _jack(self, port: Port) -> Jack:
        return Jack(self.plant.devices[port.device].name, port.number)

    def _pair(self, cable: Cable) -> frozenset[Jack]:
        return frozenset(map(self._jack, cable.ends))

    def _place(self, jack: Jack) -> str:
        """Return a port as the person with the cable in hand needs it."""
        rack = f"{self.racks[jack.device]} " if jack.device in self.racks else ""
        port = self.ports.get(jack)
        return f"{rack}{jack.device} {self.label(port) if port else f'port {jack.port}'}"

    def _ends(self, cable: Cable) -> str:
        return " to ".join(self._place(self._jack(port)) for port in cable.ends)

    def _silent(self) -> Iterable[Difference]:
        for name in sorted(self.silent):
            cables = [c for c in self.absent if name in {j.device for j in self._pair(c)}]
            where = f"{self.racks[name]} {name}" if name in self.racks else name
            plural = "s" if len(cables) != 1 else ""
            yield Difference(
                kind="silent",
                cables=tuple(c.number for c in cables),
                parts=(name,),
                text=f"{where} does not answer; with it {len(cables)} cable{plural} cannot be seen",
            )

    def _wrong_places(self) -> Iterable[Difference]:
        """Give the cables that are not where they should be, those that explain one another once.

        Absent cables hang together when a strange one joins a port of one with a port of another.
        Where all their ports are joined among themselves, ends were swapped.
        """
        absent = [c for c in self.absent if not self.silent & {j.device for j in self._pair(c)}]
        owner = {jack: c for c in absent for jack in self._pair(c)}
        for group in self._groups(absent, owner):
            jacks = [jack for c in group for jack in map(self._jack, c.ends)]
            partners = [self.partner.get(jack) for jack in jacks]
            if len(group) > 1 and set(partners) == set(jacks):
                yield self._swapped(group)
                continue
            for cable in group:
                yield self._astray(cable)

    def _groups(self, absent: list[Cable], owner: Mapping[Jack, Cable]) -> list[list[Cable]]:
        near: dict[int, list[Cable]] = defaultdict(list)
        for pair in self.strange:
            cables = [owner[jack] for jack in sorted(pair) if jack in owner]
            for one, other in (cables, cables[::-1]) if len(cables) == 2 else ():
                near[one.number].append(other)
        groups, seen = [], set()
        for cable in absent:
            group, waiting = [], [cable]
            while waiting:
                one = waiting.pop()
                if one.number not in seen:
                    seen.add(one.number)
                    group.append(one)
                    waiting += near[one.number]
            if group:
                groups.append(sorted(group, key=lambda c: c.number))
        return groups

    def _swapped(self, group: list[Cable]) -> Difference:
        moves = []
        for cable in group:
            lower, upper = map(self._jack, cable.ends)
            now = self._place(self.partner[lower])
            moves.append(f"{self._place(lower)} goes to {now} instead of {self._place(upper)}")
        return Difference(
            kind="swapped",
            cables=tuple(c.number for c in group),
            parts=tuple(self.plant.port_name(port) for c in group for port in c.ends),
            text="; ".join(moves),
        )

    def _astray(self, cable: Cable) -> Difference:
        """Return how a cable is missing: wholly, or with an end in another port."""
        lower, upper = map(self._jack, cable.ends)
        moves = [
            f"{self._place(here)} goes to {self._place(self.partner[here])} "
            f"instead of {self._place(there)}"
            for here, there in ((lower, upper), (upper, lower))
            if here in self.partner
        ]
        return Difference(
            kind="misplaced" if moves else "missing",
            cables=(cable.number,),
            parts=tuple(self.plant.port_name(port) for port in cable.ends),
            text="; ".join(moves) or f"no cable from {self._ends(cable)}",
        )

    def _extra(self) -> Iterable[Difference]:
        absent = {jack for c in self.absent for jack in self._pair(c)}
        for pair in sorted(map(sorted, self.strange)):
            if not absent & set(pair):
                yield Difference(
                    kind="extra",
                    cables=(),
                    parts=tuple(f"{jack.device}[{jack.port}]" for jack in pair),
                    text=f"not in the design: a cable {' to '.join(map(self._place, pair))}",
                )

    def _speed(self, cable: Cable, wanted_bps: float) -> Difference | None:
        found_bps = self.rates[self._pair(cable)]
        if found_bps is None or abs(found_bps / wanted_bps - 1) <= TOLERANCE:
            return None
        return Difference(
            kind="wrong-speed",
            cables=(cable.number,),
            parts=tuple(self.plant.port_name(port) for port in cable.ends),
            text=f"{self._ends(cable)} runs at {format_quantity(found_bps, RATE)} instead of "
            f"{format_quantity(wanted_bps, RATE)}",
        )
