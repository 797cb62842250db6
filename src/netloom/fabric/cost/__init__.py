"""What a network costs: racks on a floor, cables by length, a bill of materials, power."""

from __future__ import annotations
