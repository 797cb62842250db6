"""Leave one machine out: constants refitted on the other machines predict it.

The model's fit is registered in :data:`FIT`; without one nothing is refitted and the column of
the table stays empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from netloom.validation.collectives.machines import machine_of
from netloom.validation.collectives.refit import refit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from netloom.parts.load import Catalog
    from netloom.validation.collectives.measurement import Measurement

__all__ = ["FIT", "Refit", "each_left_out"]


class Refit(Protocol):
    """Fits the model's fitted constants to rows, for as long as the context lasts.

    Inside the context, predictions on the catalogue that it yields use constants that only *rows*
    were taken for; on leaving it everything is as before.
    """

    def __call__(
        self, rows: Sequence[Measurement], catalog: Catalog, /
    ) -> AbstractContextManager[Catalog]:
        """Return the context."""


FIT: Refit | None = refit
Row = TypeVar("Row")


def each_left_out(
    rows: Sequence[Measurement],
    catalog: Catalog,
    fit: Refit,
    score: Callable[[Measurement, Catalog], Row],
) -> Iterator[Row]:
    """Yield *score* of each row, by constants fitted to the rows of all other machines."""
    machines = dict.fromkeys(map(machine_of, rows))
    for machine in machines:
        others = [row for row in rows if machine_of(row) != machine]
        with fit(others, catalog) as refitted:
            for row in rows:
                if machine_of(row) == machine:
                    yield score(row, refitted)
