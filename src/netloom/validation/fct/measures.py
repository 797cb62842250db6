"""What is measured in cases of data/fct_cases.csv that are more than a last completion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet import PacketFault, Recording, run_packets
from netloom.fabric.wiring.paths import first_ways
from netloom.validation.fct.lossy import LOSSY_SETTINGS, irn_settings
from netloom.validation.fct.setups import settings_of_case
from netloom.workload import patterns
from netloom.workload.dag import Dag, Label, to_transfers
from netloom.workload.sizes import parse_distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet import PacketSettings, Progress, Transport
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.validation.fct.case import FctCase
    from netloom.workload.transfers import Transfers

__all__ = ["MEASURES", "RunContext", "irn_ratios"]

_DRAWS: Final = 16
_US: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What every run of a case shares."""

    wiring: PacketTopology
    seed: int
    on_progress: Callable[[Progress], bool] | None

    def run(
        self,
        transfers: Transfers,
        settings: PacketSettings,
        *,
        until_ps: int | None = None,
        faults: Sequence[PacketFault] = (),
        watch: Recording | None = None,
    ) -> Delivery:
        """Return what came of *transfers*."""
        return run_packets(
            self.wiring,
            transfers,
            settings,
            seed=self.seed,
            until_ps=until_ps,
            faults=faults,
            watch=watch,
            on_progress=self.on_progress,
        )


def _transfers(dag: Dag, rng: np.random.Generator) -> Transfers:
    return to_transfers([dag], [Label(priority=0, job=0)], rng=rng)


# Beside an incast of seven on host 0, a flow to host 1; senders of both share a leaf.
_VICTIM_SOURCE: Final = np.arange(8, 16)
_VICTIM_TARGET: Final = np.where(_VICTIM_SOURCE == 15, 1, 0)


