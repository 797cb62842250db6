"""A sized network as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import LENGTH, MONEY, POWER, RATE, format_count, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from netloom.fabric.cost.bill import BillLine
    from netloom.provenance import Source
    from netloom.study.size.sizing import Alternative, Sizing

__all__ = [
    "BILL",
    "CABLES",
    "TIERS",
    "alternative_rows",
    "bill_rows",
    "cable_rows",
    "headline",
    "size_report",
    "tier_rows",
    "totals",
]

TIERS: Final = ("tier", "switches", "ports down", "ports up")
CABLES: Final = ("stage", "rate", "cables", "mean", "longest", "bought as")
BILL: Final = ("item", "part", "count", "each", "total", "power", "source")


def size_report(sizing: Sizing) -> Group:
    """Return everything about *sizing* that a person wants to see, to print."""
    return Group(*_sections(sizing))


def _sections(sizing: Sizing) -> Iterator[RenderableType]:
    yield Text(headline(sizing), style="bold")
    yield _tiers(sizing)
    yield _cables(sizing)
    yield _bill(sizing)
    yield Text(totals(sizing), style="bold")
    if sizing.alternatives:
        yield _alternatives(sizing)
    for note in sizing.notes:
        yield Text(f"note: {note}", style="dim")


def headline(sizing: Sizing) -> str:
    """Return what is built, in one line."""
    design = sizing.design
    planes = f", {design.num_planes} planes" if design.num_planes > 1 else ""
    tiers = "1 tier" if len(design.tiers) == 1 else f"{len(design.tiers)} tiers"
    return (
        f"{format_count(design.num_gpus, 'GPU')} in {design.num_nodes:,} x {sizing.node.name}: "
        f"{design.topology.kind} of {design.switch.name}, {tiers}{planes}, "
        f"{sizing.technology.name}"
    )


def _table(title: str, *columns: str) -> Table:
    """Return a table whose first column is text and whose others are numbers."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _tiers(sizing: Sizing) -> Table:
    table = _table("Switches", *TIERS)
    *tiers, total = tier_rows(sizing)
    for row in tiers:
        table.add_row(*row)
    table.add_section()
    table.add_row(*total)
    return table


def tier_rows(sizing: Sizing) -> list[tuple[str, ...]]:
    """Return a row a tier, and their sum."""
    rows = [
        (tier.name, *(f"{cell:,}" for cell in (tier.num_switches, tier.num_down, tier.num_up)))
        for tier in sizing.design.tiers
    ]
    return [*rows, ("all", f"{sizing.design.num_switches:,}", "", "")]


def _cables(sizing: Sizing) -> Table:
    table = _table("Cables", *CABLES)
    *stages, total = cable_rows(sizing)
    for row in stages:
        table.add_row(*row)
    table.add_section()
    table.add_row(*total)
    return table


def cable_rows(sizing: Sizing) -> list[tuple[str, ...]]:
    """Return a row a stage of cables, and their sum."""
    rows = []
    for route in sizing.estimate.layout.routes:
        stage = route.stage
        counts: dict[str, int] = {}
        for run in sizing.estimate.cabling.runs:
            if run.stage == stage:
                counts[run.cable.name] = counts.get(run.cable.name, 0) + run.num_cables
        rows.append(
            (
                f"{stage.lower}-{stage.upper}",
                format_quantity(stage.rate_bps, RATE),
                f"{stage.num_cables:,}",
                format_quantity(route.mean_m, LENGTH),
                format_quantity(route.longest_m, LENGTH),
                ", ".join(f"{count:,} {name}" for name, count in counts.items()),
            )
        )
    return [*rows, ("all", "", f"{sizing.design.num_cables:,}", "", "", "")]


def _bill(sizing: Sizing) -> Group:
    rows, sources = bill_rows(sizing)
    table = _table("Bill of materials", *BILL)
    table.columns[1].justify = "left"
    for row in rows:
        table.add_row(*row)
    cited = (
        Text(f"{number}  {source.citation} ({source.confidence})", style="dim")
        for number, source in enumerate(sources, start=1)
    )
    return Group(table, *cited)


def bill_rows(sizing: Sizing) -> tuple[list[tuple[str, ...]], list[Source]]:
    """Return a row an item, the last cell the number of its source, and the sources."""
    sources = dict.fromkeys(line.price_source for line in sizing.bill.lines)
    numbers = {source: str(index) for index, source in enumerate(filter(None, sources), start=1)}
    rows = [
        (*cells, "" if source is None else numbers[source])
        for cells, source in _folded(sizing.bill.lines)
    ]
    return rows, list(numbers)


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


def totals(sizing: Sizing) -> str:
    """Return what it costs, draws and fills, in one line."""
    bill = sizing.bill
    low_usd, high_usd = bill.capex_range_usd
    spread = ""
    if low_usd < high_usd:
        low, high = (format_quantity(usd, MONEY, digits=4) for usd in (low_usd, high_usd))
        spread = f" ({low} to {high} by source)"
    layout = sizing.estimate.layout
    return (
        f"network capex {format_quantity(bill.capex_usd, MONEY, digits=4)}{spread}, "
        f"{sizing.capex_usd_per_gpu:,.0f} USD a GPU; "
        f"power {format_quantity(bill.power_w, POWER)} "
        f"(switches {format_quantity(bill.power.switches_w, POWER)}, "
        f"optics {format_quantity(bill.power.optics_w, POWER)}); "
        f"{layout.num_node_racks:,} + {layout.num_network_racks:,} racks "
        f"on {layout.hall.width_m:.0f} x {layout.hall.depth_m:.0f} m"
    )


def _alternatives(sizing: Sizing) -> Table:
    headings, rows = alternative_rows(sizing)
    table = _table("Alternatives", *headings)
    table.columns[1].justify = "left"
    for row in rows:
        table.add_row(*row)
    if headings[-1] == "doubt":
        table.columns[-1].justify = "left"
    return table


def alternative_rows(sizing: Sizing) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and a row for all else that could be built."""
    doubted = any(other.doubt for other in sizing.alternatives)
    columns = ("topology", "switch", "tiers", "switches", "cables", "capex", "power")
    rows = [
        (other.topology, other.switch, *_cells(other), *((other.doubt,) if doubted else ()))
        for other in sizing.alternatives
    ]
    return (*columns, *(("doubt",) if doubted else ())), rows


def _cells(other: Alternative) -> tuple[str, str, str, str, str]:
    design = other.design
    return (
        "" if design is None else str(len(design.tiers)),
        "" if design is None else f"{design.num_switches:,}",
        "" if design is None else f"{design.num_cables:,}",
        "" if other.capex_usd is None else format_quantity(other.capex_usd, MONEY),
        "" if other.power_w is None else format_quantity(other.power_w, POWER),
    )
