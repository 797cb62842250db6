"""File formats by name: what they look like, and what reads and writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMATS", "Format", "detect", "formats_of"]

HEAD_CHARS: Final = 1 << 16
_HELD: Final = {
    "case": "a network and its flows",
    "job": "a training job",
    "measurement": "measurements",
    "recipe": "a framework's training job",
    "trace": "a trace",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One file format.

    Attributes:
        name: What it is called here.
        title: What people call it.
        family: Whose it is: a folder of formats/, or a package of your own.
        holds: What such a file holds; formats of one kind are read alike:

            - ``case``: a network and its flows; ``parse(CaseTexts)`` gives an ImportedCase
            - ``cables``: a network as built; ``parse(text, naming)`` gives a Built
            - ``inventory``: ``render(site)`` gives the content of files by their path
            - ``measurement``: what a measuring program printed; ``parse(text or lines)``. A log
              may hold several: ask each of them whether it is in
            - ``recipe``: a training job as a framework is told of it; ``parse(RecipeText)`` gives a
              Recipe
            - ``trace``, ``job``, ``routes``, ``metrics``, ``neighbours``: as *parse* says
        suffixes: What names of such files end with; empty where any will do.
        sniff: Whether a text begins as such a file does.
        parse: Returns what a file says; None where netloom only writes it.
        render: Returns a file; None where netloom only reads it.
    """

    name: str
    title: str
    family: str
    holds: str
    suffixes: tuple[str, ...]
    sniff: Callable[[str], bool]
    parse: Callable[..., Any] | None
    render: Callable[..., Any] | None


FORMATS: Final = Register[Format](
    kind="file format",
    traits=Format,
    home="netloom.formats.entries",
    entry_point_group="netloom.formats",
)


def formats_of(holds: str) -> tuple[Format, ...]:
    """Return the formats that hold such a thing, in the order of their names."""
    return tuple(one for one in FORMATS.entries() if one.holds == holds)


def detect(text: str, *, name: str, holds: str) -> Format:
    """Return the format of a file: by the end of its name, else by how it begins.

    Args:
        text: Its content.
        name: Its name; it opens the message.
        holds: What it should hold.

    Raises:
        SpecError: it is none of those that hold that.
    """
    known = formats_of(holds)
    head = text[:HEAD_CHARS]
    for one in known:
        if one.suffixes and name.endswith(one.suffixes):
            return one
    for one in known:
        if one.sniff(head):
            return one
    titles = "; ".join(one.title for one in known)
    raise SpecError(
        what=f"{name}: not a file that holds {_HELD.get(holds, holds)}",
        remedy=f"bring one of: {titles}",
    )
