"""Healing: plans carried out, verified and logged."""

from __future__ import annotations
