"""Every single failure of a kind, the worst first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines.flow.hops import gpu_hops, placed_nodes
from netloom.fabric.alike import cable_colours, node_colours, vertex_colours
from netloom.fabric.cut_off import without_port
from netloom.fabric.names import find_vertex, vertex_name
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.whatif.changes import Change, applied, parts_called
from netloom.study.whatif.failure import UNMEASURED, nodes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.provenance import Validity
    from netloom.study.whatif.failure import BaselineJob, DrawnStep

__all__ = ["FailureEffect", "Ranking", "rank"]

Each = Callable[[Sequence[Change]], Iterator[tuple[Change, "FailureEffect"]]]

# Step times of two parts that look alike may differ by rounding; by more, they are not alike.
SAME: Final = 1e-6
MAX_PAIRS: Final = 1 << 21  # hops that help to tell parts apart


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEffect:
    """What becomes of the job.

    Attributes:
        step_s: Mean over the seeds; None when the job stops.
        num_gpus_cut_off: GPUs that the network no longer joins to the rest.
        num_nodes_cut_off: Nodes that such GPUs sit in.
        stopped: Why the job stops, for the part that was computed; empty when it goes on.
    """

    step_s: float | None
    num_gpus_cut_off: int
    num_nodes_cut_off: int
    stopped: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedParts:
    """Parts whose loss does the same.

    Attributes:
        parts: Their names, in order.
        where: What a cable joins, of the first; empty for other parts.
        lost_share: What the job loses of its speed: 1 when it stops.
        computed: How many of the parts were computed; the others look like them.
    """

    parts: tuple[str, ...]
    where: str
    effect: FailureEffect
    lost_share: float
    computed: int

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "part": self.parts[0],
            "where": self.where,
            "alike": len(self.parts),
            "computed": self.computed,
            "lost_share": self.lost_share,
            "step_time_s": self.effect.step_s,
            "stopped": self.effect.stopped,
            "gpus_cut_off": self.effect.num_gpus_cut_off,
            "nodes_cut_off": self.effect.num_nodes_cut_off,
            "parts": list(self.parts),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking(Tabular):
    """Every single failure (or slow part) of a kind.

    Attributes:
        which: What was asked for.
        factor: How much slower each part was made; None when each failed.
        before: On the whole network, one run a seed.
        rows: The worst first.
    """

    bench: BaselineJob
    which: str
    factor: float | None
    before: tuple[DrawnStep, ...]
    before_s: float
    rows: tuple[RankedParts, ...]

    @property
    def validity(self) -> Validity:
        """Of the step on the whole network, and of what failures do to it."""
        return self.before[0].step.validity & UNMEASURED

    def table(self) -> Table:
        """Return one row for parts that do the same."""
        keys = ("parts",)
        return Table.from_rows(
            [{k: v for k, v in row.to_json().items() if k not in keys} for row in self.rows]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "technology": self.bench.network.technology.name,
            "gpus": self.bench.network.design.num_gpus,
            "rank": self.which,
            "factor": self.factor,
            "seeds": list(self.bench.seeds),
            "before_s": self.before_s,
            "rows": [row.to_json() for row in self.rows],
            "validity": self.validity.to_json(),
        }


def rank(
    bench: BaselineJob, which: str, *, factor: float | None = None, each: Each | None = None
) -> Ranking:
    """Return what the loss of every single part of a kind does, the worst first.

    Parts that look alike to the network and to the traffic are computed twice, the first and
    the last of them; where these two differ, all of them are. Hashed flows make every part
    different, so that only parts which stop the job are put together.

    Args:
        bench: The job on its network.
        which: As :func:`~netloom.study.whatif.changes.parts_called`.
        factor: Slow each part by this instead of failing it.
        each: Works out effects, perhaps in parallel; default: here and now.

    Raises:
        SpecError: there is nothing of that name.
    """
    changes = [
        Change(act="fail", part=part)
        if factor is None
        else Change(act="slow", part=part, factor=factor)
        for part in parts_called(bench.fabric, which)
    ]
    applied(bench.fabric, changes[:1])
    before = bench.healthy()
    before_s = float(np.mean([run.duration_s for run in before]))
    work = each or (lambda tasks: ((task, effect_of(bench, task)) for task in tasks))
    found = _effects(bench, changes, before, work)
    rows = _rows(bench.fabric, changes, found, before_s)
    return Ranking(
        bench=bench, which=which, factor=factor, before=before, before_s=before_s, rows=rows
    )


def effect_of(bench: BaselineJob, change: Change) -> FailureEffect:
    """Return what *change* alone does."""
    after = bench.after([change])
    return FailureEffect(
        step_s=after.step_s,
        num_gpus_cut_off=len(after.cut_off),
        num_nodes_cut_off=len(nodes_of(after.cut_off, bench.network)),
        stopped=after.stopped,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    effect: FailureEffect
    computed: bool


def _effects(
    bench: BaselineJob, changes: Sequence[Change], before: Sequence[DrawnStep], work: Each
) -> list[_Found]:
    """Return the effect of each change, and which of them were worked out as one."""
    families = _families(bench, changes, before)
    ends = {index for family in families for index in (family[0], family[-1])}
    known = _worked_out(work, changes, sorted(ends))
    split = [f for f in families if not _same(known[f[0]], known[f[-1]])]
    rest = [index for family in split for index in family if index not in known]
    known |= _worked_out(work, changes, rest)
    computed = set(known)
    found: dict[int, _Found] = {}
    for family in families:
        for index in family:
            found[index] = _Found(known.get(index, known[family[0]]), index in computed)
    return [found[index] for index in range(len(changes))]


def _worked_out(
    work: Each, changes: Sequence[Change], which: Sequence[int]
) -> dict[int, FailureEffect]:
    number = {changes[index]: index for index in which}
    return {number[change]: effect for change, effect in work([changes[i] for i in which])}


def _same(one: FailureEffect, other: FailureEffect) -> bool:
    if one.step_s is None or other.step_s is None:
        return one.num_gpus_cut_off == other.num_gpus_cut_off and one.step_s == other.step_s
    return abs(one.step_s - other.step_s) <= SAME * one.step_s


def _families(
    bench: BaselineJob, changes: Sequence[Change], before: Sequence[DrawnStep]
) -> list[list[int]]:
    """Return numbers of changes whose parts look alike, in the order of the first of each.

    What stops the job does so whatever is sent, so only the network has to look alike there.
    """
    fabric, parts = bench.fabric, [change.part for change in changes]
    if changes[0].act == "slow" and parts[0].startswith("gpu:"):
        return [list(range(len(changes)))]  # whichever is slow, all wait for it
    families, others = [], []
    for family in _grouped(_colours(fabric, parts, (), ())):
        if changes[0].act == "fail" and _cuts(fabric, [changes[i] for i in family]):
            families.append(family)
        else:
            others += family
    if not others:
        return families
    if not _spreads(bench):
        return sorted([*families, *([index] for index in others)])
    labels = [press.share for run in before for press in run.presses]
    colours = _colours(fabric, [parts[i] for i in others], labels, _pairs(bench, before))
    return sorted([*families, *([others[i] for i in f] for f in _grouped(colours))])


def _spreads(bench: BaselineJob) -> bool:
    return bench.network.technology.load_balancing in {"adaptive", "spray", "cells"}


def _cuts(fabric: Fabric, changes: Sequence[Change]) -> bool:
    """Return whether the first and the last of *changes* both leave an endpoint without a port."""
    ends = (changes[0], changes[-1])
    return all(len(without_port(applied(fabric, [change]), fabric)) > 0 for change in ends)


def _pairs(
    bench: BaselineJob, before: Sequence[DrawnStep]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return who sends to whom, for the traffic whose hops are few enough to be told apart."""
    found = []
    for seed, run in zip(bench.seeds, before, strict=True):
        for press in run.presses:
            nodes = placed_nodes(bench.network, press.group, seed=seed)
            hops = gpu_hops(bench.network, press.group, press.pattern, nodes=nodes)
            for source, target, _ in hops:
                if len(source) > MAX_PAIRS or press.pattern == "all-to-all":
                    break
                found.append((source, target))
    return found


