"""``netloom diff``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from netloom.cli.options import Output, OwnParts
from netloom.cli.show import show
from netloom.parts.load import load_catalog
from netloom.study.diff import Diff, ValueDifference
from netloom.study.diff import diff as differences_of

__all__ = ["diff"]

MAX_SHOWN = 200


def diff(
    a: Path,
    b: Path,
    /,
    *,
    own: OwnParts = None,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Say what differs between two scenarios or two results, and what it does to the step.

    Args:
        a: A scenario file, or a file that --json printed.
        b: Another of the same kind.
    """
    found = differences_of(a, b, None if own is None else load_catalog(own))
    return show(found, output, lambda: Group(*_text(found)))


def _text(found: Diff) -> Iterator[RenderableType]:
    if not found.differences:
        yield Text(f"The two {found.kind} are the same.")
        return
    yield _table("What differs", found.differences[:MAX_SHOWN])
    rest = len(found.differences) - MAX_SHOWN
    if rest > 0:
        yield Text(f"and {rest:,} more; --json has them all")
    if found.effects:
        yield _table("What it does", found.effects)
    for name, reason in found.refused.items():
        yield Text(f"{name} cannot be predicted: {reason}")


def _table(title: str, rows: Sequence[ValueDifference]) -> Table:
    table = Table("field", "a", "b", "change", title=title, title_justify="left", box=None)
    for one in rows:
        change = "" if one.change is None else f"{one.change:+.1%}"
        table.add_row(Text(one.field), _shown(one.a), _shown(one.b), change)
    return table


def _shown(value: object) -> Text:
    return Text(
        "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    )
