"""One published number other than a curve, and what it takes to run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FctCase"]

Compare = Literal["near", "most", "least"]
_US: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FctCase:
    """One published number and the run that should give it.

    Attributes:
        fabric: A network of `validate_fct_setups`.
        scheme: Settings of `validate_fct_setups`.
        compare: Whether the published number is to be met, or is the most or the least.
        tolerance_pct: How near is near.
        bound_pct: What it is held to: more than the tolerance where a gap is known.
        seen: Whether the number was read in its source.
        core_min: Minutes of a core that it takes; 0: seconds.
    """

    case: str
    fabric: str
    scheme: str
    pattern: str
    num_flows: int
    size_bytes: int
    num_paths: int
    published: float
    unit: str
    compare: Compare
    tolerance_pct: float
    bound_pct: float
    seen: str
    source: str
    core_min: float = 0.0

    @property
    def expected_ps(self) -> int:
        """When it will have ended, if it ends as published; 0 where that is not known."""
        return round(self.published * _US) if self.unit == "us" else 0
