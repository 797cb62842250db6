"""What do the operators of this GPU take?"""

from __future__ import annotations
