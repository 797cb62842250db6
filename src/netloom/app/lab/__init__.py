"""Labs: a scenario's fabric, live on this machine."""

from __future__ import annotations
