"""What does a step look like as execution traces?"""

from __future__ import annotations
