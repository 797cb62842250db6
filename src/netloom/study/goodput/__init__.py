"""How much of the time does a job progress?"""

from __future__ import annotations

from netloom.study.goodput.model import Goodput
from netloom.study.goodput.uptime import Uptime, goodput

__all__ = ["Goodput", "Uptime", "goodput"]
