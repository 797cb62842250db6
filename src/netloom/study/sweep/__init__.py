"""What is the answer over many scenarios?"""

from __future__ import annotations

from netloom.study.sweep.result import Sweep

__all__ = ["Sweep"]
