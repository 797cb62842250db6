"""Findings as text: the suspects, most certain first, with their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.ops.locate.findings import Finding

__all__ = ["findings_text"]


def findings_text(findings: Sequence[Finding], *, num_flows: int) -> RenderableType:
    """Return what ``netloom locate`` prints."""
    if not findings:
        return Text(f"Nothing is broken that {num_flows:,} flows could tell.", style="green")
    return Group(*(_finding(rank, one) for rank, one in enumerate(findings, start=1)))


def _finding(rank: int, one: Finding) -> RenderableType:
    head = Text.assemble(
        (f"{rank}. {one.part}", "bold"), f": {one.kind}, ", (f"{one.confidence:.0%} sure", "bold")
    )
    lines = [*one.evidence, f"hurts {len(one.hurts):,} GPUs"]
    if one.predicted_gain > 0:
        lines.append(f"mending it saves {one.predicted_gain:.1%} of their flows' time")
    lines += [f"or {part} ({share:.0%})" for part, share in one.rivals if share >= 0.01]
    body = (Padding(Text(f"- {line}"), (0, 0, 0, 3)) for line in lines)
    return Group(head, *body)
