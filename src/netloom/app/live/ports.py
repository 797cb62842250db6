"""State and load of every cable at a time, from what its ports said; kept while it holds.

A fabric of 98,304 cables has 196,608 ports. Only ports that are not as usual become rows, and what
was found for a time is kept, so that pages that ask for the same moment do not read it again.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.app.live.states import CableState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.app.live.states import CellMap
    from netloom.ops.observe.past import Past

__all__ = ["LOAD_UNKNOWN", "PortLoads", "PortStates"]

LOAD_UNKNOWN: Final = 0
LOAD_FULL: Final = 255  # 1 is idle
MAX_KEPT: Final = 64  # moments; two bytes a cable each
LINK_UP: Final = "link_up"
ADMIN_UP: Final = "admin_up"
# What one port sent its peer received: the second says something new only where one is not seen.
COUNTERS: Final = ("sent_bytes", "received_bytes")
UP: Final = 1.0


class _CellSeries:
    """Which cell each series of a metric belongs to."""

    def __init__(self, past: Past, cells: CellMap, metric: str) -> None:
        rows = [row for row in past.series_of(metric) if row[1] in cells.cell_of_port]
        self.cells = np.array([cells.cell_of_port[part] for _, part, _ in rows], dtype=np.int64)
        self.source = np.array([source for _, _, source in rows], dtype=np.int64)
        self.at = {number: index for index, (number, _, _) in enumerate(rows)}

    def cells_of(self, numbers: list[int]) -> NDArray[np.int64]:
        """Return the cells of these series; those of ports without a cell are left out."""
        return self.cells[[self.at[number] for number in numbers if number in self.at]]


class _PortHistory(ABC):
    """One byte a cell by time, read once for each moment; safe to use from several threads."""

    def __init__(self, past: Past, cells: CellMap) -> None:
        self._past, self._cells = past, cells
        self._lock = threading.Lock()
        self._written = -1
        self._version = (-1, -1)
        self._series: dict[str, _CellSeries] = {}
        self._moments: OrderedDict[float, NDArray[np.uint8]] = OrderedDict()

    def at(self, at_s: float) -> NDArray[np.uint8]:
        """Return the byte of every cell at a time."""
        with self._lock:
            self._forget_old_series()
            if at_s not in self._moments:
                self._moments[at_s] = self._read(at_s)
            self._moments.move_to_end(at_s)
            while len(self._moments) > MAX_KEPT:
                self._moments.popitem(last=False)
            return self._moments[at_s]

    @abstractmethod
    def _read(self, at_s: float) -> NDArray[np.uint8]:
        """Return the same from the store."""

    def _forget_old_series(self) -> None:
        written = self._past.data_version()
        if written == self._written:
            return
        self._written = written
        version = self._past.series_version()
        if version != self._version:
            self._version = version
            self._series.clear()
            self._moments.clear()

    def _of(self, metric: str) -> _CellSeries:
        if metric not in self._series:
            self._series[metric] = _CellSeries(self._past, self._cells, metric)
        return self._series[metric]


class PortStates(_PortHistory):
    """The state of every cell; unknown where no port says."""

    def _read(self, at_s: float) -> NDArray[np.uint8]:
        found = np.full(len(self._cells.layout.cables), CableState.UNKNOWN, dtype=np.uint8)
        series = self._of(LINK_UP)
        unusual = self._past.unlike(LINK_UP, UP, at_s)
        known = np.ones(len(series.cells), dtype=bool)
        silent = [series.at[one] for one, value in unusual if value is None and one in series.at]
        known[silent] = False
        found[series.cells[known]] = CableState.UP
        found[series.cells_of([one for one, value in unusual if value == 0])] = CableState.DOWN
        shut = self._of(ADMIN_UP)
        if len(shut.cells):
            away = [one for one, value in self._past.unlike(ADMIN_UP, UP, at_s) if value == 0]
            found[shut.cells_of(away)] = CableState.DRAINED
        return found


class PortLoads(_PortHistory):
    """The load of every cell between the last two looks before a time.

    It is that of the busier direction: 0 for unknown, 1 for idle to 255 for the full rate.
    """

    def __init__(self, past: Past, cells: CellMap) -> None:
        super().__init__(past, cells)
        self._asked: dict[float, threading.Thread] = {}

    def soon(self, at_s: float, *, wait_s: float) -> NDArray[np.uint8] | None:
        """Return the loads if they are known after *wait_s*; they are read on another thread."""
        found = self._moments.get(at_s)
        if found is not None:
            return found
        thread = self._asked.get(at_s)
        if thread is None:
            thread = threading.Thread(target=self._ask, args=(at_s,), daemon=True)
            self._asked[at_s] = thread
            thread.start()
        thread.join(wait_s)
        return self._moments.get(at_s)

    def _ask(self, at_s: float) -> None:
        try:
            self.at(at_s)
        finally:
            self._asked.pop(at_s, None)

    def _read(self, at_s: float) -> NDArray[np.uint8]:
        share = np.full(len(self._cells.layout.cables), -1.0)
        for metric in COUNTERS:
            missing = share < 0
            if not missing.any():
                break
            found = self._shares(metric, at_s)
            share = np.where(missing, found, np.maximum(share, found))
        level = 1 + np.rint(np.clip(share, 0.0, 1.0) * (LOAD_FULL - 1))
        return np.where(share < 0, LOAD_UNKNOWN, level).astype(np.uint8)

    def _shares(self, metric: str, at_s: float) -> NDArray[np.float64]:
        """Return the share of its rate that each cell carried; -1 where it is not known."""
        series, rates = self._of(metric), self._cells.rate_bps
        used = np.full(len(rates), -1.0)
        for source in np.unique(series.source).tolist():
            polls = self._past.good_polls(source, at_s)
            if len(polls) < 2:
                continue
            still = series.source == source
            grown = self._past.increases(metric, source, polls[1], polls[0])
            rows = [(series.at[n], more, took) for n, more, took in grown if n in series.at]
            still[[index for index, _, _ in rows]] = False
            np.maximum.at(used, series.cells[still], 0.0)
            known = [row for row in rows if row[1] is not None]
            cells = series.cells[[index for index, _, _ in known]]
            bps = np.array([8 * (more or 0.0) / took for _, more, took in known])
            np.maximum.at(used, cells, bps / rates[cells] if known else bps)
        return used
