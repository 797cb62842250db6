"""Which chip for this job: what changed forwarding and scheduling buys."""

from __future__ import annotations
