"""Published completion times other than curves: UET, NDP, IRN and a victim of an incast.

Cases stand in data/fct_cases.csv. Rules: uet-htsim @40ccb05 (uec.cpp, compositequeue.cpp), and what
is known of NDP, IRN and MRC; docs/models/packet.md says which is recalled.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from importlib import resources
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from netloom.engines.packet import Ecn, PacketSettings, Switch, Transport, run_packets
from netloom.fabric.plain_wiring import Cables, wire_up
from netloom.workload import patterns
from netloom.workload.dag import Dag, Label, to_transfers
from netloom.workload.sizes import parse_distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet import Progress
    from netloom.fabric.wiring import Wiring
    from netloom.workload.transfers import Transfers

__all__ = ["FctCase", "run_case", "shipped_cases"]

Compare = Literal["near", "most", "least"]
_US: Final = 1_000_000
_DRAWS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FctCase:
    """One published number and the run that should give it.

    Attributes:
        fabric: One of ``_FABRICS``.
        scheme: One of ``_SETTINGS``.
        compare: Whether the published number is to be met, or is the most or the least.
        tolerance_pct: How near is near.
        bound_pct: What it is held to: more than the tolerance where a gap is known.
        seen: Whether the number was read in its source.
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


def shipped_cases() -> tuple[FctCase, ...]:
    """Return the cases that netloom ships."""
    text = resources.files("netloom.study").joinpath("data", "fct_cases.csv").read_text("utf-8")
    return tuple(_case(row) for row in csv.DictReader(text.splitlines()))


def _case(row: dict[str, Any]) -> FctCase:
    whole = {name: int(row[name]) for name in ("num_flows", "size_bytes", "num_paths")}
    real = {name: float(row[name]) for name in ("published", "tolerance_pct", "bound_pct")}
    return FctCase(**{**row, **whole, **real})


def run_case(
    case: FctCase, *, seed: int, on_progress: Callable[[Progress], bool] | None = None
) -> float:
    """Return the case's number, in its unit."""
    bench = _Bench(wiring=_FABRICS[case.fabric](), seed=seed, on_progress=on_progress)
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


