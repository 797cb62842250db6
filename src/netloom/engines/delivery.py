"""What came of a run of transfers, whichever engine ran them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Columns", "Delivery"]

Columns = dict[str, "NDArray[np.generic]"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Delivery:
    """When each transfer started and ended, and what the network did meanwhile.

    Attributes:
        engine: ``flow`` or ``packet``.
        start_ps: When each transfer started; -1 when it never did.
        finish_ps: When each transfer's last byte had arrived and, where the transport
            acknowledges, the sender knew; -1 when it never did.
        simulated_ps: How far the run went.
        link_bytes: What each link carried, headers included.
        counters: Totals of the engine's own, such as ``events``, ``link_traversals``, ``marks``,
            ``drops``, ``pauses``.
        tables: Further observations, each a table of equally long columns, by name.
        partial: Whether the run was stopped before its end.
        stuck: Why it stopped by itself before its end: links that wait for one another in a circle
            (the table ``deadlock`` names them), or nothing that arrived any more.
        num_components: Sets of transfers that share nothing; each draws its own random numbers.
        num_parts: Simulations that these were run in, side by side.
        num_draws: Random numbers that the run took, beside those it was set up with.
        simulated_share: Of the payload, what was moved: equal parts of a run may stand for one
            another.
        notes: What a reader must know of how it was run.
    """

    engine: str
    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]
    simulated_ps: int
    link_bytes: NDArray[np.int64]
    counters: Mapping[str, int]
    tables: Mapping[str, Columns] = field(default_factory=dict)
    partial: bool = False
    stuck: Literal["", "deadlock", "silence"] = ""
    num_components: int = 1
    num_parts: int = 1
    num_draws: int = 0
    simulated_share: float = 1.0
    notes: tuple[str, ...] = ()
