"""The figures of a what-if."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_names
from netloom.report.charts import PERCENT, BarPart, Bars, Block, Cell, ChartAxis, Heat
from netloom.report.compare.figures import time_by_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.flow.contention import LinkLoad
    from netloom.fabric.graph import Fabric
    from netloom.study.whatif.failure import DrawnStep
    from netloom.study.whatif.rank import Ranking

__all__ = ["blast", "link_map", "where_it_goes"]

MAX_LINKS: Final = 2000
MAX_BARS: Final = 40


def link_map(fabric: Fabric, runs: Sequence[tuple[str, DrawnStep]]) -> Heat:
    """Return every link between switches as a square, a block for each pair of tiers and run.

    The colour is what the link carries over what it can, in the collective that fills it most;
    links that carry nothing in any are open. Of very many links evenly spaced ones are drawn.
    """
    names = vertex_names(fabric)
    kinds = _links_by_tier(fabric, names)
    most = MAX_LINKS // max(1, len(kinds) * len(runs))
    blocks = []
    for kind, links in kinds.items():
        drawn = links[np.unique(np.linspace(0, len(links) - 1, most).astype(np.int64))]
        for label, run in runs:
            share = peak_use(run.presses, fabric.num_links)
            cells = tuple(
                Cell(round(100 * float(share[link]), 2), _ends(fabric, names, link))
                for link in drawn.tolist()
            )
            title = f"{kind}, {label}" if label else kind
            blocks.append(Block(label=title, cells=cells, total=len(links)))
    return Heat(blocks=tuple(blocks), what="links between switches")


def _ends(fabric: Fabric, names: Sequence[str], link: int) -> str:
    return f"{names[fabric.link_source[link]]} to {names[fabric.link_target[link]]}"


def _links_by_tier(fabric: Fabric, names: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the links between each pair of tiers of switches."""
    switch = fabric.vertex_kind == VertexKind.SWITCH
    between = np.flatnonzero(switch[fabric.link_source] & switch[fabric.link_target])
    kind = [name.partition(":")[0] for name in names]
    ends = zip(fabric.link_source[between], fabric.link_target[between], strict=True)
    found: dict[str, list[int]] = {}
    for link, (one, other) in zip(between.tolist(), ends, strict=True):
        found.setdefault(f"{kind[one]} to {kind[other]}", []).append(link)
    return {name: np.array(links) for name, links in found.items()}


def peak_use(presses: Sequence[LinkLoad], num_links: int) -> NDArray[np.float64]:
    """Return of each link the largest share that any collective makes it carry."""
    used = np.zeros(num_links)
    for press in presses:
        used = np.maximum(used, press.share / press.slowdown)
    return used


def where_it_goes(runs: Sequence[tuple[str, DrawnStep]]) -> Bars:
    """Return the seconds of a step by what they are spent on, a bar a run."""
    spent = {label: run.step.breakdown_s() | {"slow GPU": run.straggler_s} for label, run in runs}
    return time_by_part(spent, rows="run", axis="time of a step")


def blast(found: Ranking) -> Bars:
    """Return the speed lost to each part, the worst first."""
    rows = found.rows[:MAX_BARS]
    stops = tuple(row.effect.step_s is None for row in rows)
    return Bars(
        axis=ChartAxis(title="speed lost", unit=PERCENT, from_zero=True),
        rows="part",
        labels=tuple(_alike(row.parts) for row in rows),
        parts=(
            BarPart(
                name="",
                values=tuple(100 * row.lost_share for row in rows),
                texts=tuple(
                    "stops" if stop else f"{100 * row.lost_share:.2f} %"
                    for row, stop in zip(rows, stops, strict=True)
                ),
                warned=stops,
            ),
        ),
    )


def _alike(parts: Sequence[str]) -> str:
    more = len(parts) - 1
    return f"{parts[0]} and {more:,} alike" if more else parts[0]
