"""Who sends what to whom in uet-htsim's validation runs (connection_matrices/), by pattern."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.validation.fct.setups import settings_of_case
from netloom.workload.dag import Dag, Label, to_transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from netloom.validation.fct.case import FctCase
    from netloom.validation.fct.measures import RunContext

__all__ = ["MATRICES"]

_US: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matrix:
    """Transfers, of the case's size or a share of it.

    Attributes:
        start_us: Of each; 0 where there are none.
        share: Of the size, each; 1 where there are none.
        first_packets: Of a window that senders keep (main_uec.cpp -cwnd); 0: the largest.
        counts: Which transfers' last end is the number; empty: all.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    start_us: tuple[int, ...] = ()
    share: tuple[float, ...] = ()
    first_packets: int = 0
    counts: tuple[int, ...] = ()


# From hosts 2 and 3 to ten each, of which one is host 0, and from host 1 to host 0 alone.
_OUTCAST: Final = _Matrix(
    source=(1, *(2,) * 10, *(3,) * 10), target=(0, 0, *range(4, 13), 0, *range(13, 22))
)
_ALL: Final[Mapping[str, _Matrix]] = {
    "bidir": _Matrix(source=(0, 13), target=(13, 0)),  # bidir.cm
    # perm_16n_16c_2MB.cm, as REPS' artifact has it
    "permutation-16": _Matrix(
        source=(13, 1, 6, 2, 10, 15, 8, 14, 5, 4, 12, 0, 9, 7, 3, 11),
        target=(6, 4, 0, 13, 5, 1, 14, 2, 15, 12, 11, 8, 7, 9, 10, 3),
    ),
    # incast_3-1_overlapped.tm, run with -cwnd 50
    "overlapped": _Matrix(
        source=(127, 95, 61),
        target=(0, 0, 0),
        start_us=(0, 40, 40),
        share=(1, 1 / 8, 1 / 8),
        first_packets=50,
    ),
    "outcast": _OUTCAST,  # outcast_incast.cm
    "outcast-innocent": replace(_OUTCAST, counts=(0,)),
}


def _measure(matrix: _Matrix) -> Callable[[FctCase, RunContext, np.random.Generator], float]:
    def measured(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
        """Return the last completion in us, or packets sent again."""
        share = np.array(matrix.share or (1.0,) * len(matrix.source))
        size_bytes = np.round(share * case.size_bytes).astype(np.int64)
        dag = Dag.of(np.array(matrix.source), np.array(matrix.target), size_bytes)
        transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
        if matrix.start_us:
            transfers = replace(transfers, start_ps=np.array(matrix.start_us, np.int64) * _US)
        settings = settings_of_case(case, bench.wiring)
        if matrix.first_packets and case.scheme == "nscc":
            settings = replace(settings, parameters={"first_packets": matrix.first_packets})
        delivery = bench.run(transfers, settings)
        if case.unit == "packets again":
            return float(delivery.counters["retransmissions"])
        return float(delivery.finish_ps[list(matrix.counts) or slice(None)].max()) / _US

    return measured


MATRICES: Final = {name: _measure(matrix) for name, matrix in _ALL.items()}
