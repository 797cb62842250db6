"""A sized network as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import LENGTH, MONEY, POWER, RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from netloom.fabric.cost.bill import BillLine
    from netloom.provenance import Source
    from netloom.study.size.sizing import Alternative, Sizing

__all__ = ["size_report"]


def size_report(sizing: Sizing) -> Group:
    """Return everything about *sizing* that a person wants to see, to print."""
    return Group(*_sections(sizing))


def _sections(sizing: Sizing) -> Iterator[RenderableType]:
    yield _headline(sizing)
    yield _tiers(sizing)
    yield _cables(sizing)
    yield _bill(sizing)
    yield _totals(sizing)
    if sizing.alternatives:
        yield _alternatives(sizing)
    for note in sizing.notes:
        yield Text(f"note: {note}", style="dim")


def _headline(sizing: Sizing) -> Text:
    design = sizing.design
    planes = f", {design.num_planes} planes" if design.num_planes > 1 else ""
    tiers = "1 tier" if len(design.tiers) == 1 else f"{len(design.tiers)} tiers"
    return Text(
        f"{design.num_gpus:,} GPUs in {design.num_nodes:,} x {sizing.node.name}: "
        f"{design.topology.kind} of {design.switch.name}, {tiers}{planes}, "
        f"{sizing.technology.name}",
        style="bold",
    )


def _table(title: str, *columns: str) -> Table:
    """Return a table whose first column is text and whose others are numbers."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _tiers(sizing: Sizing) -> Table:
    table = _table("Switches", "tier", "switches", "ports down", "ports up")
    for tier in sizing.design.tiers:
        cells = (tier.num_switches, tier.num_down, tier.num_up)
        table.add_row(tier.name, *(f"{cell:,}" for cell in cells))
    table.add_section()
    table.add_row("all", f"{sizing.design.num_switches:,}", "", "")
    return table


def _cables(sizing: Sizing) -> Table:
    table = _table("Cables", "stage", "rate", "cables", "mean", "longest", "bought as")
    for route in sizing.estimate.layout.routes:
        stage = route.stage
        counts: dict[str, int] = {}
        for run in sizing.estimate.cabling.runs:
            if run.stage == stage:
                counts[run.cable.name] = counts.get(run.cable.name, 0) + run.num_cables
        table.add_row(
            f"{stage.lower}-{stage.upper}",
            format_quantity(stage.rate_bps, RATE),
            f"{stage.num_cables:,}",
            format_quantity(route.mean_m, LENGTH),
            format_quantity(route.longest_m, LENGTH),
            ", ".join(f"{count:,} {name}" for name, count in counts.items()),
        )
    table.add_section()
    table.add_row("all", "", f"{sizing.design.num_cables:,}", "", "", "")
    return table


def _bill(sizing: Sizing) -> Group:
    sources = tuple(dict.fromkeys(line.price_source for line in sizing.bill.lines))
    numbers = {source: str(index) for index, source in enumerate(filter(None, sources), start=1)}
    table = _table("Bill of materials", "item", "part", "count", "each", "total", "power", "source")
    table.columns[1].justify = "left"
    for cells, source in _folded(sizing.bill.lines):
        table.add_row(*cells, "" if source is None else numbers[source])
    cited = (
        Text(f"{number}  {source.citation} ({source.confidence})", style="dim")
        for source, number in numbers.items()
    )
    return Group(table, *cited)


def _folded(lines: tuple[BillLine, ...]) -> Iterator[tuple[tuple[str, ...], Source | None]]:
    """Yield the cells and the source of each line; cables of all lengths are one line."""
    merged: dict[tuple[str, str], list[BillLine]] = {}
    for line in lines:
        merged.setdefault((line.item.partition(", ")[0], line.part), []).append(line)
    for (item, part), alike in merged.items():
        prices = sorted(line.unit_price_usd for line in alike if line.unit_price_usd is not None)
        total_usd = sum(line.total_usd or 0.0 for line in alike)
        power_w = sum(line.power_w or 0.0 for line in alike)
        cells = (
            item if alike[0].kind != "nic" else "NIC (in the node's price)",
            part,
            f"{sum(line.count for line in alike):,}",
            _span(prices),
            format_quantity(total_usd, MONEY) if prices else "",
            format_quantity(power_w, POWER) if power_w else "",
        )
        yield cells, alike[0].price_source if prices else None


def _span(prices: list[float]) -> str:
    if not prices:
        return ""
    low, high = f"{prices[0]:,.0f}", f"{prices[-1]:,.0f}"
    return f"{low} USD" if low == high else f"{low}-{high} USD"


def _totals(sizing: Sizing) -> Text:
    bill = sizing.bill
    low_usd, high_usd = bill.capex_range_usd
    spread = ""
    if low_usd < high_usd:
        low, high = (format_quantity(usd, MONEY, digits=4) for usd in (low_usd, high_usd))
        spread = f" ({low} to {high} by source)"
    layout = sizing.estimate.layout
    return Text(
        f"network capex {format_quantity(bill.capex_usd, MONEY, digits=4)}{spread}, "
        f"{sizing.capex_usd_per_gpu:,.0f} USD a GPU; "
        f"power {format_quantity(bill.power_w, POWER)} "
        f"(switches {format_quantity(bill.power.switches_w, POWER)}, "
        f"optics {format_quantity(bill.power.optics_w, POWER)}); "
        f"{layout.num_node_racks:,} + {layout.num_network_racks:,} racks "
        f"on {layout.hall.width_m:.0f} x {layout.hall.depth_m:.0f} m",
        style="bold",
    )


def _alternatives(sizing: Sizing) -> Table:
    columns = ["topology", "switch", "tiers", "switches", "cables", "capex", "power"]
    doubted = any(other.doubt for other in sizing.alternatives)
    table = _table("Alternatives", *columns, *(["doubt"] if doubted else []))
    table.columns[1].justify = "left"
    for other in sizing.alternatives:
        doubt = [other.doubt] if doubted else []
        table.add_row(other.topology, other.switch, *_cells(other), *doubt)
    if doubted:
        table.columns[-1].justify = "left"
    return table


def _cells(other: Alternative) -> tuple[str, str, str, str, str]:
    design = other.design
    return (
        "" if design is None else str(len(design.tiers)),
        "" if design is None else f"{design.num_switches:,}",
        "" if design is None else f"{design.num_cables:,}",
        "" if other.capex_usd is None else format_quantity(other.capex_usd, MONEY),
        "" if other.power_w is None else format_quantity(other.power_w, POWER),
    )
