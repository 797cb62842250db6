"""How many switches and cables does a network take?"""

from __future__ import annotations

from netloom.study.size.request import Wish
from netloom.study.size.sizing import Sizing, size

__all__ = ["Sizing", "Wish", "size"]