def _synthetic(case: FctCase, bench: _Bench, rng: np.random.Generator) -> float:
    """Return the last completion in microseconds, or the mean rate in percent of the line."""
    hosts = np.arange(bench.wiring.num_endpoints)
    if case.pattern == "permutation":
        dag = patterns.permutation(hosts, case.size_bytes, rng=rng)
    else:
        apart = max(1, min(64, (len(hosts) - 1) // case.num_flows))  # one a leaf, while there are
        senders = hosts[apart::apart][: case.num_flows]
        dag = patterns.incast(senders, 0, case.size_bytes)
    transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
    took_ps = bench.run(transfers, _SETTINGS[case.scheme](case.num_paths)).finish_ps
    if case.unit == "us":
        return float(took_ps.max()) / _US
    rate_bps = case.size_bytes * 8e12 / took_ps
    return float(100 * rate_bps.mean() / bench.wiring.link_rate_bps[0])


def _victim(case: FctCase, bench: _Bench, rng: np.random.Generator) -> float:
    """Return the rate of a flow beside an incast of seven, in percent of its rate alone.

    Senders of both share a leaf, and so do their receivers. What else they share is up to the hash:
    the mean over several draws of source ports.
    """
    source = np.arange(8, 16)
    target = np.where(source == 15, 1, 0)
    settings = _SETTINGS[case.scheme](case.num_paths)

    def victim_ps(flows: NDArray[np.bool_]) -> float:
        dag = Dag.of(source[flows], target[flows], case.size_bytes)
        transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
        return float(bench.run(transfers, settings).finish_ps[-1])

    alone_ps = victim_ps(source == 15)
    return 100 * fmean(alone_ps / victim_ps(source >= 0) for _ in range(_DRAWS))


# IRN's workload, recalled: half are single packets, most bytes in the 15 % of 200 KB to 3 MB.
_IRN_SIZES: Final = "32 0\n1000 50\n200000 85\n3000000 100\n"


def _against_irn(case: FctCase, bench: _Bench, rng: np.random.Generator) -> float:
    """Return the mean completion over IRN's without PFC: 70 % load, no congestion control."""
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
    end_ps = 8 * int(transfers.start_ps.max())  # what has not come by then counts as come then
    mean_ps = []
    for scheme in ("irn", case.scheme):
        finish_ps = bench.run(transfers, _SETTINGS[scheme](1), until_ps=end_ps).finish_ps
        seen_ps = np.where(finish_ps < 0, end_ps, finish_ps)
        mean_ps.append(float((seen_ps - transfers.start_ps).mean()))
    return mean_ps[1] / mean_ps[0]


# ---- networks


def _wired(cables: list[tuple[int, int]], num_hosts: int, rate_bps: float, delay_ps: int) -> Wiring:
    lower, upper = (np.array(column, dtype=np.int64) for column in zip(*cables, strict=True))
    num_vertices = int(upper.max()) + 1
    return wire_up(
        Cables(
            lower=lower,
            upper=upper,
            rate_bps=np.full(len(lower), rate_bps),
            delay_ps=np.full(len(lower), delay_ps),
            up=np.ones(len(lower), dtype=np.bool_),
        ),
        num_endpoints=num_hosts,
        name=tuple(f"node:{vertex}" for vertex in range(num_vertices)),
        forward_ps=np.zeros(num_vertices, dtype=np.int64),
    )


def _two_tiers(num_hosts: int, per_leaf: int, rate_bps: float, delay_ps: int = _US) -> Wiring:
    """Return as many uplinks as hosts a leaf, each to its own spine."""
    num_leaves = num_hosts // per_leaf
    down = [(host, num_hosts + host // per_leaf) for host in range(num_hosts)]
    spine = num_hosts + num_leaves
    up = [(num_hosts + leaf, spine + k) for leaf in range(num_leaves) for k in range(per_leaf)]
    return _wired(down + up, num_hosts, rate_bps, delay_ps)


def _three_tiers(radix: int, rate_bps: float, delay_ps: int = _US) -> Wiring:
    """Return the fat tree of switches with *radix* ports (Al-Fares et al., SIGCOMM 2008)."""
    half = radix // 2
    num_hosts = radix * half * half
    edge, middle = num_hosts, num_hosts + radix * half
    top = middle + radix * half
    switches = range(radix * half)
    cables = [(host, edge + host // half) for host in range(num_hosts)]
    cables += [(edge + s, middle + s // half * half + k) for s in switches for k in range(half)]
    cables += [(middle + s, top + s % half * half + k) for s in switches for k in range(half)]
    return _wired(cables, num_hosts, rate_bps, delay_ps)


_FABRICS: Final[Mapping[str, Callable[[], Wiring]]] = {
    "uec-8192": lambda: _two_tiers(8192, 64, 400e9),
    "uec-1024": lambda: _three_tiers(16, 100e9),
    "ndp-432": lambda: _three_tiers(12, 10e9, delay_ps=_US // 2),
    "irn-54": lambda: _three_tiers(6, 40e9, delay_ps=2 * _US),
    "mrc-64": lambda: _two_tiers(64, 8, 100e9),
}

# ---- endpoints and switches


def _uet(num_paths: int, *, pulled: bool) -> PacketSettings:
    """Return uet-htsim's: packets of 4086 and 64 bytes, queues of 100, marks from 25 to 75."""
    packet = 4086 + 64
    return PacketSettings(
        flow_control="trimming",
        balance="ecmp",
        spray="bitmap" if num_paths > 1 else "fixed",
        num_paths=num_paths,
        congestion_control="none" if pulled else "nscc",
        switch=Switch(buffer_bytes=1 << 40, queue_bytes=100 * packet, reserve_bytes=0),
        ecn=None
        if pulled
        else Ecn(kmin_bytes=25 * packet, kmax_bytes=75 * packet, pmax=1.0, at_rate_bps=0),
        transport=Transport(
            recovery="pulled" if pulled else "selective",
            payload_bytes=4086,
            header_bytes=64,
            gap_bytes=0,
            ack_bytes=64,
            timeout_ps=100 * _US,
            ack_every_bytes=16_384,
            pull_bytes=4 * 4086,
        ),
    )


def _ndp(num_paths: int) -> PacketSettings:
    """Return NDP as its paper has it (recalled): 9 KB packets, queues of 8, first window of 30."""
    payload = 8936
    return PacketSettings(
        flow_control="trimming",
        balance="source",
        spray="oblivious",
        num_paths=num_paths,
        switch=Switch(buffer_bytes=1 << 40, queue_bytes=8 * (payload + 64), reserve_bytes=0),
        transport=Transport(
            recovery="pulled",
            payload_bytes=payload,
            header_bytes=64,
            gap_bytes=0,
            ack_bytes=64,
            timeout_ps=20_000 * _US,
            pull_bytes=payload,
            first_window_bytes=30 * payload,
        ),
    )


def _irn(_: int) -> PacketSettings:
    """Return IRN (recalled): a window of 120 KB, timeouts of 320 and 100 us, 240 KB a port."""
    return PacketSettings(
        flow_control="lossy",
        switch=Switch(buffer_bytes=6 * 240_000, queue_bytes=240_000, reserve_bytes=0),
        transport=Transport(
            recovery="selective",
            payload_bytes=1000,
            disorder_packets=1,
            window_bytes=120_000,
            timeout_ps=320 * _US,
            timeout_low_ps=100 * _US,
            timeout_low_packets=3,
        ),
    )


def _go_back_n(_: int) -> PacketSettings:
    """Return the same switches and go-back-N without a window, a gap reported once a round trip."""
    host = Transport(payload_bytes=1000, nack_interval_ps=24 * _US, timeout_ps=500 * _US)
    return replace(_irn(1), transport=host)


def _go_back_n_pfc(_: int) -> PacketSettings:
    return replace(
        _go_back_n(1),
        flow_control="pfc",
        switch=Switch(buffer_bytes=6 * 240_000, alpha=1.0, reserve_bytes=0),
        transport=Transport(payload_bytes=1000),
    )


def _roce(_: int) -> PacketSettings:
    """Return RoCEv2 with PFC and DCQCN as NICs run it, one QP."""
    return PacketSettings(
        flow_control="pfc",
        congestion_control="dcqcn-firmware",
        ecn=Ecn(),
        transport=Transport(cnp_interval_ps=4 * _US),
    )


_SETTINGS: Final[Mapping[str, Callable[[int], PacketSettings]]] = {
    "nscc": lambda num_paths: _uet(num_paths, pulled=False),
    "rccc": lambda num_paths: _uet(num_paths, pulled=True),
    "mrc": lambda num_paths: _uet(num_paths, pulled=False),  # spray, trimming, no PFC
    "ndp": _ndp,
    "irn": _irn,
    "roce-pfc": _go_back_n_pfc,
    "roce-lossy": _go_back_n,
    "roce": _roce,
}
