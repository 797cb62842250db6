"""What is the best way to divide a job, and the best cluster for it?"""

from __future__ import annotations

from netloom.study.plan.planning import plan

__all__ = ["plan"]