def _victim(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return the rate of a flow beside an incast of seven, in percent of its rate alone.

    Senders of both share a leaf, and so do their receivers. What else they share is up to the hash:
    the mean over several draws of source ports.
    """
    settings = settings_of_case(case, bench.wiring)

    def victim_ps(first: int) -> float:
        dag = Dag.of(_VICTIM_SOURCE[first:], _VICTIM_TARGET[first:], case.size_bytes)
        return float(bench.run(_transfers(dag, rng), settings).finish_ps[-1])

    alone_ps = victim_ps(7)
    return 100 * fmean(alone_ps / victim_ps(0) for _ in range(_DRAWS))


def _dips(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return the victim's least rate over 200 us in percent of the line, the mean of draws.

    The incast lasts twice as long as the victim would alone.
    """
    window_ps = 200 * _US
    last = int(np.flatnonzero(bench.wiring.link_target == 1)[0])
    full_bytes = bench.wiring.link_rate_bps[last] / 8e12 * window_ps
    size_bytes = np.where(_VICTIM_TARGET == 1, case.size_bytes, 2 * case.size_bytes)

    def least() -> float:
        run = bench.run(
            _transfers(Dag.of(_VICTIM_SOURCE, _VICTIM_TARGET, size_bytes), rng),
            settings_of_case(case, bench.wiring),
            watch=Recording(links=(last,), every_ps=window_ps),
        )
        samples = run.tables["samples"]
        whole = samples["when_ps"].astype(np.int64) < run.finish_ps[-1]
        return float(np.diff(samples["sent_bytes"][whole].astype(np.float64)).min() / full_bytes)

    return 100 * fmean(least() for _ in range(_DRAWS // 2))


_SETTLED_PS: Final = 100_000 * _US


def _incast(case: FctCase, rng: np.random.Generator) -> Transfers:
    return _transfers(patterns.incast(np.arange(1, case.num_flows + 1), 0, case.size_bytes), rng)


def _queue(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return the 90th percentile of an incast's queue in KB, once it has settled for 100 ms."""
    last = int(np.flatnonzero(bench.wiring.link_target == 0)[0])
    run = bench.run(
        _incast(case, rng),
        settings_of_case(case, bench.wiring),
        until_ps=2 * _SETTLED_PS,
        watch=Recording(links=(last,), every_ps=10 * _US),
    )
    samples = run.tables["samples"]
    settled = samples["when_ps"].astype(np.int64) >= _SETTLED_PS
    return float(np.percentile(samples["waiting_bytes"][settled].astype(np.int64), 90)) / 1000


def _marks(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return how many of an incast's packets are marked, in percent, once it has settled."""
    transfers = _incast(case, rng)
    first, last = (
        bench.run(transfers, settings_of_case(case, bench.wiring), until_ps=until_ps).counters
        for until_ps in (_SETTLED_PS, 2 * _SETTLED_PS)
    )
    arrived = last["delivered_packets"] - first["delivered_packets"]
    return 100 * (last["marks"] - first["marks"]) / arrived


def _pauses(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return the pause frames of an incast in percent of those without congestion control."""
    transfers = _incast(case, rng)
    one, other = (
        bench.run(transfers, settings, until_ps=_SETTLED_PS).counters["pause_frames"]
        for settings in (settings_of_case(case, bench.wiring), LOSSY_SETTINGS["uncontrolled"](1))
    )
    return 100 * one / other


def _lossy_path(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return a flow's rate, in percent, when a fifth is lost on the first uplink of its leaf.

    The mean over several draws of the values that it sprays over.
    """
    num_hosts = bench.wiring.num_endpoints
    transfers = _between(0, num_hosts - 1, case, rng)
    uplinks = (bench.wiring.link_source == num_hosts) & (bench.wiring.link_target > num_hosts)
    fault = PacketFault(when_ps=0, kind="loss", link=int(np.flatnonzero(uplinks)[0]), loss=0.2)

    def kept(draw: int) -> float:
        drawn = replace(bench, seed=bench.seed + draw)
        whole, hurt = (
            drawn.run(transfers, settings_of_case(case, bench.wiring), faults=some).finish_ps[0]
            for some in ([], [fault])
        )
        return float(whole / hurt)

    return 100 * fmean(kept(draw) for draw in range(_DRAWS))


def _dead_near(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return a flow's rate, in percent, when the first plane's switch at its sender is down."""
    return _dead_plane(_between(0, bench.wiring.num_endpoints - 1, case, rng), case, bench)


def _dead_far(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return the same when it is the switch at its receiver, of which the sender does not hear."""
    return _dead_plane(_between(bench.wiring.num_endpoints - 1, 0, case, rng), case, bench)


def _between(source: int, target: int, case: FctCase, rng: np.random.Generator) -> Transfers:
    return _transfers(Dag.of(np.array([source]), np.array([target]), case.size_bytes), rng)


def _dead_plane(transfers: Transfers, case: FctCase, bench: RunContext) -> float:
    wiring = bench.wiring
    num_hosts = wiring.num_endpoints
    dead = np.flatnonzero((wiring.link_source == num_hosts) | (wiring.link_target == num_hosts))
    faults = [PacketFault(when_ps=0, kind="down", link=link) for link in dead.tolist()]
    whole, hurt = (
        bench.run(transfers, settings_of_case(case, bench.wiring), faults=some).finish_ps[0]
        for some in ([], faults)
    )
    return float(100 * whole / hurt)


def _failure(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return by how much the last of many flows is late, in us, when a cable on their way is cut.

    Host i sends to the next leaf; a third of the way through, the first spine loses its cable to
    the second leaf, of which no sender hears.
    """
    hosts = np.arange(bench.wiring.num_endpoints)
    dag = Dag.of(hosts, (hosts + len(hosts) // 4) % len(hosts), case.size_bytes)
    transfers = _transfers(dag, rng)
    leaf, spine = len(hosts) + 1, len(hosts) + 4
    wiring = bench.wiring
    cut = np.flatnonzero((wiring.link_source == spine) & (wiring.link_target == leaf))
    when_ps = round(case.size_bytes * 8e12 / wiring.link_rate_bps[0] / 3)
    faults = [PacketFault(when_ps=when_ps, kind="down", link=int(cut[0]) ^ way) for way in (0, 1)]
    whole, hurt = (
        bench.run(transfers, settings_of_case(case, bench.wiring), faults=some).finish_ps.max()
        for some in ([], faults)
    )
    return float(hurt - whole) / _US


# IRN's workload, recalled: half are single packets, most bytes in the 15 % of 200 KB to 3 MB; links
# are used at 70 %, which is taken to count headers.
_IRN_SIZES: Final = "32 0\n1000 50\n200000 85\n3000000 100\n"
_IRN_UTILISATION: Final = 0.7


def irn_ratios(case: FctCase, bench: RunContext, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return mean slowdown, mean and 99th percentile of completion of one scheme over another's.

    The case's scheme names both, with ``over`` in between.
    """
    transfers = _irn_traffic(bench.wiring, case.num_flows, rng)
    one, other = (
        _irn_metrics(bench, transfers, irn_settings(scheme))
        for scheme in case.scheme.split(" over ")
    )
    return one / other


def _against_irn(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return the worst for the claim of the three ratios, since it is made for all of them."""
    ratios = irn_ratios(case, bench, rng)
    return float(ratios.min() if case.compare == "least" else ratios.max())


def _irn_traffic(wiring: PacketTopology, num_flows: int, rng: np.random.Generator) -> Transfers:
    sizes = parse_distribution(_IRN_SIZES, name="irn")
    hosts = np.arange(wiring.num_endpoints)
    rate_bps = float(wiring.link_rate_bps[0])
    host = irn_settings("irn").transport
    framing_bytes = host.header_bytes + host.gap_bytes
    load = _IRN_UTILISATION * host.payload_bytes / (host.payload_bytes + framing_bytes)
    flows_per_ps = len(hosts) * load * rate_bps / 8e12 / sizes.mean_bytes
    dag = patterns.open_loop(
        hosts,
        sizes,
        rate_bps=rate_bps,
        load=load,
        duration_ps=round(num_flows / flows_per_ps),
        rng=rng,
    )
    return _transfers(dag, rng)


def _irn_metrics(
    bench: RunContext, transfers: Transfers, settings: PacketSettings
) -> NDArray[np.float64]:
    """Return mean slowdown, mean and 99th percentile of completion in picoseconds.

    What has not come after eight times as long as flows arrive counts as come then.
    """
    end_ps = 8 * int(transfers.start_ps.max())
    finish_ps = bench.run(transfers, settings, until_ps=end_ps).finish_ps
    took_ps = np.where(finish_ps < 0, end_ps, finish_ps) - transfers.start_ps
    slowdown = took_ps / _empty_ps(bench.wiring, transfers, settings.transport)
    return np.array([slowdown.mean(), took_ps.mean(), np.percentile(took_ps, 99)])


def _empty_ps(wiring: PacketTopology, transfers: Transfers, host: Transport) -> NDArray[np.float64]:
    """Return how long each takes alone: all packets over the first link, the last over the rest."""
    size_bytes = transfers.size_bytes
    framing_bytes = host.header_bytes + host.gap_bytes
    wire_bytes = size_bytes + -(-size_bytes // host.payload_bytes) * framing_bytes
    last_bytes = (size_bytes - 1) % host.payload_bytes + 1 + framing_bytes
    ways = first_ways(wiring, transfers.source.astype(np.int64), transfers.target.astype(np.int64))
    first = 8e12 / wiring.link_rate_bps[ways.links[:, 0]]
    return ways.delay_ps + wire_bytes * first + last_bytes * (ways.ps_per_byte - first)


# By pattern.
MEASURES: Final[Mapping[str, Callable[[FctCase, RunContext, np.random.Generator], float]]] = {
    "victim": _victim,
    "heavy-tailed": _against_irn,
    "dips": _dips,
    "queue": _queue,
    "marks": _marks,
    "pauses": _pauses,
    "failure": _failure,
    "lossy-path": _lossy_path,
    "dead-plane": _dead_near,
    "dead-far-plane": _dead_far,
}
