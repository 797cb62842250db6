"""As built against as designed, in words: which cables are missing, too many, swapped or slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from netloom.ops.observe.compare import Built, BuiltCable, Jack, compare
from netloom.results.plain import to_plain
from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from netloom.ops.observe.compare import DesignComparison, SeenCable
    from netloom.ops.plant import Cable, Plant, Port

__all__ = ["KINDS", "Audit", "Built", "BuiltCable", "Difference", "Jack", "audit"]

Kind = Literal["silent", "missing", "swapped", "misplaced", "disputed", "extra", "wrong-speed"]
KINDS: Final[tuple[Kind, ...]] = (
    "silent",
    "missing",
    "swapped",
    "misplaced",
    "disputed",
    "extra",
    "wrong-speed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not as designed.

    Attributes:
        kind: ``silent`` is a device that does not answer, ``misplaced`` a cable with one end in
            the wrong port, ``disputed`` one whose ends contradict each other.
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

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/watch.md documents."""
        return dict(to_plain(self))


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
    found = compare(plant, built)
    words = _Words(plant, found, racks, label)
    right = [one for one in found.cables if one.place == "right"]
    differences = [
        *words.silent(),
        *words.wrong_places(),
        *words.extra(),
        *(words.speed(s, rate_bps(s.cable)) for s in right if s.is_slow(rate_bps(s.cable))),
    ]
    differences.sort(key=lambda d: (KINDS.index(d.kind), d.cables, d.parts))
    return Audit(
        differences=tuple(differences),
        num_devices=len({jack.device for jack in found.owners}),
        num_cables=len(plant.cables),
        num_right=len(right),
        num_unknown_speed=sum(one.rate_bps is None for one in right),
    )


class _Words:
    """A comparison, told with racks and what is printed beside ports."""

    def __init__(
        self,
        plant: Plant,
        found: DesignComparison,
        racks: Mapping[str, str],
        label: Callable[[Port], str],
    ) -> None:
        self.found, self.racks = found, racks
        ports = [
            (jack, port)
            for s in found.cables
            for jack, port in zip((s.lower, s.upper), s.cable.ends, strict=True)
        ]
        self.labels = {jack: label(port) for jack, port in ports}
        self.names = {jack: plant.port_name(port) for jack, port in ports}

    def place(self, jack: Jack) -> str:
        """Return a port as the person with the cable in hand needs it."""
        rack = f"{self.racks[jack.device]} " if jack.device in self.racks else ""
        return f"{rack}{jack.device} {self.labels.get(jack, f'port {jack.port}')}"

    def ends(self, seen: SeenCable) -> str:
        return f"{self.place(seen.lower)} to {self.place(seen.upper)}"

    def silent(self) -> Iterable[Difference]:
        for name in sorted(self.found.silent):
            hidden = [s for s in self.found.cables if name in (s.lower.device, s.upper.device)]
            cables = [s for s in hidden if s.place != "right"]
            where = f"{self.racks[name]} {name}" if name in self.racks else name
            plural = "s" if len(cables) != 1 else ""
            yield Difference(
                kind="silent",
                cables=tuple(s.cable.number for s in cables),
                parts=(name,),
                text=f"{where} does not answer; with it {len(cables)} cable{plural} cannot be seen",
            )

    def wrong_places(self) -> Iterable[Difference]:
        """Give the cables that are not where they should be, those that were swapped together."""
        by_number = {s.cable.number: s for s in self.found.cables}
        swapped = {number for group in self.found.swapped for number in group}
        for group in self.found.swapped:
            yield self._swapped([by_number[number] for number in group])
        for one in self.found.cables:
            if one.place == "right" or self.found.hidden(one) or one.cable.number in swapped:
                continue
            yield self._astray(one)

    def _swapped(self, group: list[SeenCable]) -> Difference:
        return Difference(
            kind="swapped",
            cables=tuple(s.cable.number for s in group),
            parts=tuple(self.names[jack] for s in group for jack in (s.lower, s.upper)),
            text="; ".join(self._move(s.lower, s.lower_sees, s.upper) for s in group),
        )

    def _move(self, here: Jack, now: Jack | None, wanted: Jack) -> str:
        there = "nowhere" if now is None else f"to {self.place(now)}"
        return f"{self.place(here)} goes {there} instead of {self.place(wanted)}"

    def _astray(self, one: SeenCable) -> Difference:
        """Return how a cable is missing: wholly, with an end in another port, or disputed."""
        sides = ((one.lower, one.lower_sees, one.upper), (one.upper, one.upper_sees, one.lower))
        moves = [self._move(*side) for side in sides if side[1] not in (None, side[2])]
        text = "; ".join(moves) or f"no cable from {self.ends(one)}"
        if one.place == "disputed" and not moves:
            text = f"the ends contradict each other: {self.ends(one)}"
        kind: Kind = "misplaced" if one.place == "elsewhere" else "missing"
        return Difference(
            kind="disputed" if one.place == "disputed" else kind,
            cables=(one.cable.number,),
            parts=(self.names[one.lower], self.names[one.upper]),
            text=text,
        )

    def extra(self) -> Iterable[Difference]:
        for pair in self.found.extra:
            yield Difference(
                kind="extra",
                cables=(),
                parts=tuple(map(str, pair)),
                text=f"not in the design: a cable {' to '.join(map(self.place, pair))}",
            )

    def speed(self, seen: SeenCable, wanted_bps: float) -> Difference:
        assert seen.rate_bps is not None
        return Difference(
            kind="wrong-speed",
            cables=(seen.cable.number,),
            parts=(self.names[seen.lower], self.names[seen.upper]),
            text=f"{self.ends(seen)} runs at {format_quantity(seen.rate_bps, RATE)} instead of "
            f"{format_quantity(wanted_bps, RATE)}",
        )
