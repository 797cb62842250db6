"""Scores against measurements: one folder a suite, with its data."""

from __future__ import annotations
