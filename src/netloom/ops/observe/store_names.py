"""What the series of a store are called: numbers that the tables of values go by.

A series is a metric of a part by a source. Thousands of ports have the same metrics, so a part's
name is written once, with its *shape*: the set of its metrics. The number of a series follows from
those of part and metric. Files of version 2 have a table with a row for each series instead.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, Protocol

from netloom.errors import OutputError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

__all__ = ["SERIES", "PackedNames", "SeriesNames", "TabledNames"]

PER_PART: Final = 1024  # numbers that a part has for its metrics; the view below has it too
SERIES: Final = """
CREATE TABLE place (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name TEXT NOT NULL,
                    shape INTEGER NOT NULL, UNIQUE (name, source)) STRICT;
CREATE TABLE metric (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE shape (id INTEGER NOT NULL, metric INTEGER NOT NULL,
                    PRIMARY KEY (id, metric)) STRICT, WITHOUT ROWID;
CREATE VIEW series (id, source, part, metric) AS
  SELECT place.id * 1024 + shape.metric, place.source, place.name, metric.name
  FROM metric JOIN shape ON shape.metric = metric.id JOIN place ON place.shape = shape.id;
"""


class SeriesNames(Protocol):
    """How a file keeps what its series are called."""

    def add(self, source: int, part: str, metric: str) -> int:
        """Return the number of a new series; it is in the file after :meth:`flush`."""

    def flush(self) -> None:
        """Write what was added, in the transaction that is open."""

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove series, in the transaction that is open."""


class TabledNames:
    """A row for each series, as files of version 2 have them."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def add(self, source: int, part: str, metric: str) -> int:
        """Write a series and return its number."""
        made = self._file.execute(
            "INSERT INTO series (source, part, metric) VALUES (?, ?, ?)", (source, part, metric)
        )
        assert made.lastrowid is not None
        return made.lastrowid

    def flush(self) -> None:
        """Do nothing: it is written."""

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove the rows."""
        self._file.executemany("DELETE FROM series WHERE id = ?", [(n,) for n in numbers])


class PackedNames:
    """Parts with their shapes, as files of version 3 have them."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file
        rows = file.execute("SELECT id, source, name, shape FROM place").fetchall()
        self._places = {(source, name): number for number, source, name, _ in rows}
        self._metrics: dict[str, int] = dict(file.execute("SELECT name, id FROM metric").fetchall())
        self._members: dict[int, set[int]] = defaultdict(set)
        for number, metric in file.execute("SELECT id, metric FROM shape"):
            self._members[number].add(metric)
        self._shapes = {frozenset(some): number for number, some in self._members.items()}
        self._of = {number: frozenset(self._members[shape]) for number, _, _, shape in rows}
        self._names = {number: (source, name) for number, source, name, _ in rows}
        self._last = max(self._names, default=0)
        self._changed: set[int] = set()

    def add(self, source: int, part: str, metric: str) -> int:
        """Return the number of a new series.

        Raises:
            OutputError: there are too many metrics.
        """
        place = self._places.get((source, part))
        if place is None:
            place = self._last = self._last + 1
            self._places[source, part] = place
            self._names[place] = (source, part)
            self._of[place] = frozenset()
        if metric not in self._metrics:
            self._add_metric(metric)
        number = self._metrics[metric]
        self._of[place] |= {number}
        self._changed.add(place)
        return place * PER_PART + number

    def flush(self) -> None:
        """Write the parts that are new or have new metrics."""
        rows = [
            (place, *self._names[place], self._shape(self._of[place]))
            for place in sorted(self._changed)
        ]
        self._file.executemany(
            "INSERT INTO place VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "shape = excluded.shape",
            rows,
        )
        self._changed.clear()

    def remove(self, numbers: Iterable[int]) -> None:
        """Take metrics from their parts; a part without any goes too."""
        for number in numbers:
            place, metric = divmod(number, PER_PART)
            self._of[place] -= {metric}
            self._changed.add(place)
        empty = [place for place in self._changed if not self._of[place]]
        self._file.executemany("DELETE FROM place WHERE id = ?", [(place,) for place in empty])
        for place in empty:
            self._changed.discard(place)
            del self._of[place], self._places[self._names.pop(place)]
        self.flush()

    def _add_metric(self, name: str) -> None:
        number = len(self._metrics) + 1
        if number >= PER_PART:
            raise OutputError(
                what=f"more than {PER_PART - 1} metrics", remedy="collect fewer kinds of numbers"
            )
        self._file.execute("INSERT INTO metric VALUES (?, ?)", (number, name))
        self._metrics[name] = number

    def _shape(self, members: frozenset[int]) -> int:
        known = self._shapes.get(members)
        if known is None:
            known = self._shapes[members] = max(self._shapes.values(), default=0) + 1
            self._file.executemany(
                "INSERT INTO shape VALUES (?, ?)", [(known, one) for one in sorted(members)]
            )
        return known
