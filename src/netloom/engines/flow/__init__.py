"""The flow engine: transfers that share links max-min fairly, from completion to completion."""

from __future__ import annotations

from netloom.engines.flow.engine import FlowEngine
from netloom.engines.flow.explain import HeldBack, held_back
from netloom.engines.flow.phases import Phase, Phases, run_phases
from netloom.engines.flow.run import run_flows
from netloom.engines.flow.settings import FlowSettings, settings_for

__all__ = [
    "FlowEngine",
    "FlowSettings",
    "HeldBack",
    "Phase",
    "Phases",
    "held_back",
    "run_flows",
    "run_phases",
    "settings_for",
]
