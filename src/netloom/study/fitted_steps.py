"""The measured steps that parameters were taken from, and those that contradict themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.study.measured_steps import MeasuredStep

__all__ = ["FITTED", "contradicted"]

FITTED: Final[frozenset[str]] = frozenset()


def contradicted(row: MeasuredStep) -> tuple[str, ...]:
    """Return how the neighbours of *row* in its own table contradict it; empty when they do not."""
    found = (
        "vtrain" in row.source.lower()
        and row.shape.get("hidden") == 8192
        and row.num_gpus == 512
        and row.degrees.get("tp") == 2
    )
    if not found:
        return ()
    doubt = (
        "vTrain's 39B runs on 512 GPUs with tensor 2 are 17 to 36 % slower than its own with "
        "tensor 1, 4 and 8; interference is suspected"
    )
    return (doubt,)
