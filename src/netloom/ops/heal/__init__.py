"""From findings to plans, from plans to acts: pure; whoever can act hands in the means."""

from __future__ import annotations
