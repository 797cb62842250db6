"""What training over several sites costs against one site of the same size."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.span.checks import check_sites, check_span
from netloom.fabric.span.lines import built_span
from netloom.provenance import Source, Validity, Why
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.step.across.exchange import bytes_each_way, outer_bytes
from netloom.study.goodput.model import goodput as goodput_of
from netloom.study.inputs import catalog_of, model_of
from netloom.study.span.case import cut_case, whole_gpus
from netloom.study.span.classes import class_bounds
from netloom.study.span.cost import span_cost
from netloom.study.span.curve import curve, distances_m, needed_rates
from netloom.study.span.edges import edge_needs
from netloom.study.span.failures import ladder, span_failures
from netloom.study.span.flips import flip_of
from netloom.study.span.placements import crossed_s, step_s, table_of
from netloom.study.span.reliability import choices, chosen
from netloom.study.span.slowest import slowest_of_sites
from netloom.study.span.streams import scheduled_streams
from netloom.study.span.walk import walk_of

if TYPE_CHECKING:
    from netloom.fabric.span.lines import BuiltSpan
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.predict.prediction import Prediction
    from netloom.study.span.case import CutCase
    from netloom.study.span.classes import ClassBound
    from netloom.study.span.cost import SpanCost
    from netloom.study.span.curve import LengthPoint, NeededRate
    from netloom.study.span.edges import EdgeNeed
    from netloom.study.span.failures import SpanFailure, TimeoutRung
    from netloom.study.span.placements import PlacementKind, SitePlacement
    from netloom.study.span.reliability import Repair
    from netloom.study.span.streams import ScheduledStream
    from netloom.study.span.walk import SiteWalk

__all__ = ["DEFINITION", "Spanning", "span"]

DEFINITION: Final = (
    "efficiency = step time with all nodes at one site / step time over the sites, same number of "
    "GPUs"
)
NEEDED_POINTS: Final = 17
REPAIRED: Final[tuple[PlacementKind, ...]] = ("data", "pipeline", "local")
CHECKED_M: Final = 1_000e3
MODEL: Final = Source(
    citation="netloom's own formulas of docs/models/span.md, checked by 'netloom validate span'",
    confidence="derived",
)


@dataclass(frozen=True, kw_only=True)
class Spanning(Tabular, Explained):
    """A job over several sites.

    Attributes:
        one_site: The prediction where all nodes stand at one site, of the slowest kind of node.
        walk: Which spans carry an exchange, in which order.
        best: The placement that is answered for: the one asked for, or the fastest.
        placements: Every placement, the fastest first.
        flip: What would have to change for the second to win.
        reliability: Ways to repair losses, for the messages of the answer.
        classes: Bounds of the classes of traffic, beside what the packet engine shows.
        streams: When periodic streams send that gates let through.
        goodput: Share of wall time that is kept, failures of the spans and sites included.
    """

    scenario: Scenario
    one_site: Prediction
    spans: tuple[BuiltSpan, ...]
    walk: SiteWalk
    case: CutCase
    best: SitePlacement
    placements: tuple[SitePlacement, ...]
    flip: str
    curve: tuple[LengthPoint, ...]
    needed: tuple[NeededRate, ...]
    bandwidth_needed_bps: float | None
    reliability: tuple[Repair, ...]
    classes: tuple[ClassBound, ...]
    streams: tuple[ScheduledStream, ...]
    edges: tuple[EdgeNeed, ...]
    failures: tuple[SpanFailure, ...]
    timeouts: tuple[TimeoutRung, ...]
    goodput: float
    costs: tuple[SpanCost, ...]

    @property
    def latency_s(self) -> float:
        """One way over the longest span."""
        return self.case.delay_s

    @cached_property
    def pipeline_warning(self) -> str:
        """What a pipeline across the cut costs, to be told first."""
        rows = [row for row in self.placements if row.placement == "pipeline"]
        if not rows:
            return (
                "A pipeline cannot be laid over these sites: their nodes do not divide as its "
                "stages do, or no span leads from one to the next."
            )
        ahead = max(rows, key=lambda row: row.more_in_flight)
        lost_s = self._pipeline_s(0) - self._pipeline_s(0, delay_s=0.0)
        said = (
            "A pipeline across a cut loses one delay a micro-batch under 1F1B, not one a step: "
            f"{1e3 * lost_s:.3g} ms here for {self.case.num_micro_batches} micro-batches"
        )
        if ahead.more_in_flight == 0:
            return f"{said}; there is no memory for more of them in flight."
        more = ahead.more_in_flight
        left_s = self._pipeline_s(more) - self._pipeline_s(more, delay_s=0.0)
        return (
            f"{said}; with {ahead.more_in_flight} more in flight before the cut "
            f"{1e3 * left_s:.3g} ms (two delays are {2e3 * self.latency_s:.3g} ms), for "
            f"{ahead.extra_memory_bytes / 1e9:.3g} GB a GPU."
        )

    def _pipeline_s(self, more: int, delay_s: float | None = None) -> float:
        """Return the event schedule's time across the cut, not interleaved."""
        case = self.case
        at_s = case.delay_s if delay_s is None else delay_s
        return float(crossed_s(case, at_s, case.rate_bps, more))

    @property
    def validity(self) -> Validity:
        """What is in doubt: published runs are few, and secondary."""
        published = (
            "Runs over sites are published as single efficiencies, read in secondary sources "
            "(netloom validate span: W24 to W27)."
        )
        doubts = [published]
        longest = max(one.length_m for one in self.spans)
        if longest > CHECKED_M:
            doubts.append(
                f"{longest / 1e3:,.0f} km are beyond the 1,000 km of published synchronous runs."
            )
        if len(self.scenario.sites) > 2:
            doubts.append("No synchronous run over more than two sites is published.")
        if self.best.placement == "local":
            doubts.append(
                "Local updates are another algorithm: the loss they reach is not modelled."
            )
        if any(site.node is not None for site in self.scenario.sites):
            doubts.append(
                "Sites have nodes of several kinds: all are timed as the slowest, "
                f"{self.one_site.network.node.name}, and no such run is published."
            )
        return self.one_site.step.validity & Validity(tuple(doubts))

    def explanations(self) -> dict[str, Why]:
        """Return how each number came about."""
        step = Why(
            name="step over the sites",
            value=self.best.step_time_s,
            unit="s",
            how=f"step at one site + what the cut adds ({self.best.note})",
            source=MODEL,
            parts=(
                self.one_site.step.why,
                Why(
                    name="added by the cut",
                    value=self.best.exposed_s,
                    unit="s",
                    how=_how(self.best.placement),
                    parts=_line_whys(self),
                ),
            ),
        )
        return {
            "step_time_s": step,
            "one_site_step_time_s": self.one_site.step.why,
            "efficiency": Why(
                name="efficiency", value=self.best.efficiency, how=DEFINITION, parts=(step,)
            ),
            "latency_s": _latency_why(self),
            "bandwidth_needed_bps": Why(
                name="bandwidth for less than 5 % loss",
                value="none is enough"
                if self.bandwidth_needed_bps is None
                else self.bandwidth_needed_bps,
                unit="" if self.bandwidth_needed_bps is None else "bit/s",
                how="bisection of the payload rate of one direction, with "
                f"{self.best.placement} across and all else as in the scenario",
            ),
        }

    def table(self) -> Table:
        """Return the placements."""
        return Table.from_rows(_placement_json(row) for row in self.placements)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "definition": DEFINITION,
            "placement": self.best.placement,
            "step_time_s": self.best.step_time_s,
            "one_site_step_time_s": self.case.one_site_s,
            "efficiency": self.best.efficiency,
            "latency_s": self.latency_s,
            "rate_bps": self.case.rate_bps,
            "pipeline_warning": self.pipeline_warning,
            "flip": self.flip,
            "placements": [_placement_json(row) for row in self.placements],
            "curve": [asdict(point) for point in self.curve],
            "bandwidth_needed_bps": self.bandwidth_needed_bps,
            "bandwidth_curve": [asdict(point) for point in self.needed],
            "spans": [_span_json(one) for one in self.spans],
            "reliability": [asdict(row) for row in self.reliability],
            "classes": [asdict(row) for row in self.classes],
            "streams": [asdict(row) for row in self.streams],
            "edges": [_finite(asdict(row)) for row in self.edges],
            "failures": [_finite(asdict(row)) for row in self.failures],
            "timeouts": [asdict(row) for row in self.timeouts],
            "goodput": self.goodput,
            "costs": [_cost_json(row) for row in self.costs],
            "validity": self.validity.to_json(),
        }


