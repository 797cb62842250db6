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
    from netloom.adapters.sweeps import sweep
    from netloom.errors import CatalogError, InfeasibleError, NetloomError, SpecError
    from netloom.fabric.edit import drain, fail, restore, slow
    from netloom.fabric.graph import Fabric
    from netloom.parts.load import Catalog, load_catalog
    from netloom.provenance import Source, Validity, Why
    from netloom.results.table import Table
    from netloom.spec.example import example
    from netloom.spec.load import load
    from netloom.spec.scenario import Scenario
    from netloom.study.choices import Choices
    from netloom.study.compare import Comparison, compare
    from netloom.study.fabrics import build
    from netloom.study.predict import Prediction, predict
    from netloom.study.serve import Inference, infer
    from netloom.study.share import Sharing, share
    from netloom.study.simulate import simulate
    from netloom.study.simulation import Simulation
    from netloom.study.size import Sizing, size
    from netloom.study.sweep import Sweep
    from netloom.study.uptime import Uptime, uptime
    from netloom.study.whatif import WhatIf, whatif
    from netloom.study.whatif_parts import Change
    from netloom.study.wish import Wish

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
    "Source",
    "SpecError",
    "Sweep",
    "Table",
    "Uptime",
    "Validity",
    "WhatIf",
    "Why",
    "Wish",
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
    "netloom.adapters.sweeps": ("sweep",),
    "netloom.parts.load": ("Catalog", "load_catalog"),
    "netloom.errors": ("CatalogError", "InfeasibleError", "NetloomError", "SpecError"),
    "netloom.fabric.edit": ("drain", "fail", "restore", "slow"),
    "netloom.fabric.graph": ("Fabric",),
    "netloom.provenance": ("Source", "Validity", "Why"),
    "netloom.results.table": ("Table",),
    "netloom.spec.example": ("example",),
    "netloom.spec.load": ("load",),
    "netloom.spec.scenario": ("Scenario",),
    "netloom.study.choices": ("Choices",),
    "netloom.study.compare": ("Comparison", "compare"),
    "netloom.study.fabrics": ("build",),
    "netloom.study.predict": ("Prediction", "predict"),
    "netloom.study.serve": ("Inference", "infer"),
    "netloom.study.share": ("Sharing", "share"),
    "netloom.study.simulate": ("simulate",),
    "netloom.study.simulation": ("Simulation",),
    "netloom.study.size": ("Sizing", "size"),
    "netloom.study.uptime": ("Uptime", "uptime"),
    "netloom.study.sweep": ("Sweep",),
    "netloom.study.whatif": ("WhatIf", "whatif"),
    "netloom.study.whatif_parts": ("Change",),
    "netloom.study.wish": ("Wish",),
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
