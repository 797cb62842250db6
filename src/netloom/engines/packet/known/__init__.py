"""What of a run is known without moving it: equal components, and messages that are alone."""

from __future__ import annotations
