"""The order in which an exchange or a pipeline passes the sites, and over which spans."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.fabric.span.lines import BuiltSpan
    from netloom.step.across.exchange import AcrossShape

    Spans = tuple[BuiltSpan, ...]

__all__ = ["SiteWalk", "walk_of"]

MAX_ORDERED: Final = 7  # sites whose every order is tried; of more, the scenario's own


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteWalk:
    """A way past every site.

    Attributes:
        order: The sites, by name.
        shape: Whether it closes to a ring; an exchange goes up and down a tree otherwise.
        spans: Those it takes. Others carry nothing of the exchange.
        in_line: Whether a span leads from each site to the next, so that a pipeline can.
    """

    order: tuple[str, ...]
    shape: AcrossShape
    spans: Spans
    in_line: bool

    @property
    def rate_bps(self) -> float:
        """Payload of its slowest span, one direction."""
        return min(span.payload_bps for span in self.spans)

    @property
    def longest(self) -> BuiltSpan:
        """The span of most delay."""
        return max(self.spans, key=lambda span: span.latency.total_s)


def walk_of(names: Sequence[str], spans: Sequence[BuiltSpan]) -> SiteWalk:
    """Return the best ring past every site, or a tree where there is none or its spans are faster.

    Raises:
        SpecError: two spans join the same sites.
    """
    joins: dict[frozenset[str], BuiltSpan] = {}
    for number, span in enumerate(spans):
        if joins.setdefault(frozenset(span.spec.between), span) is not span:
            raise SpecError(
                key=f"spans[{number}].between",
                what=f"a second span joins {' and '.join(span.spec.between)}",
                remedy="make one span of them: add their waves, and give 'waves.skew' for routes "
                "of different lengths",
            )
    tree = _tree(names, joins)
    rings = [
        SiteWalk(order=order, shape="ring", spans=around, in_line=True)
        for order in _orders(names)
        if (around := _along(_closed(order), joins))
    ]
    ring = max(rings, key=_quality, default=None)
    return tree if ring is None or ring.rate_bps < tree.rate_bps else ring


def _quality(walk: SiteWalk) -> tuple[float, float]:
    return walk.rate_bps, -walk.longest.latency.total_s


def _orders(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the scenario's own order first."""
    yield tuple(names)
    if 2 < len(names) <= MAX_ORDERED:
        yield from permutations(names)


def _closed(order: tuple[str, ...]) -> tuple[str, ...]:
    """Return *order* and back to its first; two sites are a ring already."""
    return order if len(order) == 2 else (*order, order[0])


def _along(order: Sequence[str], joins: dict[frozenset[str], BuiltSpan]) -> Spans:
    """Return the spans from each site to the next; none where one is missing."""
    found = [joins.get(frozenset(pair)) for pair in pairwise(order)]
    taken = tuple(span for span in found if span is not None)
    return taken if len(taken) == len(found) else ()


def _tree(names: Sequence[str], joins: dict[frozenset[str], BuiltSpan]) -> SiteWalk:
    """Return the spans of most rate, then least delay, that join all sites without a circle."""
    group = {name: frozenset([name]) for name in names}
    kept: dict[frozenset[str], BuiltSpan] = {}
    for ends, span in sorted(
        joins.items(), key=lambda one: (-one[1].payload_bps, one[1].latency.total_s)
    ):
        first, second = (group[name] for name in ends)
        if first is not second:
            kept[ends] = span
            group |= dict.fromkeys(first | second, first | second)
    line = next((order for order in _orders(names) if _along(order, kept)), None)
    return SiteWalk(
        order=line or tuple(names),
        shape="tree",
        spans=tuple(kept.values()),
        in_line=line is not None,
    )
