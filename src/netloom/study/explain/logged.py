"""What a training program logs about its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LoggedSteps", "Timer"]

WARM_UP_STEPS: Final = 2  # compilation, autotuning and the first communicators


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """One timer, in seconds a step: the least and the most of all ranks.

    Attributes:
        ranks_s: Of each rank, where the log has them all (``--timing-log-option all``).
    """

    min_s: float
    max_s: float
    ranks_s: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSteps:
    """What a log says.

    Attributes:
        steps_s: Each logged iteration, in order.
        timers: The median of each timer over what was logged, by its name.
    """

    steps_s: tuple[float, ...]
    timers: Mapping[str, Timer]

    @property
    def step_s(self) -> float:
        """The median, without the first iterations where more follow."""
        return median(self.steps_s[WARM_UP_STEPS:] or self.steps_s)
