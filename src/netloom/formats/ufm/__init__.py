"""NVIDIA UFM Enterprise."""

from __future__ import annotations
