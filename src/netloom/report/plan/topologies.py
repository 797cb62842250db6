"""A search of topologies, as text and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.report.charts import HUES, MONEY, SECONDS, ChartAxis, Figure, Plot, Series, mark_of
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Fold, Gallery, HtmlTable, Item, Page, doubts_fold
from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.plan.topologies.search import TopologyDesign, TopologySearch

__all__ = ["topologies_page", "topologies_text"]

_HEADINGS = (
    "topology",
    "switches",
    "net MUSD",
    "step",
    "cable",
    "leaf",
    "stops/mo",
    "MUSD/Ttok",
    "fat tree of equal cost",
)


def topologies_text(found: TopologySearch) -> RenderableType:
    """Return what ``netloom plan --topologies search`` prints."""
    rows = _rows(found)
    last = len(_HEADINGS) - 1
    return Group(
        Text(found.title, style="bold"),
        Text(_HOW, style="dim"),
        "",
        _table(_HEADINGS[:last], [row[:last] for row in rows]),
        "",
        _table((_HEADINGS[0], _HEADINGS[last]), [[row[0], row[last]] for row in rows]),
        "",
        *(Text(line, style="green") for line in _answer(found)),
        *(Text(f"Left out: {name}: {why}", style="dim") for name, why in found.left_out.items()),
        *(Text(f"- {doubt}", style="dim") for doubt in found.validity.doubts),
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for heading in headings:
        words = heading in (_HEADINGS[0], _HEADINGS[-1])
        table.add_column(heading, justify="left" if words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


_HOW = (
    "Steps by the flow engine on the network as built, the job divided as the scenario says. "
    "cable, leaf: speed lost while one between switches, or a leaf, is down; stops/mo: failures a "
    "month that stop the job. Cables and switches fail as Alibaba saw (0.057 and 0.051 % a month). "
    "Cheapest a token first."
)


def _answer(found: TopologySearch) -> list[str]:
    best, tree = found.best, found.fat_trees[0]
    said = (
        f"{best.name}: {_musd(best.network_usd)} MUSD of network, a step of "
        f"{format_quantity(best.step_s, TIME)}."
    )
    if tree is None:
        return [said, "No fat tree costs as little, however tapered."]
    if tree is best:
        return [said]
    slower = tree.step_s / best.step_s - 1
    how = f"{abs(slower):.1%} {'slower' if slower > 0 else 'faster'}"
    if abs(slower) < 0.0005:
        how = "as fast"
    return [
        said,
        f"A fat tree of equal cost is {tree.name}, {_musd(tree.network_usd)} MUSD: {how}.",
    ]


def _musd(amount_usd: float) -> str:
    millions = amount_usd / 1e6
    return f"{millions:.1f}" if millions >= 10 else f"{millions:.2f}"


def _rows(found: TopologySearch) -> list[list[str]]:
    return [_row(one, tree) for one, tree in zip(found.designs, found.fat_trees, strict=True)]


def _row(one: TopologyDesign, tree: TopologyDesign | None) -> list[str]:
    usd = one.usd_per_trillion_tokens
    switches = sum(tier.num_switches for tier in one.machine.network.design.tiers)
    return [
        one.name,
        f"{switches:,}",
        _musd(one.network_usd),
        format_quantity(one.step_s, TIME),
        _loss(one, "fabric cable"),
        _loss(one, "leaf"),
        f"{one.stops_per_month:.1f}",
        "-" if usd is None else f"{usd / 1e6:.3f}",
        _equal(one, tree),
    ]


def _equal(one: TopologyDesign, tree: TopologyDesign | None) -> str:
    if tree is None:
        return "none costs as little"
    if tree is one:
        return "itself"
    return f"{tree.name}: {tree.step_s / one.step_s - 1:+.1%} step"


def _loss(one: TopologyDesign, kind: str) -> str:
    found = one.loss(kind)
    if found is None:
        return "-"
    return "stops" if found.stops else f"{found.lost_share:.2%}"


def topologies_page(found: TopologySearch) -> str:
    """Return the page as one string of HTML."""
    first, *others = _answer(found)
    left = tuple(Item(name=f"{name}:", text=why) for name, why in found.left_out.items())
    return render(
        Page(
            title=found.title,
            subtitle=_HOW,
            answer=AnswerBox(
                headline=first, lines=tuple(others), folds=doubts_fold(found.validity.doubts)
            ),
            sections=(
                HtmlTable(
                    title="Topologies",
                    caption="Ttok: a trillion tokens; nodes, network, power and failures.",
                    headings=_HEADINGS,
                    rows=_rows(found),
                    marked=frozenset({0}),
                    folds=(Fold(summary=f"{len(left)} left out", items=left),) if left else (),
                ),
                Gallery(figures=(_figure(found),)),
            ),
        )
    )


def _figure(found: TopologySearch) -> Figure:
    families: dict[str, list[TopologyDesign]] = {}
    for one in found.designs:
        families.setdefault(one.proposal.family, []).append(one)
    trees = {tree.name: tree for tree in found.fat_trees if tree is not None}
    lines = [*families.items(), ("fat tree of equal cost", [*trees.values()])]
    series = tuple(
        Series(
            name=name,
            x=tuple(one.network_usd for one in members),
            y=tuple(one.expected_step_s for one in members),
            hue=index % HUES,
            join="none",
            mark=mark_of(index),
            notes=tuple(one.name for one in members),
        )
        for index, (name, members) in enumerate(lines)
        if members
    )
    return Figure(
        key="cost",
        title="Step against the cost of the network",
        caption="Failures of the network included. Lower left is better; a mark names its design.",
        chart=Plot(
            x=ChartAxis(title="network", unit=MONEY, from_zero=True),
            y=ChartAxis(title="step with failures", unit=SECONDS),
            series=series,
        ),
    )
