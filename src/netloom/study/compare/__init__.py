"""Which network for this job?"""

from __future__ import annotations

from netloom.study.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
