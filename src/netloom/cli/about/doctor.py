"""``netloom doctor``."""

from __future__ import annotations

from collections.abc import Iterator

from netloom.app.doctor import Doctor
from netloom.app.doctor import doctor as examine
from netloom.cli.exits import Exit
from netloom.cli.options import Output
from netloom.cli.show import show

__all__ = ["doctor"]


def doctor(*, output: Output = Output()) -> int:  # noqa: B008  (frozen)
    """Say what is installed here, which commands can run, and what to install for the others.

    Exits with 1 when what every command needs is missing.
    """
    found = examine()
    code = show(found, output, lambda: "\n".join(_lines(found)))
    return code if found.ok else Exit.VERDICT


def _lines(found: Doctor) -> Iterator[str]:
    for one in found.installed:
        mark = "yes" if one.is_there else "no "
        rest = one.remedy if not one.is_there else ""
        said = "; ".join(text for text in (one.detail, rest) if text)
        yield f"{mark}  {one.name:<20} {said}".rstrip()
    yield ""
    for each in found.abilities:
        missing = f"lacks {', '.join(each.missing)}" if each.missing else "can run"
        yield f"netloom {each.command}: {missing}"
    yield "All other commands need nothing else." if found.ok else "Install what is missing first."
