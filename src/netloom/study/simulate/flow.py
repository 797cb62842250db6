"""Transfers run as flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import FOREVER_PS, deliver, lay
from netloom.study.simulate.runner import grid_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.flow.run import RoutedTransfers
    from netloom.engines.flow.settings import FlowSettings
    from netloom.fabric.graph import Fabric
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.study.simulate.runner import OnProgress, OnShare
    from netloom.study.simulate.simulation import Grid
    from netloom.workload.transfers import Transfers

__all__ = ["FlowRunner"]

NUM_BINS = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowRunner:
    """Runs transfers as flows that share links max-min fairly."""

    network: Fabric | PacketTopology
    settings: FlowSettings

    @property
    def name(self) -> str:
        """The engine's name."""
        return "flow"

    @property
    def grid(self) -> Grid:
        """The links it runs on."""
        return grid_of(self.network)

    @property
    def choices(self) -> dict[str, str]:
        """What was chosen."""
        return {
            "load_balancing": self.settings.balance,
            "flows_per_transfer": str(self.settings.flows_per_transfer),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return ("flows share links max-min fairly: no queues, pauses or losses are seen",)

    def run(
        self,
        transfers: Transfers,
        *,
        seed: int,
        until_ps: int | None,
        on_progress: OnProgress | None,
        on_share: OnShare | None = None,
        num_workers: int = 1,
    ) -> tuple[Delivery, NDArray[np.int64]]:
        """Return the delivery, and how long each transfer would take alone."""
        del num_workers  # flows of all components end in one order
        laid = lay(ground(self.network), transfers, self.settings, seed=seed)

        def told(simulated_ps: int, done: int) -> bool:
            if on_share is not None:
                on_share(done / max(len(transfers) * laid.parts, 1))
            return on_progress is not None and on_progress(simulated_ps, done)

        delivery = deliver(
            laid,
            num_bins=NUM_BINS,
            until_ps=FOREVER_PS if until_ps is None else until_ps,
            on_progress=told,
        )
        return delivery, _alone_ps(laid)


def _alone_ps(laid: RoutedTransfers) -> NDArray[np.int64]:
    """Return latency, and the time of the link that carries most of the transfer for its rate."""
    capacity_bps = laid.on.capacity_bps(laid.settings)
    ways, parts, num_links = laid.ways, laid.parts, len(capacity_bps)
    share = ways.shares.astype(np.float64) if len(ways.shares) else np.ones(len(ways.links))
    share /= parts
    # Ways of one set may share a link, and a way may cross one more than once.
    key = ways.owner() // parts * num_links + ways.links
    order = np.argsort(key, kind="stable")
    begin = np.flatnonzero(np.diff(key[order], prepend=-1))
    first = key[order[begin]]
    carried = np.add.reduceat(share[order], begin) if len(begin) else share
    per_bit = carried / capacity_bps[first % num_links]
    worst = np.zeros(len(laid.weight))
    np.maximum.at(worst, first // num_links, per_bit)
    sent_ps = np.rint(laid.transfers.size_bytes * 8 * worst[laid.route_set] * 1e12)
    return np.asarray(sent_ps.astype(np.int64) + laid.latency_ps + laid.known_ps)
