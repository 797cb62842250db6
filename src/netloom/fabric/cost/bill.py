"""The bill of materials: what to buy, at which price, and who says so.

The capital cost of the network is its switches, transceivers and cables. NICs are listed, but
stand apart: the price of a node includes them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from netloom.errors import CatalogError
from netloom.fabric.cost.power import Power
from netloom.provenance import Why
from netloom.units import LENGTH, RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.fabric.cost.cabling import Cabling
    from netloom.fabric.design import Design
    from netloom.parts.parts import CableType, Nic, Switch, Transceiver
    from netloom.provenance import Source

__all__ = ["Bill", "BillLine", "draw_up"]

Kind = Literal["switch", "transceiver", "cable", "nic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """One line of the bill.

    Attributes:
        kind: What sort of thing; ``nic`` lines are not part of the network's cost.
        item: What it is for, in words.
        part: Its name in the catalogue.
        count: How many.
        unit_price_usd: Of one; None only for NICs, whose price is inside their node's.
        unit_low_usd: The lowest price known for one, where sources differ.
        unit_high_usd: The highest.
        unit_power_w: Of one; None only for NICs.
        price_source: Who says what it costs.
        power_source: Who says what it draws.
        price_note: Conflicting claims on the price and why this one was chosen.
    """

    kind: Kind
    item: str
    part: str
    count: int
    unit_price_usd: float | None
    unit_low_usd: float | None
    unit_high_usd: float | None
    unit_power_w: float | None
    price_source: Source | None
    power_source: Source | None
    price_note: str = ""

    @property
    def total_usd(self) -> float | None:
        """Of all of them."""
        return None if self.unit_price_usd is None else self.count * self.unit_price_usd

    @property
    def power_w(self) -> float | None:
        """Of all of them."""
        return None if self.unit_power_w is None else self.count * self.unit_power_w

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        source = self.price_source
        return {
            "kind": self.kind,
            "item": self.item,
            "part": self.part,
            "count": self.count,
            "unit_price_usd": self.unit_price_usd,
            "unit_low_usd": self.unit_low_usd,
            "unit_high_usd": self.unit_high_usd,
            "total_usd": self.total_usd,
            "power_w": self.power_w,
            "in_capex": self.kind != "nic",
            "source": None if source is None else source.citation,
            "confidence": None if source is None else source.confidence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """All lines, in the order of the network from the top of the bill to the NICs."""

    lines: tuple[BillLine, ...]

    def of(self, *kinds: Kind) -> tuple[BillLine, ...]:
        """Return the lines of some kinds."""
        return tuple(line for line in self.lines if line.kind in kinds)

    @property
    def network(self) -> tuple[BillLine, ...]:
        """The lines that the network's cost is the sum of."""
        return self.of("switch", "transceiver", "cable")

    @property
    def capex_usd(self) -> float:
        """Switches, transceivers and cables."""
        return sum(line.count * (line.unit_price_usd or 0.0) for line in self.network)

    @property
    def capex_range_usd(self) -> tuple[float, float]:
        """The same, at the lowest and at the highest price known for each part."""
        low = sum(line.count * (line.unit_low_usd or 0.0) for line in self.network)
        high = sum(line.count * (line.unit_high_usd or 0.0) for line in self.network)
        return low, high

    @property
    def power(self) -> Power:
        """What they draw."""
        nics = [line.power_w for line in self.of("nic")]
        known = [watts for watts in nics if watts is not None]
        return Power(
            switches_w=sum(line.power_w or 0.0 for line in self.of("switch")),
            optics_w=sum(line.power_w or 0.0 for line in self.of("transceiver", "cable")),
            nics_w=sum(known) if len(known) == len(nics) else None,
        )

    @property
    def power_w(self) -> float:
        """Switches and optics."""
        return self.power.network_w

    @property
    def num_transceivers(self) -> int:
        """Transceivers at both ends."""
        return sum(line.count for line in self.of("transceiver"))

    def why(self, field: Literal["capex_usd", "power_w"]) -> Why:
        """Return how the cost or the power of the network comes about, line by line."""
        if field == "capex_usd":
            return Why(
                name="network capex",
                value=self.capex_usd,
                unit="USD",
                how="switches + transceivers + cables; NICs are in the price of their nodes",
                parts=tuple(_price_why(line) for line in self.network),
            )
        return Why(
            name="network power",
            value=self.power_w,
            unit="W",
            how="switches + transceivers and active cables; NICs are in the power of their nodes",
            parts=tuple(_power_why(line) for line in self.network if line.unit_power_w),
        )


