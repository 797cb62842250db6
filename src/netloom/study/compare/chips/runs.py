"""What a chip does on the reference network, packet by packet."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.study.compare.chips.reference import REFERENCE, ReferenceTraffic
from netloom.study.simulate.packet import PacketRunner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.fabric.network import Network
    from netloom.spec.scenario import Floor
    from netloom.study.compare.chips.design import ChipDesign
    from netloom.study.compare.chips.reference import ReferenceNetwork
    from netloom.workload.transfers import Transfers

__all__ = ["SEEDS", "ChipBench", "ChipRuns", "TrafficRun", "run_chip"]

SEEDS: Final = (0, 1, 2)
_S: Final = 1e-12
_COUNTED: Final = ("pauses", "drops", "trims", "retransmissions", "timeouts", "marks")
LIMIT_PS: Final = 100_000_000_000  # 100 ms: what has not ended by then never does


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipRuns:
    """Means over the seeds.

    Attributes:
        path_share: Of a permutation: when its slowest flow would end alone, over when it does.
        ring_s: p99 of its flows: a step of a ring, in which each host sends to one other.
        exchange_s: p99 of the messages of an all-to-all, all begun at once.
        exchange_ratio: That over the time the ports need for its payload.
        incast_s: The last of an incast's flows.
        incast_ratio: That over the time the port needs for its payload.
        victim_slowdown: The innocent flow over its time on the empty network.
        peak_queue_bytes: The longest queue that was sampled.
        counts: Pauses, drops, trims and the like, of all runs of the first seed.
        unfinished: Flows that never ended, of all runs.
    """

    path_share: float
    ring_s: float
    exchange_s: float
    exchange_ratio: float
    incast_s: float
    incast_ratio: float
    victim_slowdown: float
    peak_queue_bytes: float
    counts: dict[str, int]
    unfinished: int

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "path_share": self.path_share,
            "ring_p99_s": self.ring_s,
            "exchange_p99_s": self.exchange_s,
            "exchange_ratio": self.exchange_ratio,
            "incast_s": self.incast_s,
            "incast_ratio": self.incast_ratio,
            "victim_slowdown": self.victim_slowdown,
            "peak_queue_bytes": self.peak_queue_bytes,
            "counts": self.counts,
            "unfinished": self.unfinished,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChipBench:
    """A chip on the reference network.

    Attributes:
        runner: The packet engine on it.
        rate_bps: Of a NIC.
    """

    reference: ReferenceNetwork
    runner: PacketRunner
    rate_bps: float

    @classmethod
    def of(
        cls,
        design: ChipDesign,
        network: Network,
        floor: Floor,
        reference: ReferenceNetwork = REFERENCE,
    ) -> ChipBench:
        """Return *design*, whose cluster is *network*, ready to run."""
        wiring = reference.wiring(design)
        settings = reference.settings(design, wiring, network, floor)
        runner = PacketRunner(wiring=wiring, settings=settings)
        return cls(reference=reference, runner=runner, rate_bps=design.technology.rate_bps)

    def permutation(self, traffic: ReferenceTraffic, seed: int) -> TrafficRun:
        """Return a permutation."""
        return self.run(self.reference.permutation(traffic, seed), seed)

    def exchange(self, traffic: ReferenceTraffic, seed: int) -> TrafficRun:
        """Return an all-to-all."""
        return self.run(self.reference.exchange(traffic, seed), seed)

    def incast(self, traffic: ReferenceTraffic, seed: int) -> TrafficRun:
        """Return an incast beside an innocent flow, which comes last."""
        return self.run(self.reference.incast(traffic, seed), seed)

    def run(self, transfers: Transfers, seed: int) -> TrafficRun:
        """Return any traffic between its hosts."""
        delivery, ideal_ps = self.runner.run(
            transfers, seed=seed, until_ps=LIMIT_PS, on_progress=None
        )
        return TrafficRun(transfers=transfers, delivery=delivery, ideal_ps=ideal_ps)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrafficRun:
    """One traffic, run once."""

    transfers: Transfers
    delivery: Delivery
    ideal_ps: NDArray[np.int64]

    @property
    def fct_s(self) -> NDArray[np.float64]:
        """How long each flow took; to the end of the run where it never ended."""
        ended = self.delivery.finish_ps >= 0
        finish = np.where(ended, self.delivery.finish_ps, self.delivery.simulated_ps)
        begun = np.maximum(self.delivery.start_ps, 0)
        return np.asarray((finish - begun) * _S, dtype=np.float64)

    @property
    def unfinished(self) -> int:
        """Flows that never ended."""
        return int((self.delivery.finish_ps < 0).sum())

    @property
    def path_share(self) -> float:
        """When the slowest flow would end alone, over when it does."""
        return float(self.ideal_ps.max() * _S / self.fct_s.max())

    @property
    def last_slowdown(self) -> float:
        """The last flow over its time on the empty network."""
        return float(self.fct_s[-1] / (self.ideal_ps[-1] * _S))

    @property
    def peak_bytes(self) -> float:
        """The longest queue that was sampled."""
        samples = self.delivery.tables.get("samples")
        return 0.0 if samples is None else float(samples["waiting_bytes"].max())


def run_chip(
    bench: ChipBench, traffic: ReferenceTraffic, *, seeds: Sequence[int] = SEEDS
) -> ChipRuns:
    """Return means over *seeds* of a permutation, an all-to-all and an incast."""
    spread = [bench.permutation(traffic, seed) for seed in seeds]
    exchanged = [bench.exchange(traffic, seed) for seed in seeds]
    met = [bench.incast(traffic, seed) for seed in seeds]
    everything = (*spread, *exchanged, *met)
    ring_s = fmean(float(np.percentile(run.fct_s, 99)) for run in spread)
    exchange_s = fmean(float(np.percentile(run.fct_s, 99)) for run in exchanged)
    incast_s = fmean(float(run.fct_s[:-1].max()) for run in met)
    partners = bench.reference.num_hosts - 1
    exchange_bound_s = partners * traffic.message_bytes * 8 / bench.rate_bps
    incast_bound_s = traffic.fan_in * traffic.incast_bytes * 8 / bench.rate_bps
    first = (spread[0], exchanged[0], met[0])
    return ChipRuns(
        path_share=min(1.0, fmean(run.path_share for run in spread)),
        ring_s=ring_s,
        exchange_s=exchange_s,
        exchange_ratio=exchange_s / exchange_bound_s,
        incast_s=incast_s,
        incast_ratio=incast_s / incast_bound_s,
        victim_slowdown=fmean(run.last_slowdown for run in met),
        peak_queue_bytes=max(run.peak_bytes for run in everything),
        counts={name: sum(int(run.delivery.counters[name]) for run in first) for name in _COUNTED},
        unfinished=sum(run.unfinished for run in everything),
    )
