"""NVUE of Cumulus Linux."""

from __future__ import annotations