def span(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    length_m: float | None = None,
    num_distances: int = 100,
    optimal: bool = False,
) -> Spanning:
    """Return what *scenario*'s job takes over its sites.

    >>> import netloom as nl
    >>> nl.span(nl.example("llama-3.1-405b-two-sites")).best.placement  # doctest: +SKIP
    'data'

    Args:
        scenario: With ``sites`` and ``spans``.
        catalog: The parts; default: the shipped ones and the scenario's own.
        length_m: Of every span, in place of the scenario's own.
        num_distances: Points of the curve from 1 to 5,000 km.
        optimal: Whether OR-Tools sets the gates of streams, in place of the built-in scheduler.

    Raises:
        NetloomError: sites do not add up, a line cannot be built, or the job does not fit.
    """
    parts = catalog or catalog_of(scenario)
    asked = scenario if length_m is None else _stretched(scenario, length_m)
    one_site = slowest_of_sites(asked, parts)
    design = one_site.network.design
    check_sites(asked, design.num_nodes)
    spans = _built(asked, parts)
    walk = walk_of([site.name for site in asked.sites], spans)
    longest = walk.longest
    case = cut_case(asked, one_site.step, model_of(asked, parts), walk, num_gpus=design.num_gpus)
    schemes = {kind: choices(longest, _message_bytes(case, kind)) for kind in REPAIRED}
    repairs = {kind: chosen(rows) for kind, rows in schemes.items()}
    placements = table_of(case, repairs)
    best = _asked_for(asked, placements)
    lengths_m = distances_m(num_distances)
    kinds = _curve_kinds(placements)
    few_m = distances_m(NEEDED_POINTS)
    at_best = partial(needed_rates, case, longest, best.placement, repairs)

    def efficiency_at(rate_share: float, delay_s: float) -> float:
        time_s = step_s(
            case,
            best.placement,
            delay_s,
            case.rate_bps * rate_share,
            repairs=repairs,
            more=best.more_in_flight,
        )
        return case.one_site_s / float(time_s)

    failures = span_failures(asked, spans, efficiency=best.efficiency, efficiency_at=efficiency_at)
    kept = goodput_of(design, asked.job.reliability, num_hosts=one_site.network.node.num_hosts)
    return Spanning(
        scenario=asked,
        one_site=one_site,
        spans=spans,
        walk=walk,
        case=case,
        best=best,
        placements=placements,
        flip=flip_of(case, best, placements, repairs),
        curve=curve(case, longest, kinds, repairs, lengths_m),
        needed=at_best(few_m),
        bandwidth_needed_bps=at_best(np.array([longest.length_m]))[0].rate_bps,
        reliability=schemes["data" if best.placement == "both" else best.placement],
        classes=class_bounds(spans),
        streams=scheduled_streams(spans, optimal=optimal),
        edges=tuple(row for one in spans for row in edge_needs(one)),
        failures=failures,
        timeouts=ladder(_within_s(longest)),
        goodput=kept.share * max(0.0, 1 - sum(row.lost_share for row in failures)),
        costs=tuple(span_cost(one, parts) for one in spans),
    )


