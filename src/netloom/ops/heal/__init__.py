"""From findings to plans, from plans to acts: pure; what acts is an argument."""

from __future__ import annotations
