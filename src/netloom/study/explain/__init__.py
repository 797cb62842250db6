"""Why does a step take as long as it does?"""

from __future__ import annotations
