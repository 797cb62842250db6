"""netloom: the workbench for the networks that train large AI models.

>>> import netloom as nl
>>> comparison = nl.compare(nl.load("x.yaml"))  # doctest: +SKIP
>>> comparison.recommendation.technology  # doctest: +SKIP

A scenario goes in, a frozen result comes out; every result has ``to_json()``, and tables export
Arrow (``__arrow_c_stream__``), so that polars, pandas and DuckDB read them without a copy.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes half of what importing netloom would
if TYPE_CHECKING:
    from netloom.app.sweep.run import sweep
    from netloom.errors import CatalogError, InfeasibleError, NetloomError, SpecError
    from netloom.fabric.edit import drain, fail, restore, slow
    from netloom.fabric.graph import Fabric
    from netloom.parts.load import Catalog, load_catalog
    from netloom.provenance import Source, Validity, Why
    from netloom.results.table import Table
    from netloom.spec.example import example
    from netloom.spec.load import load
    from netloom.spec.scenario import Scenario
    from netloom.study.compare.comparison import Comparison, compare
    from netloom.study.fabrics import build
    from netloom.study.goodput.uptime import Uptime, uptime
    from netloom.study.predict.prediction import Prediction, predict
    from netloom.study.serving.inference import Inference, infer
    from netloom.study.simulate.choices import Choices
    from netloom.study.simulate.run import simulate
    from netloom.study.simulate.simulation import Simulation
    from netloom.study.size.request import SizingRequest
    from netloom.study.size.sizing import Sizing, size
    from netloom.study.sweep.result import Sweep
    from netloom.study.whatif.changes import Change
    from netloom.study.whatif.failure import WhatIf, whatif
    from netloom.study.whatif.share import Sharing, share

__all__ = [
    "Catalog",
    "CatalogError",
    "Change",
    "Choices",
    "Comparison",
    "Fabric",
    "InfeasibleError",
    "Inference",
    "NetloomError",
    "Prediction",
    "Scenario",
    "Sharing",
    "Simulation",
    "Sizing",
    "SizingRequest",
    "Source",
    "SpecError",
    "Sweep",
    "Table",
    "Uptime",
    "Validity",
    "WhatIf",
    "Why",
    "build",
    "compare",
    "drain",
    "example",
    "fail",
    "infer",
    "load",
    "load_catalog",
    "predict",
    "restore",
    "share",
    "simulate",
    "size",
    "slow",
    "sweep",
    "uptime",
    "whatif",
]

# Loaded when first asked for, so that importing netloom (and netloom --help) stays quick.
_HOMES = {
    "netloom.app.sweep.run": ("sweep",),
    "netloom.parts.load": ("Catalog", "load_catalog"),
    "netloom.errors": ("CatalogError", "InfeasibleError", "NetloomError", "SpecError"),
    "netloom.fabric.edit": ("drain", "fail", "restore", "slow"),
    "netloom.fabric.graph": ("Fabric",),
    "netloom.provenance": ("Source", "Validity", "Why"),
    "netloom.results.table": ("Table",),
    "netloom.spec.example": ("example",),
    "netloom.spec.load": ("load",),
    "netloom.spec.scenario": ("Scenario",),
    "netloom.study.simulate.choices": ("Choices",),
    "netloom.study.compare.comparison": ("Comparison", "compare"),
    "netloom.study.fabrics": ("build",),
    "netloom.study.predict.prediction": ("Prediction", "predict"),
    "netloom.study.serving.inference": ("Inference", "infer"),
    "netloom.study.whatif.share": ("Sharing", "share"),
    "netloom.study.simulate.run": ("simulate",),
    "netloom.study.simulate.simulation": ("Simulation",),
    "netloom.study.size.sizing": ("Sizing", "size"),
    "netloom.study.goodput.uptime": ("Uptime", "uptime"),
    "netloom.study.sweep.result": ("Sweep",),
    "netloom.study.whatif.failure": ("WhatIf", "whatif"),
    "netloom.study.whatif.changes": ("Change",),
    "netloom.study.size.request": ("SizingRequest",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415  (netloom.cli.start has no time for it)

    if name == "__version__":
        return import_module("importlib.metadata").version("netloom")
    if name not in _HOME:
        message = f"module 'netloom' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
