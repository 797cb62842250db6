"""The commands of design as jobs; ``netloom.commands`` names each entry."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from netloom.app.jobs.kind import JobKind, JobOptions, JsonResult
from netloom.app.plan import plan
from netloom.app.rank import rank
from netloom.app.simulate import StepOptions, prepare, run_told
from netloom.app.tune import tune
from netloom.study.compare.comparison import compare
from netloom.study.goodput.uptime import goodput
from netloom.study.headroom.budget import headroom
from netloom.study.plan.machines import PlanLimits, Wanted
from netloom.study.predict.prediction import predict
from netloom.study.serving.inference import infer
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.replay import filmed, replay_of
from netloom.study.size.sizing import size
from netloom.study.span.spanning import span
from netloom.study.tune.tuning import TuneRequest, objective_of
from netloom.study.whatif.changes import changes_of
from netloom.study.whatif.failure import whatif
from netloom.study.whatif.share import share

__all__ = [
    "COMPARE",
    "GOODPUT",
    "HEADROOM",
    "INFER",
    "PLAN",
    "PREDICT",
    "SHARE",
    "SIMULATE",
    "SIZE",
    "SPAN",
    "TUNE",
    "WHATIF",
]

Name = Annotated[str, Field(max_length=200)]
Names = Annotated[tuple[Name, ...], Field(max_length=100)]
Seed = Annotated[int, Field(ge=0, lt=1 << 31)]
Positive = Annotated[float, Field(gt=0)]


class NoOptions(JobOptions):
    """A command that is asked nothing beyond the scenario."""


class EngineJobOptions(JobOptions):
    """Of ``predict``."""

    engine: Literal["analytic", "flow", "packet"] = "analytic"
    seed: Seed = 0


class CompareJobOptions(EngineJobOptions):
    """Of ``compare``: technologies, or chips by name (all where none is named)."""

    chips: bool = False
    architectures: Names = ()


class PlanJobOptions(JobOptions):
    """Of ``plan``."""

    objective: Literal["time", "cost", "energy"] = "time"
    gpus: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(max_length=64)] = ()
    technologies: Names = ()
    topologies: Names = ()
    software: Names = ()
    budget_usd: Positive | None = None
    power_w: Positive | None = None
    exhaustive: bool = False


class SimulateJobOptions(JobOptions):
    """Of ``simulate``."""

    engine: Literal["packet", "flow"] = "packet"
    technology: Name = ""
    congestion_control: Name = ""
    load_balancing: Name = ""
    transport: Name = ""
    flow_control: Name = ""
    ecn: Name = ""
    settings: Name = ""
    qps: Annotated[int, Field(ge=0, le=256)] = 0
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=64)] = (0,)
    until_s: Positive | None = None
    step: bool = False


class SpanJobOptions(JobOptions):
    """Of ``span``."""

    length_m: Annotated[float, Field(gt=0, le=40_000e3)] | None = None


class WhatIfJobOptions(JobOptions):
    """Of ``whatif``: parts by name, or one word to rank all failures of a kind."""

    fail: Names = ()
    drain: Names = ()
    slow: Names = ()
    rank: Name = ""


class HeadroomJobOptions(JobOptions):
    """Of ``headroom``."""

    cable_m: Positive | None = None
    mtu_bytes: Annotated[int, Field(ge=64, le=65_536)] = 9216
    priorities: Annotated[int, Field(ge=1, le=8)] = 1
    settings: Name = ""


def _headroom(scenario: Any, options: HeadroomJobOptions, _: Any) -> JsonResult:
    return headroom(
        scenario,
        cable_m=options.cable_m,
        mtu_bytes=options.mtu_bytes,
        num_priorities=options.priorities,
        settings=options.settings,
    )


def _compare(scenario: Any, options: CompareJobOptions, on_progress: Any) -> JsonResult:
    if options.chips:
        return compare(
            scenario,
            chips=options.architectures,
            engine=options.engine,
            seed=options.seed,
            on_progress=on_progress,
        )
    return compare(scenario, engine=options.engine, seed=options.seed, on_progress=on_progress)


def _predict(scenario: Any, options: EngineJobOptions, _: Any) -> JsonResult:
    return predict(scenario, engine=options.engine, seed=options.seed)


def _plan(scenario: Any, options: PlanJobOptions, on_progress: Any) -> JsonResult:
    if options.topologies == ("search",):
        limits = PlanLimits(budget_usd=options.budget_usd, power_w=options.power_w)
        return plan(scenario, topologies="search", limits=limits, on_progress=on_progress)
    return plan(
        scenario,
        objective=options.objective,
        wanted=Wanted(
            gpus=options.gpus,
            technologies=options.technologies,
            topologies=options.topologies,
            software=options.software,
        ),
        limits=PlanLimits(budget_usd=options.budget_usd, power_w=options.power_w),
        exhaustive=options.exhaustive,
        on_progress=on_progress,
    )


def _simulate(scenario: Any, options: SimulateJobOptions, on_progress: Any) -> JsonResult:
    prepared = prepare(
        scenario,
        engine=options.engine,
        technology=options.technology,
        choices=Choices(
            congestion_control=options.congestion_control,
            load_balancing=options.load_balancing,
            transport=options.transport,
            flow_control=options.flow_control,
            ecn=options.ecn,
            settings=options.settings,
            qps=options.qps,
        ),
        step=StepOptions() if options.step else None,
    )
    stop_s = prepared.stop_s if options.until_s is None else options.until_s
    return run_told(
        filmed(prepared.case), seeds=options.seeds, until_s=stop_s, on_progress=on_progress
    )


def _span(scenario: Any, options: SpanJobOptions, _: Any) -> JsonResult:
    return span(scenario, length_m=options.length_m)


def _whatif(scenario: Any, options: WhatIfJobOptions, on_progress: Any) -> JsonResult:
    if options.rank:
        return rank(scenario, options.rank, on_progress=on_progress)
    changes = changes_of(fail=options.fail, drain=options.drain, slow=options.slow)
    return whatif(scenario, changes)


class TuneJobOptions(JobOptions):
    """Of ``tune``."""

    objective: Literal["step", "fct", "p99"] | None = None
    over: Names = ()
    budget: Annotated[int, Field(ge=2, le=10_000)] = 60
    stages: bool = False
    seed: Seed = 0


def _tune(scenario: Any, options: TuneJobOptions, on_progress: Any) -> JsonResult:
    request = TuneRequest(
        objective=options.objective or objective_of(scenario),
        over=options.over,
        budget=options.budget,
        seed=options.seed,
    )
    return tune(
        scenario, request=request, stages=options.stages, workers=1, on_progress=on_progress
    )


COMPARE: Final = JobKind(options=CompareJobOptions, run=_compare)
PREDICT: Final = JobKind(options=EngineJobOptions, run=_predict)
PLAN: Final = JobKind(options=PlanJobOptions, run=_plan)
SIMULATE: Final = JobKind(
    options=SimulateJobOptions, run=_simulate, keeps_partial=True, frames=replay_of
)
WHATIF: Final = JobKind(options=WhatIfJobOptions, run=_whatif)
GOODPUT: Final = JobKind(options=NoOptions, run=lambda scenario, *_: goodput(scenario))
HEADROOM: Final = JobKind(options=HeadroomJobOptions, run=_headroom)
INFER: Final = JobKind(options=NoOptions, run=lambda scenario, *_: infer(scenario))
SHARE: Final = JobKind(options=NoOptions, run=lambda scenario, *_: share(scenario))
SIZE: Final = JobKind(options=NoOptions, run=lambda scenario, *_: size(scenario))
SPAN: Final = JobKind(options=SpanJobOptions, run=_span)
TUNE: Final = JobKind(options=TuneJobOptions, run=_tune)
