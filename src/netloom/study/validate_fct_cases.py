"""Published completion times other than curves: UET, NDP, IRN and a victim of an incast.

Cases stand in data/fct_cases.csv and, where they take minutes, fct_long_cases.csv; the networks and
settings that they name in `validate_fct_setups`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from netloom.engines.packet import run_packets
from netloom.study.validate_fct_setups import network_of, settings_of_case
from netloom.workload import patterns
from netloom.workload.dag import Dag, Label, to_transfers
from netloom.workload.sizes import parse_distribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet import PacketSettings, Progress
    from netloom.fabric.wiring import Wiring
    from netloom.workload.transfers import Transfers

__all__ = ["FctCase", "long_cases", "run_case", "shipped_cases"]

Compare = Literal["near", "most", "least"]
_US: Final = 1_000_000
_DRAWS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FctCase:
    """One published number and the run that should give it.

    Attributes:
        fabric: A network of `validate_fct_setups`.
        scheme: Settings of `validate_fct_setups`.
        compare: Whether the published number is to be met, or is the most or the least.
        tolerance_pct: How near is near.
        bound_pct: What it is held to: more than the tolerance where a gap is known.
        seen: Whether the number was read in its source.
        core_min: Minutes of a core that it takes; 0: seconds.
    """

    case: str
    fabric: str
    scheme: str
    pattern: str
    num_flows: int
    size_bytes: int
    num_paths: int
    published: float
    unit: str
    compare: Compare
    tolerance_pct: float
    bound_pct: float
    seen: str
    source: str
    core_min: float = 0.0

    @property
    def expected_ps(self) -> int:
        """When it will have ended, if it ends as published; 0 where that is not known."""
        return round(self.published * _US) if self.unit == "us" else 0


def shipped_cases() -> tuple[FctCase, ...]:
    """Return the cases that netloom ships and that take seconds."""
    return _read("fct_cases.csv")


def long_cases() -> tuple[FctCase, ...]:
    """Return those that take many minutes each."""
    return _read("fct_long_cases.csv")


def _read(name: str) -> tuple[FctCase, ...]:
    text = resources.files("netloom.study").joinpath("data", name).read_text("utf-8")
    return tuple(_case(row) for row in csv.DictReader(text.splitlines()))


def _case(row: dict[str, Any]) -> FctCase:
    whole = {name: int(row[name]) for name in ("num_flows", "size_bytes", "num_paths")}
    real = ("published", "tolerance_pct", "bound_pct", "core_min")
    return FctCase(**{**row, **whole, **{name: float(row[name]) for name in real if name in row}})


def run_case(
    case: FctCase, *, seed: int, on_progress: Callable[[Progress], bool] | None = None
) -> float:
    """Return the case's number, in its unit."""
    bench = _Bench(wiring=network_of(case.fabric), seed=seed, on_progress=on_progress)
    rng = np.random.default_rng(seed)
    match case.pattern:
        case "victim":
            return _victim(case, bench, rng)
        case "heavy-tailed":
            return _against_irn(case, bench, rng)
        case _:
            return _synthetic(case, bench, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """What every run of a case shares."""

    wiring: Wiring
    seed: int
    on_progress: Callable[[Progress], bool] | None

    def run(
        self, transfers: Transfers, settings: PacketSettings, until_ps: int | None = None
    ) -> Delivery:
        return run_packets(
            self.wiring,
            transfers,
            settings,
            seed=self.seed,
            until_ps=until_ps,
            on_progress=self.on_progress,
        )


def _settings(case: FctCase) -> PacketSettings:
    return settings_of_case(case.scheme, fabric=case.fabric, num_paths=case.num_paths)


def _synthetic(case: FctCase, bench: _Bench, rng: np.random.Generator) -> float:
    """Return the last completion in us, packets sent again, or the mean rate in percent of line."""
    hosts = np.arange(bench.wiring.num_endpoints)
    if case.pattern == "permutation":
        dag = patterns.permutation(hosts, case.size_bytes, rng=rng)
    else:
        apart = max(1, min(64, (len(hosts) - 1) // case.num_flows))  # one a leaf, while there are
        senders = hosts[apart::apart][: case.num_flows]
        dag = patterns.incast(senders, 0, case.size_bytes)
    transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
    delivery = bench.run(transfers, _settings(case))
    took_ps = delivery.finish_ps
    if case.unit == "us":
        return float(took_ps.max()) / _US
    if case.unit == "packets again":
        return float(delivery.counters["retransmissions"])
    rate_bps = case.size_bytes * 8e12 / took_ps
    return float(100 * rate_bps.mean() / bench.wiring.link_rate_bps[0])


def _victim(case: FctCase, bench: _Bench, rng: np.random.Generator) -> float:
    """Return the rate of a flow beside an incast of seven, in percent of its rate alone.

    Senders of both share a leaf, and so do their receivers. What else they share is up to the hash:
    the mean over several draws of source ports.
    """
    source = np.arange(8, 16)
    target = np.where(source == 15, 1, 0)
    settings = _settings(case)

    def victim_ps(flows: NDArray[np.bool_]) -> float:
        dag = Dag.of(source[flows], target[flows], case.size_bytes)
        transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
        return float(bench.run(transfers, settings).finish_ps[-1])

    alone_ps = victim_ps(source == 15)
    return 100 * fmean(alone_ps / victim_ps(source >= 0) for _ in range(_DRAWS))


# IRN's workload, recalled: half are single packets, most bytes in the 15 % of 200 KB to 3 MB.
_IRN_SIZES: Final = "32 0\n1000 50\n200000 85\n3000000 100\n"


def _against_irn(case: FctCase, bench: _Bench, rng: np.random.Generator) -> float:
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
