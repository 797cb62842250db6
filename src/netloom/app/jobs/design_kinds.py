"""The commands of design as jobs and their options; ``netloom.commands`` names each entry."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from netloom.app.jobs.kind import JobKind, JobOptions

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


class TuneJobOptions(JobOptions):
    """Of ``tune``."""

    objective: Literal["step", "fct", "p99"] | None = None
    over: Names = ()
    budget: Annotated[int, Field(ge=2, le=10_000)] = 60
    stages: bool = False
    seed: Seed = 0


COMPARE: Final = JobKind(options=CompareJobOptions, run="netloom.app.jobs.design_runs:compare_job")
PREDICT: Final = JobKind(options=EngineJobOptions, run="netloom.app.jobs.design_runs:predict_job")
PLAN: Final = JobKind(options=PlanJobOptions, run="netloom.app.jobs.design_runs:plan_job")
SIMULATE: Final = JobKind(
    options=SimulateJobOptions,
    run="netloom.app.jobs.design_runs:simulate_job",
    keeps_partial=True,
    frames="netloom.study.simulate.replay:replay_of",
)
WHATIF: Final = JobKind(options=WhatIfJobOptions, run="netloom.app.jobs.design_runs:whatif_job")
GOODPUT: Final = JobKind(options=NoOptions, run="netloom.app.jobs.design_runs:goodput_job")
HEADROOM: Final = JobKind(
    options=HeadroomJobOptions, run="netloom.app.jobs.design_runs:headroom_job"
)
INFER: Final = JobKind(options=NoOptions, run="netloom.app.jobs.design_runs:infer_job")
SHARE: Final = JobKind(options=NoOptions, run="netloom.app.jobs.design_runs:share_job")
SIZE: Final = JobKind(options=NoOptions, run="netloom.app.jobs.design_runs:size_job")
SPAN: Final = JobKind(options=SpanJobOptions, run="netloom.app.jobs.design_runs:span_job")
TUNE: Final = JobKind(options=TuneJobOptions, run="netloom.app.jobs.design_runs:tune_job")
