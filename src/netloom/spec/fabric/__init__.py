"""What a scenario says of its fabric beside technology and topology."""

from __future__ import annotations
