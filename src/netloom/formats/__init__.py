"""Pure parse and render: one file a format, grouped by family."""

from __future__ import annotations