def _built(scenario: Scenario, catalog: Catalog) -> tuple[BuiltSpan, ...]:
    spans = []
    for number, spec in enumerate(scenario.spans):
        key = f"spans[{number}]"
        one = built_span(spec, catalog, key=key)
        check_span(one, key=key)
        spans.append(one)
    return tuple(spans)


def _stretched(scenario: Scenario, length_m: float) -> Scenario:
    spans = tuple(
        one.model_copy(update={"length_m": length_m, "latency_s": None}) for one in scenario.spans
    )
    return scenario.model_copy(update={"spans": spans})


def _message_bytes(case: CutCase, kind: PlacementKind) -> float:
    """Return what one exchange, fragment or micro-batch sends over a span, one direction.

    Chunks of an exchange follow one another without a gap: it ends when none of them waits.
    """
    if kind == "pipeline":
        return case.activation_bytes
    if kind == "local":
        outer = outer_bytes(case.parameters, case.sync.bits)
        return bytes_each_way(outer, case.num_sites, case.shape) / case.sync.fragments
    return bytes_each_way(case.volume_bytes, case.num_sites, case.shape)


def _asked_for(scenario: Scenario, rows: tuple[SitePlacement, ...]) -> SitePlacement:
    """Return the placement that the scenario asks for, else the fastest that fits."""
    local = scenario.job.sync.kind == "local"
    wanted = "local" if local else scenario.job.parallel.across
    for row in rows:
        if row.fits and (row.placement == "local") == local and wanted in ("auto", row.placement):
            return row
    raise _no_such_placement(scenario, wanted)


