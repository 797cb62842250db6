"""Which settings of switches and NICs suit a job, and whether they beat the default at all."""

from __future__ import annotations
