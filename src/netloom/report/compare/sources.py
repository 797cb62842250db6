"""The sources that the numbers of a result rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.study.compare.explain import explain_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.provenance import Source, Why
    from netloom.study.compare.comparison import Comparison

__all__ = ["cited_sources"]


def cited_sources(comparison: Comparison) -> list[Source]:
    """Return every source behind *comparison*, each once, least certain last."""
    order = ("measured", "published", "secondary", "derived", "recalled", "assumed")
    found = dict.fromkeys(
        source for contender in comparison.contenders for source in _walk(explain_all(contender))
    )
    return sorted(found, key=lambda source: (order.index(source.confidence), source.citation))


def _walk(why: Why) -> Iterator[Source]:
    if why.source is not None:
        yield why.source
    for part in why.parts:
        yield from _walk(part)
