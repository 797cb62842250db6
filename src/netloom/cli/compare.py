"""``netloom compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

__all__ = ["compare"]


def compare(
    scenario: Path | None = None,
    *,
    json: bool = False,
    report: Path | None = None,
    why: str | None = None,
    technologies: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
) -> None:
    """Compare network technologies for one cluster and job, and recommend one.

    Args:
        scenario: A scenario file; the built-in example (Llama 3.1 405B on 16,384 H100) without.
        json: Print JSON; keys are documented in docs/json.md.
        report: Write a self-contained HTML page to this file.
        why: Explain one number: FIELD, or FIELD:TECHNOLOGY, such as step_time_s:rocev2-400g.
        technologies: Compare these instead of the scenario's own list.
    """
