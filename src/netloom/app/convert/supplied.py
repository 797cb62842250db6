"""What a user adds to a file that does not say it, or says of it otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netloom.errors import Problem, Where

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Supplied", "unsaid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplied:
    """Values that win over the file's.

    Attributes:
        gpus: How many GPUs.
        node: Catalogue name of the node.
        technology: Catalogue name of the network.
        model: Catalogue name of the model, or the path of its config.json.
        vocabulary: Tokens in the vocabulary, before padding.
        sequence: Tokens in a sequence.
        global_batch: Sequences in a step.
        micro_batch: Sequences that a stage works on at a time.
        recompute: What is computed again in the backward pass.
        software: Name of the practice; switches stay as far as the file states them.
        variables: Variables of a shell script.
        out: The scenario's file; the model's goes beside it.
    """

    gpus: int | None = None
    node: str | None = None
    technology: str | None = None
    model: str | None = None
    vocabulary: int | None = None
    sequence: int | None = None
    global_batch: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None
    software: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    out: Path | None = None


def unsaid(option: str, what: str, remedy: str) -> Problem:
    """Return the problem that a file does not say *what*, which *option* would."""
    return Problem(where=Where(option=option), what=f"the file does not say: {what}", remedy=remedy)