def _no_such_placement(scenario: Scenario, wanted: str) -> SpecError:
    parallel = scenario.job.parallel
    nodes = ", ".join(str(site.nodes) for site in scenario.sites)
    reasons = []
    if wanted != "pipeline":
        reasons.append(
            f"copies of {whole_gpus(parallel):,} GPUs, groups of experts included, are not whole "
            f"at every site"
        )
    if wanted in ("pipeline", "both", "auto"):
        reasons.append(f"{parallel.pipeline} stages do not divide over them as nodes and spans do")
    return SpecError(
        key="job.sync.kind" if wanted == "local" else "job.parallel.across",
        what=f"{wanted!r}, and sites have {nodes} nodes: {'; '.join(reasons)}",
        remedy="give sites nodes for whole copies, or as many stages as divide alike",
    )


def _curve_kinds(rows: tuple[SitePlacement, ...]) -> list[tuple[PlacementKind, bool]]:
    there = {row.placement for row in rows}
    kinds: tuple[tuple[PlacementKind, bool], ...] = (
        ("data", False),
        ("local", False),
        ("pipeline", False),
        ("pipeline", True),
        ("both", True),
    )
    return [one for one in kinds if one[0] in there]


def _within_s(one: BuiltSpan) -> float | None:
    guard = one.spec.protection
    if guard.kind == "none":
        return None
    return 0.0 if guard.kind == "frer" else guard.within_s


def _how(kind: PlacementKind) -> str:
    hows = {
        "data": "bytes over the cut / payload rate + delays + waits for lost packets, less what "
        "the last backward pass hides",
        "pipeline": "event schedule with delays and a busy line, less the one-site pipeline",
        "both": "event schedule of the pipeline, and the exchange of gradients",
        "local": "outer exchange beyond its slack, divided by the steps between exchanges",
    }
    return hows[kind]


def _line_whys(found: Spanning) -> tuple[Why, ...]:
    case, walk = found.case, found.walk
    return (
        Why(name="bytes over the cut", value=found.best.bytes_over_cut, unit="B"),
        Why(name="payload rate, one direction", value=case.rate_bps, unit="bit/s"),
        Why(name=f"{walk.shape} of sites", value=", ".join(walk.order)),
        _latency_why(found),
        Why(name="hidden behind the last backward pass", value=case.hidden_s, unit="s"),
        Why(name="delays on the critical path", value=float(case.hops)),
    )


def _latency_why(found: Spanning) -> Why:
    longest = found.walk.longest
    parts = [
        Why(name=name, value=time_s, unit="s") for name, time_s in longest.latency.parts_s().items()
    ]
    used = {
        "fibre": ("route x delay a km", longest.fibre.why("delay_per_km_s", unit="s")),
        "optics": ("at both ends", longest.optics.why("latency_s", unit="s")),
    }
    parts = [
        replace(part, how=used[part.name][0], parts=used[part.name][1:])
        if part.name in used
        else part
        for part in parts
    ]
    return Why(
        name=f"latency of {longest.name}",
        value=longest.latency.total_s,
        unit="s",
        how="one way: the sum of its parts",
        parts=tuple(parts),
    )


def _placement_json(row: SitePlacement) -> dict[str, Any]:
    return {**asdict(row), "cut": list(row.cut)}


def _span_json(one: BuiltSpan) -> dict[str, Any]:
    return {
        "between": list(one.spec.between),
        "length_m": one.length_m,
        "latency_s": one.latency.total_s,
        "latency_parts_s": one.latency.parts_s(),
        "line_bps": one.line_bps,
        "payload_bps": one.payload_bps,
        "stranded_bps": one.stranded_bps,
        "carried_by": one.carrier.name,
        "guarantees": one.carrier.guarantees,
        "strands": one.carrier.strands,
        "carrier_costs": one.carrier.costs,
    }


def _cost_json(row: SpanCost) -> dict[str, Any]:
    return {
        **asdict(row),
        "capex_usd": list(row.capex_usd),
        "yearly_usd": list(row.yearly_usd),
        "parts_usd": {name: list(each) for name, each in row.parts_usd.items()},
    }


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in row.items()
    }
