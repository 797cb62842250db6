"""Scenarios from what frameworks are told: arguments, scripts, recipes and configurations."""

from __future__ import annotations
