from __future__ import annotations

from netloom.study.compare.scaling import ScalingPoint, curve


def points(mfu: dict[int, float], *, whole_from: int = 0) -> list[ScalingPoint]:
    return [
        ScalingPoint(num_gpus=num_gpus, mfu=share, whole=num_gpus >= whole_from)
        for num_gpus, share in mfu.items()
    ]


def test_the_limit_lies_where_the_curve_crosses_nine_tenths() -> None:
    """From 0.50 at 64 to 0.40 at 1,024 the floor 0.45 is half way: sqrt(64 x 1024) = 256."""
    found = curve(points({64: 0.50, 1024: 0.40}), ended_by="range")
    assert (found.limit_gpus, found.limit_reason) == (256, "efficiency")


def test_a_curve_that_never_falls_is_limited_by_what_ended_it() -> None:
    found = curve(points({64: 0.5, 128: 0.49}), ended_by="network")
    assert (found.limit_gpus, found.limit_reason) == (128, "network")


def test_a_cut_model_is_drawn_but_does_not_set_the_standard() -> None:
    """At 8 GPUs the cut model runs at 0.9; the whole one's 0.5 is what 0.46 is measured by."""
    found = curve(points({8: 0.9, 64: 0.5, 128: 0.46}, whole_from=64), ended_by="range")
    assert (found.limit_gpus, found.limit_reason) == (128, "range")
    assert len(found.points) == 3


def test_a_curve_without_a_whole_model_has_no_limit() -> None:
    assert curve(points({8: 0.5}, whole_from=64), ended_by="range").limit_gpus is None
