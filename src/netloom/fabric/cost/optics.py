"""What can join two ports: cables and transceivers that fit, reach and carry the rate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError
from netloom.units import LENGTH, RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.fabric.design import Design, Stage, Tier
    from netloom.parts.parts import CableType, Node, Transceiver

__all__ = ["CageSet", "Offer", "Shop", "devices", "ports_at"]

_COPPER: Final = ("dac", "acc")
_LIT: Final = ("multimode", "singlemode")


@dataclass(frozen=True, slots=True, kw_only=True)
class CageSet:
    """The cages of one node, or of the fullest switch of a tier.

    Attributes:
        cage_port_bps: Rate of the ports that cages are counted in.
        ports_per_cage: Such ports in a cage.
        num_cages: Cages.
        used_bps: Of all ports in use together.
    """

    cage_port_bps: float
    ports_per_cage: int
    num_cages: int
    used_bps: float

    def takes(self, module: Transceiver, rate_bps: float) -> bool:
        """Whether *module* goes into a cage and, with it in all cages, there are enough."""
        lit_bps = ports_at(module, rate_bps) * rate_bps
        return (
            0 < lit_bps <= self.ports_per_cage * self.cage_port_bps
            and self.used_bps <= self.num_cages * lit_bps
        )

    def shares(self, rate_bps: float) -> bool:
        """Whether several ports at *rate_bps* share a cage."""
        return self.ports_per_cage * self.cage_port_bps > rate_bps


def ports_at(module: Transceiver, rate_bps: float) -> int:
    """Return how many ports at *rate_bps* a module lights, split into slower ones if need be."""
    split = module.rate_bps / rate_bps
    return module.num_ports * int(split) if split == int(split) else 0


def devices(design: Design, node: Node) -> dict[str, CageSet]:
    """Return the cages of a node and of a switch of each tier, by level."""
    ports = design.num_ports / design.num_nodes
    found = {
        "node": CageSet(
            cage_port_bps=design.port_rate_bps * ports / node.num_nics,
            ports_per_cage=node.ports_per_cage,
            num_cages=-(-node.num_nics // node.ports_per_cage),
            used_bps=ports * design.port_rate_bps,
        )
    }
    for tier in design.tiers:
        fastest = design.switch.modes[0]
        found[tier.name] = CageSet(
            cage_port_bps=fastest.rate_bps,
            ports_per_cage=design.switch.ports_per_cage,
            num_cages=-(-fastest.count // design.switch.ports_per_cage),
            used_bps=_used_bps(design, tier),
        )
    return found


def _used_bps(design: Design, tier: Tier) -> float:
    down = max((s.rate_bps for s in design.stages if s.upper == tier.name), default=0.0)
    up = max((s.rate_bps for s in design.stages if s.lower == tier.name), default=0.0)
    return tier.num_down * down + tier.num_up * up


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A cable with what lights it, and what one such connection costs."""

    cable: CableType
    lower: Transceiver | None
    upper: Transceiver | None
    price_usd: float
    power_w: float

    @property
    def rank(self) -> tuple[bool, float, float, str]:
        """Order of preference: ends of one reach, then price, then power, then name."""
        unlike = bool(self.lower and self.upper and self.lower.reach_m != self.upper.reach_m)
        return unlike, self.price_usd, self.power_w, self.cable.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """What can be had for the cables of one stage.

    Attributes:
        stage: The cables meant.
        shared_cages: Whether several ports share a cage at either end. An active optical cable
            fills its cage, so it is out of the question there (NVIDIA sells none for NDR);
            copper is sold as splitters.
        cables: All there are.
        at_lower: Transceivers that go into the cages at the lower end.
        at_upper: Those at the upper end.
    """

    stage: Stage
    shared_cages: bool
    cables: tuple[CableType, ...]
    at_lower: tuple[Transceiver, ...]
    at_upper: tuple[Transceiver, ...]

    @property
    def reaches_m(self) -> set[float]:
        """Lengths at which one of them ends."""
        modules = (*self.at_lower, *self.at_upper)
        return {cable.reach_m for cable in self.cables} | {module.reach_m for module in modules}

    def best(self, length_m: float, *, in_rack: bool) -> Offer:
        """Return the cheapest connection of *length_m*."""
        offers = [
            offer
            for cable in self.cables
            if cable.reach_m >= length_m and self.stage.rate_bps in cable.rates
            if in_rack or cable.medium not in _COPPER
            if cable.medium != "aoc" or not self.shared_cages
            for offer in self._lit(cable, length_m)
        ]
        if not offers:
            raise InfeasibleError(self._nothing(length_m))
        return min(offers, key=lambda offer: offer.rank)

    def _lit(self, cable: CableType, length_m: float) -> Iterator[Offer]:
        price_usd = cable.price_usd + cable.price_usd_per_m * length_m
        if cable.medium not in _LIT:
            yield Offer(
                cable=cable, lower=None, upper=None, price_usd=price_usd, power_w=cable.power_w
            )
            return
        for lower, upper in product(self.at_lower, self.at_upper):
            if lower.medium == upper.medium == cable.medium and length_m <= min(
                lower.reach_m, upper.reach_m
            ):
                shares = [(m, ports_at(m, self.stage.rate_bps)) for m in (lower, upper)]
                yield Offer(
                    cable=cable,
                    lower=lower,
                    upper=upper,
                    price_usd=price_usd + sum(m.price_usd / ports for m, ports in shares),
                    power_w=cable.power_w + sum(m.power_w / ports for m, ports in shares),
                )

    def _nothing(self, length_m: float) -> str:
        rate = format_quantity(self.stage.rate_bps, RATE)
        length = format_quantity(length_m, LENGTH)
        other = "" if self.stage.lower == "node" else ", or use another uplink_rate"
        instead = ", or make the hall smaller" if self._carries_at_all() else other
        return (
            f"cables from {self.stage.lower} to {self.stage.upper}: nothing in the catalogue "
            f"carries {rate} over {length} between these cages; add a cable, and for fibre a "
            f"transceiver for each end, to a catalogue file of your own{instead}"
        )

    def _carries_at_all(self) -> bool:
        """Whether anything joins two racks, however near."""
        return any(
            True
            for cable in self.cables
            if self.stage.rate_bps in cable.rates and cable.medium not in _COPPER
            if cable.medium != "aoc" or not self.shared_cages
            for _ in self._lit(cable, 0.0)
        )
