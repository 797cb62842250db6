"""What the user asked for."""

from __future__ import annotations
