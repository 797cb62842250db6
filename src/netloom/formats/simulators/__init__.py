"""Other simulators' topologies, flows and settings."""

from __future__ import annotations
