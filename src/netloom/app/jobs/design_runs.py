"""How the commands of design run as jobs, in processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from netloom.study.simulate.replay import filmed
from netloom.study.size.sizing import size
from netloom.study.span.spanning import span
from netloom.study.tune.tuning import TuneRequest, objective_of
from netloom.study.whatif.changes import changes_of
from netloom.study.whatif.failure import whatif
from netloom.study.whatif.share import share

if TYPE_CHECKING:
    from netloom.app.jobs.design_kinds import (
        CompareJobOptions,
        EngineJobOptions,
        HeadroomJobOptions,
        NoOptions,
        PlanJobOptions,
        SimulateJobOptions,
        SpanJobOptions,
        TuneJobOptions,
        WhatIfJobOptions,
    )
    from netloom.app.jobs.kind import JsonResult

__all__ = [
    "compare_job",
    "goodput_job",
    "headroom_job",
    "infer_job",
    "plan_job",
    "predict_job",
    "share_job",
    "simulate_job",
    "size_job",
    "span_job",
    "tune_job",
    "whatif_job",
]


def headroom_job(scenario: Any, options: HeadroomJobOptions, _: Any) -> JsonResult:
    """Budget the buffers of ports."""
    return headroom(
        scenario,
        cable_m=options.cable_m,
        mtu_bytes=options.mtu_bytes,
        num_priorities=options.priorities,
        settings=options.settings,
    )


def compare_job(scenario: Any, options: CompareJobOptions, on_progress: Any) -> JsonResult:
    """Compare technologies, or chips where asked."""
    if options.chips:
        return compare(
            scenario,
            chips=options.architectures,
            engine=options.engine,
            seed=options.seed,
            on_progress=on_progress,
        )
    return compare(scenario, engine=options.engine, seed=options.seed, on_progress=on_progress)


def predict_job(scenario: Any, options: EngineJobOptions, _: Any) -> JsonResult:
    """Predict a step."""
    return predict(scenario, engine=options.engine, seed=options.seed)


def plan_job(scenario: Any, options: PlanJobOptions, on_progress: Any) -> JsonResult:
    """Search plans, or topologies where asked."""
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


def simulate_job(scenario: Any, options: SimulateJobOptions, on_progress: Any) -> JsonResult:
    """Simulate with frames for a replay; ends early with what it has."""
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


def span_job(scenario: Any, options: SpanJobOptions, _: Any) -> JsonResult:
    """Train across sites."""
    return span(scenario, length_m=options.length_m)


def whatif_job(scenario: Any, options: WhatIfJobOptions, on_progress: Any) -> JsonResult:
    """Change parts, or rank all failures of a kind."""
    if options.rank:
        return rank(scenario, options.rank, on_progress=on_progress)
    changes = changes_of(fail=options.fail, drain=options.drain, slow=options.slow)
    return whatif(scenario, changes)


def tune_job(scenario: Any, options: TuneJobOptions, on_progress: Any) -> JsonResult:
    """Search settings."""
    request = TuneRequest(
        objective=options.objective or objective_of(scenario),
        over=options.over,
        budget=options.budget,
        seed=options.seed,
    )
    return tune(
        scenario, request=request, stages=options.stages, workers=1, on_progress=on_progress
    )


def goodput_job(scenario: Any, _: NoOptions, __: Any) -> JsonResult:
    """Work out failures and checkpoints."""
    return goodput(scenario)


def infer_job(scenario: Any, _: NoOptions, __: Any) -> JsonResult:
    """Serve a model."""
    return infer(scenario)


def share_job(scenario: Any, _: NoOptions, __: Any) -> JsonResult:
    """Let jobs share a fabric."""
    return share(scenario)


def size_job(scenario: Any, _: NoOptions, __: Any) -> JsonResult:
    """Size the fabric."""
    return size(scenario)
