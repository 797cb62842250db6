"""Several jobs on one fabric: start offsets, priorities by intensity, windows by progress."""

from __future__ import annotations
