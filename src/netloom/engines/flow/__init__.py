"""The flow engine: transfers that share links max-min fairly, from completion to completion."""

from __future__ import annotations

from netloom.engines.flow.phases import Phase, Phases, run_phases
from netloom.engines.flow.run import run_flows
from netloom.engines.flow.settings import FlowSettings, settings_for

__all__ = ["FlowSettings", "Phase", "Phases", "run_flows", "run_phases", "settings_for"]
