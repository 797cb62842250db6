"""What runs things: watch, locate, heal, lab, deploy, sweep. No printing, no HTTP."""

from __future__ import annotations
