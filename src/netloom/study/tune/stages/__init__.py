"""Service levels for the classes of a training step: which order, and what each is worth."""

from __future__ import annotations
