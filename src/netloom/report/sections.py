"""What a page consists of: an answer, then tables, figures and lists.

Every page is made of these and drawn by one template, so that all have the same order, captions
and behaviour: docs/decisions/0005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.report.charts import Figure

__all__ = [
    "AnswerBox",
    "Fold",
    "Gallery",
    "HtmlTable",
    "Item",
    "Listing",
    "Page",
    "Section",
    "doubts_fold",
    "trust_fold",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A line of a list.

    Attributes:
        text: What it says.
        name: Of what; in bold before it.
        tag: A word in a box before it.
        note: More, in a softer colour behind it.
        below: Lines of a list under it.
    """

    text: str = ""
    name: str = ""
    tag: str = ""
    note: str = ""
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A list that is shown when asked for; print shows it always."""

    summary: str
    items: tuple[Item, ...]
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBox:
    """What was asked for, first on the page.

    Attributes:
        headline: The answer in a sentence.
        heading: Above it.
        lines: Sentences below it.
        reasons: A list below those.
        tags: Settings, as names and values.
        notes: Sentences in a softer colour.
        folds: What to show when asked for.
    """

    headline: str
    heading: str = ""
    lines: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    folds: tuple[Fold, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlTable:
    """Rows under headings; the first cell of a row names it.

    Attributes:
        title: Above it.
        caption: What a reader must know to read it.
        headings: One a column.
        rows: Cells as text.
        marked: Rows that stand out.
        is_words: Cells hold sentences rather than numbers.
        indents: How deep each row's name is set in, where rows form a tree.
        notes: Sentences below it.
        folds: What to show when asked for.
    """

    kind: ClassVar[str] = "table"
    title: str
    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: frozenset[int] = frozenset()
    is_words: bool = False
    indents: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    folds: tuple[Fold, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """Figures and half-width tables beside one another, as many as fit."""

    kind: ClassVar[str] = "gallery"
    figures: tuple[Figure, ...] = ()
    tables: tuple[HtmlTable, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list with a title."""

    kind: ClassVar[str] = "listing"
    title: str
    items: tuple[Item, ...] = ()
    folds: tuple[Fold, ...] = ()
    notes: tuple[str, ...] = ()


Section = HtmlTable | Gallery | Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page.

    Attributes:
        title: What was asked, of what.
        subtitle: Below it.
        answer: First.
        sections: In their order.
        notes: Below the subtitle.
    """

    title: str
    subtitle: str = ""
    answer: AnswerBox | None = None
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()


def doubts_fold(doubts: Sequence[str], *, of: str = "") -> tuple[Fold, ...]:
    """Return the doubts of a result to fold under it; none where there are none."""
    if not doubts:
        return ()
    where = f" {of}" if of else ""
    count = f"{len(doubts)} doubt{'' if len(doubts) == 1 else 's'}{where}"
    items = tuple(Item(text=doubt) for doubt in doubts)
    return (Fold(summary=f"{count}: outside the range checked against measurements", items=items),)


def trust_fold(sharing: Iterable[tuple[str, Sequence[str]]]) -> Fold:
    """Return how far to trust each result, those that share all doubts together."""
    items = tuple(
        Item(name=f"{names}:", below=tuple(doubts))
        if doubts
        else Item(name=f"{names}:", text="inside the range checked against measurements.")
        for names, doubts in sharing
    )
    return Fold(summary="How far to trust each", items=items)
