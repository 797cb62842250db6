"""How many switches and cables does a network take?"""

from __future__ import annotations

from netloom.study.size.request import SizingRequest
from netloom.study.size.sizing import Sizing, size

__all__ = ["Sizing", "SizingRequest", "size"]
