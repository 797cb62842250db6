"""What is measured in cases of data/fct_cases.csv that are more than a last completion."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet import run_packets
from netloom.study.validate_fct_setups import settings_of_case
from netloom.workload import patterns
from netloom.workload.dag import Dag, Label, to_transfers
from netloom.workload.sizes import parse_distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet import PacketSettings, Progress
    from netloom.fabric.wiring import Wiring
    from netloom.study.validate_fct_cases import FctCase
    from netloom.workload.transfers import Transfers

__all__ = ["MEASURES", "Bench"]

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


def _against_irn(case: FctCase, bench: Bench, rng: np.random.Generator) -> float:
    """Return the mean completion over IRN's without PFC, with the same congestion control.

    70 % load; what has not come after eight times as long counts as come then.
    """
    sizes = parse_distribution(_IRN_SIZES, name="irn")
    hosts = np.arange(bench.wiring.num_endpoints)
    flows_per_ps = len(hosts) * 0.7 * bench.wiring.link_rate_bps[0] / 8e12 / sizes.mean_bytes
    dag = patterns.open_loop(
        hosts,
        sizes,
        rate_bps=float(bench.wiring.link_rate_bps[0]),
        load=0.7,
        duration_ps=round(case.num_flows / flows_per_ps),
        rng=rng,
    )
    transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
    end_ps = 8 * int(transfers.start_ps.max())
    mean_ps = []
    for scheme in (_irn_beside(case.scheme), case.scheme):
        settings = settings_of_case(scheme, fabric=case.fabric, num_paths=1)
        finish_ps = bench.run(transfers, settings, until_ps=end_ps).finish_ps
        seen_ps = np.where(finish_ps < 0, end_ps, finish_ps)
        mean_ps.append(float((seen_ps - transfers.start_ps).mean()))
    return mean_ps[1] / mean_ps[0]


def _irn_beside(scheme: str) -> str:
    """Return IRN with the congestion control that *scheme* names after a dash and ``with``."""
    _, _, control = scheme.partition("-with-")
    return f"irn-with-{control}" if control else "irn"


# By pattern.
MEASURES: Final[Mapping[str, Callable[[FctCase, Bench, np.random.Generator], float]]] = {
    "victim": _victim,
    "heavy-tailed": _against_irn,
}
