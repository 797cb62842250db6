"""netloom: the workbench for the networks that train large AI models.

>>> import netloom as nl
>>> comparison = nl.compare(nl.load("x.yaml"))  # doctest: +SKIP
>>> comparison.recommendation.technology  # doctest: +SKIP

Every command is a function of the same name (``netloom.commands`` has the table): a scenario, or
the path of its file, goes in, a frozen result comes out. Every result has ``to_json()``,
``table()`` and, for notebooks, ``_repr_html_``; tables export Arrow (``__arrow_c_stream__``), so
that polars, pandas and DuckDB read them without a copy. ``engine=`` takes a name or an engine,
``on_progress=`` a function that is told how much is done and how much there is.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes half of what importing netloom would
if TYPE_CHECKING:
    from netloom.app import calibrate, deploy, lab, trace
    from netloom.app import records as cases
    from netloom.app.audit import audit
    from netloom.app.calibrate.gpu_operators import Calibration
    from netloom.app.convert.run import Conversion, convert
    from netloom.app.doctor import Doctor, doctor
    from netloom.app.expect import expect
    from netloom.app.explain import explain
    from netloom.app.heal import heal
    from netloom.app.locate import locate
    from netloom.app.plan import plan
    from netloom.app.rank import rank
    from netloom.app.roll import roll
    from netloom.app.simulate import simulate
    from netloom.app.sweep.run import sweep
    from netloom.app.tune import tune
    from netloom.app.watch import watch
    from netloom.errors import (
        CatalogError,
        InfeasibleError,
        LabError,
        NetloomError,
        OutputError,
        SpecError,
    )
    from netloom.fabric.edit import drain, fail, restore, slow
    from netloom.fabric.graph import Fabric
    from netloom.parts.load import Catalog, load_catalog
    from netloom.provenance import Source, Validity, Why
    from netloom.results.schemas import schema
    from netloom.results.show import show
    from netloom.results.table import Table
    from netloom.spec.example import example
    from netloom.spec.load import load
    from netloom.spec.scenario import Scenario
    from netloom.study.calibrate.calibration import NetworkCalibration
    from netloom.study.catalogue import CatalogView, catalog
    from netloom.study.check import ScenarioCheck, check
    from netloom.study.compare.comparison import Comparison, compare
    from netloom.study.diff import Diff, diff
    from netloom.study.expect.expectation import Expectation
    from netloom.study.explain.explanation import Explanation
    from netloom.study.fabrics import build
    from netloom.study.goodput.uptime import Uptime, goodput, uptime
    from netloom.study.headroom.budget import HeadroomBudget, headroom
    from netloom.study.plan.machines import PlanLimits, Wanted
    from netloom.study.plan.result import Plan
    from netloom.study.predict.prediction import Prediction, predict
    from netloom.study.serving.inference import Inference, infer
    from netloom.study.simulate.choices import Choices
    from netloom.study.simulate.simulation import Simulation
    from netloom.study.size.request import SizingRequest
    from netloom.study.size.sizing import Sizing, size
    from netloom.study.span.spanning import Spanning, span
    from netloom.study.sweep.result import Sweep
    from netloom.study.trace.table import TraceTable
    from netloom.study.tune.result import TunedSettings
    from netloom.study.tune.tuning import TuneRequest
    from netloom.study.whatif.changes import Change
    from netloom.study.whatif.failure import WhatIf, whatif
    from netloom.study.whatif.place import Search, place
    from netloom.study.whatif.rank import Ranking
    from netloom.study.whatif.share import Sharing, share
    from netloom.validation.validate import Validation, validate
    from netloom.web import serve

__all__ = [
    "Calibration",
    "Catalog",
    "CatalogError",
    "CatalogView",
    "Change",
    "Choices",
    "Comparison",
    "Conversion",
    "Diff",
    "Doctor",
    "Expectation",
    "Explanation",
    "Fabric",
    "HeadroomBudget",
    "InfeasibleError",
    "Inference",
    "LabError",
    "NetloomError",
    "NetworkCalibration",
    "OutputError",
    "Plan",
    "PlanLimits",
    "Prediction",
    "Ranking",
    "Scenario",
    "ScenarioCheck",
    "Search",
    "Sharing",
    "Simulation",
    "Sizing",
    "SizingRequest",
    "Source",
    "Spanning",
    "SpecError",
    "Sweep",
    "Table",
    "TraceTable",
    "TuneRequest",
    "TunedSettings",
    "Uptime",
    "Validation",
    "Validity",
    "Wanted",
    "WhatIf",
    "Why",
    "audit",
    "build",
    "calibrate",
    "cases",
    "catalog",
    "check",
    "compare",
    "convert",
    "deploy",
    "diff",
    "doctor",
    "drain",
    "example",
    "expect",
    "explain",
    "fail",
    "goodput",
    "headroom",
    "heal",
    "infer",
    "lab",
    "load",
    "load_catalog",
    "locate",
    "place",
    "plan",
    "predict",
    "rank",
    "restore",
    "roll",
    "schema",
    "serve",
    "share",
    "show",
    "simulate",
    "size",
    "slow",
    "span",
    "sweep",
    "trace",
    "tune",
    "uptime",
    "validate",
    "watch",
    "whatif",
]

# Loaded when first asked for, so that importing netloom (and netloom --help) stays quick. Commands
# come from their table, all else from here.
_HOMES = {
    "netloom.app.calibrate.gpu_operators": ("Calibration",),
    "netloom.app.convert.run": ("Conversion",),
    "netloom.app.doctor": ("Doctor",),
    "netloom.app.rank": ("rank",),
    "netloom.errors": (
        "CatalogError",
        "InfeasibleError",
        "LabError",
        "NetloomError",
        "OutputError",
        "SpecError",
    ),
    "netloom.fabric.edit": (
        "drain",
        "fail",
        "restore",
        "slow",
    ),
    "netloom.fabric.graph": ("Fabric",),
    "netloom.parts.load": (
        "Catalog",
        "load_catalog",
    ),
    "netloom.provenance": (
        "Source",
        "Validity",
        "Why",
    ),
    "netloom.results.show": ("show",),
    "netloom.results.table": ("Table",),
    "netloom.spec.load": ("load",),
    "netloom.spec.scenario": ("Scenario",),
    "netloom.study.calibrate.calibration": ("NetworkCalibration",),
    "netloom.study.catalogue": ("CatalogView",),
    "netloom.study.check": ("ScenarioCheck",),
    "netloom.study.compare.comparison": ("Comparison",),
    "netloom.study.diff": ("Diff",),
    "netloom.study.expect.expectation": ("Expectation",),
    "netloom.study.explain.explanation": ("Explanation",),
    "netloom.study.fabrics": ("build",),
    "netloom.study.goodput.uptime": (
        "Uptime",
        "uptime",
    ),
    "netloom.study.headroom.budget": ("HeadroomBudget",),
    "netloom.study.plan.machines": (
        "PlanLimits",
        "Wanted",
    ),
    "netloom.study.plan.result": ("Plan",),
    "netloom.study.predict.prediction": ("Prediction",),
    "netloom.study.serving.inference": ("Inference",),
    "netloom.study.simulate.choices": ("Choices",),
    "netloom.study.simulate.simulation": ("Simulation",),
    "netloom.study.size.request": ("SizingRequest",),
    "netloom.study.size.sizing": ("Sizing",),
    "netloom.study.sweep.result": ("Sweep",),
    "netloom.study.trace.table": ("TraceTable",),
    "netloom.study.span.spanning": ("Spanning",),
    "netloom.study.tune.result": ("TunedSettings",),
    "netloom.study.tune.tuning": ("TuneRequest",),
    "netloom.study.whatif.changes": ("Change",),
    "netloom.study.whatif.failure": ("WhatIf",),
    "netloom.study.whatif.place": ("Search",),
    "netloom.study.whatif.rank": ("Ranking",),
    "netloom.study.whatif.share": ("Sharing",),
    "netloom.validation.validate": ("Validation",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415  (netloom.cli.start has no time for it)

    if name == "__version__":
        return import_module("importlib.metadata").version("netloom")
    if name in _HOME and not name.islower():
        return getattr(import_module(_HOME[name]), name)
    if name in _HOME:
        return import_module("netloom.commands").taking_paths(
            getattr(import_module(_HOME[name]), name)
        )
    if name in __all__:
        commands = import_module("netloom.commands")
        return commands.callable_of(commands.command_named(name))
    message = f"module 'netloom' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
