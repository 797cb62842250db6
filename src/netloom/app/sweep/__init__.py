"""Sweeps on this machine or on a Dask cluster."""

from __future__ import annotations
