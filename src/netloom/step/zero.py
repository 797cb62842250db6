"""Where software can divide weights over sets of ranks or send them in fewer bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.provenance import Validity

if TYPE_CHECKING:
    from netloom.step.practice import Practice, ZeroWay
    from netloom.workload.placement import Layout

__all__ = ["check_zero", "zero_validity"]


def check_zero(plan: Layout, practice: Practice) -> None:
    """Refuse what the software does not have.

    Raises:
        SpecError: it names the key, and software that has it.
    """
    for way, key in _ways(plan):
        if way not in practice.zero_ways:
            able = "deepspeed" if way != "sets" else "torchtitan, deepspeed or megatron-bridge"
            raise SpecError(
                key=f"job.parallel.{key}",
                what=f"{practice.title} has no such thing",
                remedy=f"leave it out, or name other software in job.software, such as {able}",
            )


def _ways(plan: Layout) -> list[tuple[ZeroWay, str]]:
    asked: list[tuple[ZeroWay, str, bool]] = [
        ("sets", "zero_ranks", plan.zero_ranks > 0),
        ("second set", "zero_backward_ranks", plan.zero_backward_ranks > 0),
        ("compressed", "zero_compress", bool(plan.zero_compress)),
    ]
    return [(way, key) for way, key, is_asked in asked if is_asked]


def zero_validity(plan: Layout) -> Validity:
    """Return the doubts about what no measured step had."""
    doubts = [f"No step with {key} was compared." for _, key in _ways(plan)]
    if plan.zero_compress:
        doubts.append("The time to pack and unpack what is sent in fewer bits is not counted.")
    return Validity(tuple(doubts))