def _colours(
    fabric: Fabric,
    parts: Sequence[str],
    labels: Sequence[NDArray[np.float64]],
    pairs: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> list[tuple[str, int]]:
    colour = vertex_colours(fabric, labels, pairs)
    cables = cable_colours(fabric, colour, labels)
    nodes = node_colours(fabric, colour)
    found = []
    for part in parts:
        kind, _, number = part.partition(":")
        if kind == "cable":
            value = cables[int(number)]
        elif kind == "node":
            value = nodes[int(number)]
        else:
            value = colour[find_vertex(fabric, part)]
        found.append((kind, int(value)))
    return found


def _grouped(colours: Sequence[tuple[str, int]]) -> list[list[int]]:
    families: dict[tuple[str, int], list[int]] = {}
    for index, colour in enumerate(colours):
        families.setdefault(colour, []).append(index)
    return list(families.values())


def _rows(
    fabric: Fabric, changes: Sequence[Change], found: Sequence[_Found], before_s: float
) -> tuple[RankedParts, ...]:
    together: dict[tuple[str, float, int, int], list[int]] = {}
    for index, one in enumerate(found):
        kind, effect = changes[index].part.partition(":")[0], one.effect
        step_s = float("inf") if effect.step_s is None else effect.step_s
        key = (kind, step_s, effect.num_gpus_cut_off, effect.num_nodes_cut_off)
        together.setdefault(key, []).append(index)
    rows = [
        RankedParts(
            parts=tuple(changes[i].part for i in indices),
            where=_where(fabric, changes[indices[0]].part),
            effect=found[indices[0]].effect,
            lost_share=1 - before_s / step_s,
            computed=sum(found[i].computed for i in indices),
        )
        for (_, step_s, _, _), indices in together.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.lost_share, -row.effect.num_gpus_cut_off)))


def _where(fabric: Fabric, part: str) -> str:
    kind, _, number = part.partition(":")
    if kind != "cable":
        return ""
    link = 2 * int(number)
    ends = (int(fabric.link_source[link]), int(fabric.link_target[link]))
    return "-".join(vertex_name(fabric, end) for end in ends)
