"""Benchmarks: each prints netloom's time beside a peer's on the same job, in one process."""

from __future__ import annotations
