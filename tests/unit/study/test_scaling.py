from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from netloom.study.scaling import curve

if TYPE_CHECKING:
    from netloom.step.model import Step

Found = Callable[[int], "tuple[Step, bool] | None"]


@dataclass(frozen=True)
class Utilised:
    mfu: float


def steps(mfu: dict[int, float], *, whole_from: int = 0) -> Found:
    def step_at(num_gpus: int) -> tuple[Step, bool] | None:
        if num_gpus not in mfu:
            return None
        return cast("Step", Utilised(mfu[num_gpus])), num_gpus >= whole_from

    return step_at


def test_the_limit_lies_where_the_curve_crosses_nine_tenths() -> None:
    """From 0.50 at 64 to 0.40 at 1,024 the floor 0.45 is half way: sqrt(64 x 1024) = 256."""
    found = curve([64, 1024], steps({64: 0.50, 1024: 0.40}))
    assert (found.limit_gpus, found.limit_reason) == (256, "efficiency")


def test_a_curve_that_never_falls_is_limited_by_its_range() -> None:
    found = curve([64, 128], steps({64: 0.5, 128: 0.49}))
    assert (found.limit_gpus, found.limit_reason) == (128, "range")


def test_a_network_that_cannot_be_built_ends_the_curve() -> None:
    found = curve([64, 128, 256], steps({64: 0.5, 128: 0.49}))
    assert (found.limit_gpus, found.limit_reason) == (128, "network")
    assert [point.num_gpus for point in found.points] == [64, 128]


def test_a_cut_model_is_drawn_but_does_not_set_the_standard() -> None:
    """At 8 GPUs the cut model runs at 0.9; the whole one's 0.5 is what 0.46 is measured by."""
    found = curve([8, 64, 128], steps({8: 0.9, 64: 0.5, 128: 0.46}, whole_from=64))
    assert (found.limit_gpus, found.limit_reason) == (128, "range")
    assert len(found.points) == 3
