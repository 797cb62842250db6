"""The file of a sweep, and the points that it asks for."""

from __future__ import annotations
