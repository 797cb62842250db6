"""Tuning against published effects: T1 to T13."""

from __future__ import annotations