def _price_why(line: BillLine) -> Why:
    unit = Why(
        name=f"{line.part} price",
        value=line.unit_price_usd or 0.0,
        unit="USD",
        how=line.price_note,
        source=line.price_source,
    )
    return _times(line, line.total_usd, unit)


def _power_why(line: BillLine) -> Why:
    unit = Why(
        name=f"{line.part} power",
        value=line.unit_power_w or 0.0,
        unit="W",
        source=line.power_source,
    )
    return _times(line, line.power_w, unit)


def _times(line: BillLine, total: float | None, unit: Why) -> Why:
    number = Why(name=f"number of {line.item}", value=line.count)
    how = f"{line.count} x {line.part}"
    return Why(name=line.item, value=total or 0.0, unit=unit.unit, how=how, parts=(number, unit))


def draw_up(design: Design, cabling: Cabling, *, nic: Nic, num_nics: int) -> Bill:
    """Return the bill of *design* with its *cabling* and *num_nics* cards.

    Raises:
        CatalogError: a part has no price or no power; names the part and how to add it.
    """
    lines = (
        *_switch_lines(design),
        *_transceiver_lines(cabling),
        *_cable_lines(cabling),
        _nic_line(nic, num_nics),
    )
    return Bill(lines=lines)


def _switch_lines(design: Design) -> Iterator[BillLine]:
    price_usd = _known(design.switch, "price_usd", example="36000USD")
    power_w = _known(design.switch, "power_w", example="750W")
    for tier in design.tiers:
        yield _line(
            "switch",
            f"{tier.name} switch",
            design.switch,
            count=tier.num_switches,
            price_usd=price_usd,
            power_w=power_w,
        )


def _known(switch: Switch, attribute: Literal["price_usd", "power_w"], *, example: str) -> float:
    value = switch.price_usd if attribute == "price_usd" else switch.power_w
    if value is None:
        key = attribute.rpartition("_")[0]
        raise CatalogError(
            what=f"switch {switch.name}: its {key} is not known, so the network has none either",
            remedy=(
                f'add "[switches.{switch.name}]" with {key} = "{example}" to a catalogue '
                "file of your own"
            ),
        )
    return value


def _transceiver_lines(cabling: Cabling) -> Iterator[BillLine]:
    for modules in cabling.modules:
        module = modules.transceiver
        yield _line(
            "transceiver",
            f"{modules.level} transceiver",
            module,
            count=modules.num_modules,
            price_usd=module.price_usd,
            power_w=module.power_w,
        )


def _cable_lines(cabling: Cabling) -> Iterator[BillLine]:
    counts: dict[tuple[str, str, str, float], int] = defaultdict(int)
    cables: dict[str, CableType] = {}
    for run in cabling.runs:
        cables[run.cable.name] = run.cable
        counts[run.stage.lower, run.stage.upper, run.cable.name, run.length_m] += run.num_cables
    for (lower, upper, name, length_m), count in counts.items():
        cable = cables[name]
        yield _line(
            "cable",
            f"{lower}-{upper} cable, {format_quantity(length_m, LENGTH)}",
            cable,
            count=count,
            price_usd=cable.price_usd + cable.price_usd_per_m * length_m,
            power_w=cable.power_w,
        )


def _line(
    kind: Kind,
    item: str,
    part: Switch | Transceiver | CableType,
    *,
    count: int,
    price_usd: float,
    power_w: float,
) -> BillLine:
    span = None if kind == "cable" else getattr(part, "price_range_usd", None)
    low_usd, high_usd = span or (price_usd, price_usd)
    return BillLine(
        kind=kind,
        item=item,
        part=part.name,
        count=count,
        unit_price_usd=price_usd,
        unit_low_usd=min(low_usd, price_usd),
        unit_high_usd=max(high_usd, price_usd),
        unit_power_w=power_w,
        price_source=part.source("price_usd"),
        power_source=part.source("power_w"),
        price_note=part.notes.get("price", ""),
    )


def _nic_line(nic: Nic, num_nics: int) -> BillLine:
    return BillLine(
        kind="nic",
        item=f"NIC, {format_quantity(nic.rate_bps, RATE)} (in the price of its node)",
        part=nic.name,
        count=num_nics,
        unit_price_usd=nic.price_usd,
        unit_low_usd=nic.price_usd,
        unit_high_usd=nic.price_usd,
        unit_power_w=nic.power_w,
        price_source=nic.source("price_usd"),
        power_source=nic.source("power_w"),
        price_note=nic.notes.get("price", ""),
    )
