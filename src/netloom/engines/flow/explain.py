"""Why a transfer is slow: the link that held it back, and who was on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.flow.run import RoutedTransfers

__all__ = ["HeldBack", "held_back"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldBack:
    """What held a transfer back when it ended.

    Attributes:
        transfer: Which.
        link: The link; -1 when nothing held it back.
        capacity_bps: What that link carries of payload; 0 without one.
        rate_bps: The transfer's mean rate from start to arrival.
        shared_with: Other transfers that crossed the link while this one ran, ascending.
    """

    transfer: int
    link: int
    capacity_bps: float
    rate_bps: float
    shared_with: NDArray[np.int64]


def held_back(laid: RoutedTransfers, delivery: Delivery, transfer: int) -> HeldBack:
    """Return what held *transfer* of *laid* back in the run that gave *delivery*.

    Both must belong together, and the transfer must have arrived.
    """
    assert delivery.finish_ps[transfer] >= 0, transfer
    link = int(delivery.tables["bottlenecks"]["link"][transfer])
    time_s = (delivery.finish_ps[transfer] - delivery.start_ps[transfer]) * 1e-12
    return HeldBack(
        transfer=transfer,
        link=link,
        capacity_bps=float(laid.on.capacity_bps(laid.settings)[link]) if link >= 0 else 0.0,
        rate_bps=float(laid.transfers.size_bytes[transfer] * 8 / time_s),
        shared_with=_meeting(laid, delivery, transfer, link),
    )


def _meeting(
    laid: RoutedTransfers, delivery: Delivery, transfer: int, link: int
) -> NDArray[np.int64]:
    first = int(laid.ways.group[link]) if link >= 0 and len(laid.ways.group) else link
    sets = np.unique(laid.ways.owner()[laid.ways.links == first] // laid.parts)
    crossing = np.flatnonzero(np.isin(laid.route_set, sets))
    start, finish = delivery.start_ps, delivery.finish_ps
    ended = np.where(finish[crossing] < 0, delivery.simulated_ps, finish[crossing])
    meets = (start[crossing] >= 0) & (start[crossing] < finish[transfer])
    meets &= (ended > start[transfer]) & (crossing != transfer)
    return np.asarray(crossing[meets])
