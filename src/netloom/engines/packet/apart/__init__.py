"""Components of a run that share nothing: found, run side by side, and put together again."""

from __future__ import annotations
