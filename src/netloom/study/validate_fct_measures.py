"""What is measured in cases of data/fct_cases.csv that are more than a last completion."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet import run_packets
from netloom.fabric.wiring_paths import first_ways
from netloom.study.validate_fct_lossy import irn_settings
from netloom.study.validate_fct_setups import settings_of_case
from netloom.workload import patterns
from netloom.workload.dag import Dag, Label, to_transfers
from netloom.workload.sizes import parse_distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet import PacketSettings, Progress, Transport
    from netloom.fabric.wiring import Wiring
    from netloom.study.validate_fct_cases import FctCase
    from netloom.workload.transfers import Transfers

__all__ = ["MEASURES", "Bench", "irn_ratios"]

_DRAWS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every run of a case shares."""

    wiring: Wiring
    seed: int
    on_progress: Callable[[Progress], bool] | None

    def run(
        self, transfers: Transfers, settings: PacketSettings, until_ps: int | None = None
    ) -> Delivery:
        """Return what came of *transfers*."""
        return run_packets(
            self.wiring,
            transfers,
            settings,
            seed=self.seed,
            until_ps=until_ps,
            on_progress=self.on_progress,
        )


def _victim(case: FctCase, bench: Bench, rng: np.random.Generator) -> float:
    """Return the rate of a flow beside an incast of seven, in percent of its rate alone.

    Senders of both share a leaf, and so do their receivers. What else they share is up to the hash:
    the mean over several draws of source ports.
    """
    source = np.arange(8, 16)
    target = np.where(source == 15, 1, 0)
    settings = settings_of_case(case.scheme, fabric=case.fabric, num_paths=case.num_paths)

    def victim_ps(flows: NDArray[np.bool_]) -> float:
        dag = Dag.of(source[flows], target[flows], case.size_bytes)
        transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
        return float(bench.run(transfers, settings).finish_ps[-1])

    alone_ps = victim_ps(source == 15)
    return 100 * fmean(alone_ps / victim_ps(source >= 0) for _ in range(_DRAWS))


# IRN's workload, recalled: half are single packets, most bytes in the 15 % of 200 KB to 3 MB.
_IRN_SIZES: Final = "32 0\n1000 50\n200000 85\n3000000 100\n"
_IRN_LOAD: Final = 0.7


def irn_ratios(case: FctCase, bench: Bench, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return mean slowdown, mean and 99th percentile of completion of one scheme over another's.

    The case's scheme names both, with ``over`` in between.
    """
    transfers = _irn_traffic(bench.wiring, case.num_flows, rng)
    one, other = (
        _irn_metrics(bench, transfers, irn_settings(scheme))
        for scheme in case.scheme.split(" over ")
    )
    return one / other


def _against_irn(case: FctCase, bench: Bench, rng: np.random.Generator) -> float:
    """Return the worst for the claim of the three ratios, since it is made for all of them."""
    ratios = irn_ratios(case, bench, rng)
    return float(ratios.min() if case.compare == "least" else ratios.max())


def _irn_traffic(wiring: Wiring, num_flows: int, rng: np.random.Generator) -> Transfers:
    sizes = parse_distribution(_IRN_SIZES, name="irn")
    hosts = np.arange(wiring.num_endpoints)
    rate_bps = float(wiring.link_rate_bps[0])
    flows_per_ps = len(hosts) * _IRN_LOAD * rate_bps / 8e12 / sizes.mean_bytes
    dag = patterns.open_loop(
        hosts,
        sizes,
        rate_bps=rate_bps,
        load=_IRN_LOAD,
        duration_ps=round(num_flows / flows_per_ps),
        rng=rng,
    )
    return to_transfers([dag], [Label(priority=0, job=0)], rng=rng)


def _irn_metrics(
    bench: Bench, transfers: Transfers, settings: PacketSettings
) -> NDArray[np.float64]:
    """Return mean slowdown, mean and 99th percentile of completion in picoseconds.

    What has not come after eight times as long as flows arrive counts as come then.
    """
    end_ps = 8 * int(transfers.start_ps.max())
    finish_ps = bench.run(transfers, settings, until_ps=end_ps).finish_ps
    took_ps = np.where(finish_ps < 0, end_ps, finish_ps) - transfers.start_ps
    slowdown = took_ps / _empty_ps(bench.wiring, transfers, settings.transport)
    return np.array([slowdown.mean(), took_ps.mean(), np.percentile(took_ps, 99)])


def _empty_ps(wiring: Wiring, transfers: Transfers, host: Transport) -> NDArray[np.float64]:
    """Return how long each takes alone: all packets over the first link, the last over the rest."""
    size_bytes = transfers.size_bytes
    framing_bytes = host.header_bytes + host.gap_bytes
    wire_bytes = size_bytes + -(-size_bytes // host.payload_bytes) * framing_bytes
    last_bytes = (size_bytes - 1) % host.payload_bytes + 1 + framing_bytes
    ways = first_ways(wiring, transfers.source.astype(np.int64), transfers.target.astype(np.int64))
    first = 8e12 / wiring.link_rate_bps[ways.links[:, 0]]
    return ways.delay_ps + wire_bytes * first + last_bytes * (ways.ps_per_byte - first)


# By pattern.
MEASURES: Final[Mapping[str, Callable[[FctCase, Bench, np.random.Generator], float]]] = {
    "victim": _victim,
    "heavy-tailed": _against_irn,
}
