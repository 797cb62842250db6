"""How a command shows its result: as text, JSON, a page, or the reasons of a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from netloom.cli.exits import Exit
from netloom.cli.options import Output
from netloom.cli.output import announce, emit_json
from netloom.results.condition import parse_condition
from netloom.results.plain import to_plain
from netloom.results.write import write_atomically

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.provenance import Why

__all__ = ["show", "verdict"]


class Result(Protocol):
    """A result."""

    def to_json(self) -> dict[str, Any]:
        """Return its stable keys."""


def show(
    found: Result,
    output: Output,
    text: Callable[[], RenderableType],
    *,
    page: Callable[[], str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> int:
    """Write the page and print the result as *output* asks; return the exit code.

    Args:
        found: What the command found.
        output: What was asked for.
        text: Makes what people read.
        page: Makes the page.
        more: Keys of the JSON that the result itself has not.
    """
    report: Path | None = getattr(output, "report", None)
    if report is not None and page is not None:
        write_atomically(report, page())
    why: str | None = getattr(output, "why", None)
    tree = None if why is None else _reasons(found, why)
    result = found.to_json() | dict(more or {}) if output.json or output.fail_if else {}
    code = verdict(output, result)  # a field that is not there is an error in place of the result
    if output.json:
        emit_json(result if tree is None else tree)
    else:
        _print(text() if tree is None else _tree(tree))
        if report is not None:
            print(f"\nReport: {report}")
    return code


def _print(said: RenderableType) -> None:
    """Print lines as they are, which programs read, and all else as wide as the terminal."""
    if isinstance(said, str):
        print(said)
    else:
        from rich.console import Console  # noqa: PLC0415  (JSON and lines do without)

        Console().print(said)


def _tree(why: Why) -> RenderableType:
    from netloom.report.why import why_tree  # noqa: PLC0415  (rich)

    return why_tree(why)


def verdict(output: Output, result: Mapping[str, Any]) -> int:
    """Return 1 where a condition of ``--fail-if`` holds of *result*, and say which."""
    if not output.fail_if:
        return Exit.OK
    plain = to_plain(result)
    held = [one for one in map(parse_condition, output.fail_if) if one.holds(plain)]
    for one in held:
        announce(f"netloom: --fail-if {one.text}: it is {one.field(plain)}")
    return Exit.VERDICT if held else Exit.OK


def _reasons(found: Result, field: str) -> Why:
    why: Callable[[str], Why] = found.why  # type: ignore[attr-defined]
    return why(field)
