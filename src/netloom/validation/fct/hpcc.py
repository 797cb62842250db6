"""Flow completion times on the fat tree of the HPCC authors, as their simulator runs it.

Rules read in alibaba-edu/High-Precision-Congestion-Control @9f4be2a (HPCC-ns3): simulation/run.py,
simulation/mix/fat.txt, simulation/scratch/third.cc, traffic_gen/traffic_gen.py and
analysis/fct_analysis.py; eta and maxStage from the authors' project page (results.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines.packet import Ecn, PacketSettings, Pfc, SwitchSettings, Transport, run_packets
from netloom.engines.packet.scheme import SCHEMES as SCHEME_TRAITS
from netloom.errors import SpecError
from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.formats.simulators.ns3_settings import ACK_BYTES, MIN_ACK_BYTES, STAMP_BYTES
from netloom.spec.problems import did_you_mean
from netloom.study.simulate.unloaded import hpcc_alone_ps
from netloom.workload.sizes import distribution
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from netloom.engines.packet import Progress
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.sizes import SizeDistribution

__all__ = ["SCHEMES", "WORKLOADS", "Finished", "TreeCase", "fat_tree", "run_tree", "settings_of"]

# The table's names for the workloads, and netloom's.
WORKLOADS: Final[Mapping[str, str]] = {"wb": "web-search", "fb": "fb-hadoop"}
_HOSTS, _TORS, _AGGS, _CORES = 320, 20, 20, 16
_HOST_BPS: Final = 100e9
_PAYLOAD_BYTES: Final = 1000
_HEADER_BYTES: Final = 48  # Ethernet 14, IPv4 20, UDP 8, sequence 6: what the ideal counts
# third.cc maxRtt: six links of 1 us both ways, 1000 bytes once on two of 100 and four of 400 Gb/s.
_MAX_RTT_PS: Final = 12_240_000
_US: Final = 1_000_000
_SETTLE_PS: Final = 500 * _US  # some 40 round trips: what is under way at first finds its rate
# A flow counts if one this many times slower than processor sharing on average would be seen to
# end. p95 of the slowest published tenth is 2.5 times (9.6 at 50 % load, where the average is 3.9).
_SLOWEST_OVER_MEAN: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCase:
    """One curve's run.

    Attributes:
        workload: ``wb`` (WebSearch) or ``fb`` (FB_Hadoop).
        load_pct: Payload offered by each host, in percent of its link.
        scheme: One of ``SCHEMES``.
        stop_ps: How long flows arrive, and the end of the run.
    """

    workload: str
    load_pct: int
    scheme: str
    stop_ps: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """The flows that count.

    Attributes:
        percentile: Place of each one's size in the workload's distribution, 0 to 100.
        slowdown: Completion over the authors' ideal; infinite where the run ended first.
        counters: Totals of the run.
    """

    percentile: NDArray[np.float64]
    slowdown: NDArray[np.float64]
    counters: Mapping[str, int]

    def curve(self, share: float) -> NDArray[np.float64]:
        """Return the slowdown at *share* in each percent of flows by size; nan where none is."""
        place = np.minimum(self.percentile.astype(np.int64), 99)
        order = np.lexsort((self.slowdown, place))
        begin = np.searchsorted(place[order], np.arange(101))
        count = np.diff(begin)
        at = begin[:-1] + np.minimum((count * share).astype(np.int64), np.maximum(count - 1, 0))
        ordered = np.append(self.slowdown[order], np.nan)
        return np.where(count > 0, ordered[at], np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SchemeSetup:
    """A congestion control as run.py sets it up."""

    congestion_control: str
    parameters: Mapping[str, float]
    header_bytes: int = _HEADER_BYTES
    ack_bytes: int = 60
    telemetry: bool = False
    ecn: Ecn | None = None


_SCALED_WINDOW: Final = {"window": 2.0, "rtt_ps": _MAX_RTT_PS}  # VAR_WIN 1, GLOBAL_T 1
_HPCC: Final = {"target": 0.99, "max_stage": 0.0, "rtt_ps": _MAX_RTT_PS}
_HPCC_95: Final = {**_HPCC, "target": 0.95}  # the paper's, and results.md, "Effect of eta"
_FIRMWARE: Final = {
    "gain": 1 / 256,
    "first_alpha": 1.0,
    "marks_in_acks": 1.0,
    "steps_for_bps": 25e9,
    "min_rate_bps": 1e9,
}
_RED: Final = Ecn(kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2, at_rate_bps=25e9)
_STEP: Final = Ecn(kmin_bytes=30_000, kmax_bytes=30_000, pmax=1.0, at_rate_bps=10e9)


def _with_telemetry(name: str, parameters: Mapping[str, float]) -> _SchemeSetup:
    """Return a scheme whose packets are as much longer as its telemetry takes."""
    traits = SCHEME_TRAITS.get(name)
    return _SchemeSetup(
        congestion_control=name,
        parameters=parameters,
        header_bytes=_HEADER_BYTES + traits.telemetry_bytes,
        ack_bytes=max(ACK_BYTES + traits.telemetry_bytes, MIN_ACK_BYTES),
        telemetry=traits.telemetry == "every-hop",
    )


_INT: Final = _with_telemetry("hpcc", _HPCC)
_PINT: Final = _with_telemetry("hpcc-pint", _HPCC)
_DCQCN: Final = _SchemeSetup(congestion_control="dcqcn-firmware", parameters=_FIRMWARE, ecn=_RED)
_TIMELY: Final = _SchemeSetup(
    congestion_control="timely",
    parameters={},
    header_bytes=_HEADER_BYTES + STAMP_BYTES["timely"],
)
SCHEMES: Final[Mapping[str, _SchemeSetup]] = {
    "HPCC-INT": _INT,
    "HPCC-INT-95": replace(_INT, parameters=_HPCC_95),
    "HPCC-PINT": _PINT,
    "HPCC-PINT-95": replace(_PINT, parameters=_HPCC_95),
    "DCQCN": _DCQCN,
    "DCQCN+w": replace(_DCQCN, parameters={**_FIRMWARE, **_SCALED_WINDOW}),
    "TIMELY": _TIMELY,
    "TIMELY+w": replace(_TIMELY, parameters=_SCALED_WINDOW),
    "DCTCP": _SchemeSetup(
        congestion_control="dctcp-rate",
        parameters={"additive_bps": 615e6, **_SCALED_WINDOW},
        ecn=_STEP,
    ),
}


def fat_tree() -> PacketTopology:
    """Return mix/fat.txt: 320 hosts, 5 pods of 4 ToR and 4 Agg switches, 16 Core switches.

    Cables stand in the order of the file, which decides what a hash picks.
    """
    hosts = [(host, _HOSTS + host // 16, _HOST_BPS) for host in range(_HOSTS)]
    first_agg = _HOSTS + _TORS
    up = [
        (_HOSTS + tor, first_agg + 4 * (tor // 4) + k, 4 * _HOST_BPS)
        for tor in range(_TORS)
        for k in range(4)
    ]
    top = [
        (first_agg + agg, first_agg + _AGGS + 4 * (agg % 4) + k, 4 * _HOST_BPS)
        for agg in range(_AGGS)
        for k in range(4)
    ]
    lower, upper, rate_bps = (np.array(column) for column in zip(*hosts, *up, *top, strict=True))
    num_vertices = _HOSTS + _TORS + _AGGS + _CORES
    return wire_up(
        CableList(
            lower=lower.astype(np.int64),
            upper=upper.astype(np.int64),
            rate_bps=rate_bps,
            delay_ps=np.full(len(lower), _US),
            up=np.ones(len(lower), dtype=np.bool_),
        ),
        num_endpoints=_HOSTS,
        name=tuple(f"node:{vertex}" for vertex in range(num_vertices)),
        forward_ps=np.zeros(num_vertices, dtype=np.int64),
    )


def settings_of(scheme: str) -> PacketSettings:
    """Return the packet engine set up as run.py and third.cc set theirs up for *scheme*.

    Raises:
        SpecError: there is no such scheme.
    """
    if scheme not in SCHEMES:
        raise SpecError(
            key="scheme", what=f"{scheme!r} is unknown", remedy=did_you_mean(scheme, SCHEMES)
        )
    own = SCHEMES[scheme]
    frames: dict[str, Any] = {
        "payload_bytes": _PAYLOAD_BYTES,
        "header_bytes": own.header_bytes,
        "ack_bytes": own.ack_bytes,
        # ACK_HIGH_PRIO reaches hosts alone: third.cc never tells its switches (AckHighPrio).
        "ack_on_data_lane": True,
        "telemetry": own.telemetry,
        "gap_bytes": 0,
        "least_bytes": 0,
        "base_rtt_ps": _MAX_RTT_PS,
    }
    return PacketSettings(
        flow_control="pfc",
        balance="ecmp",
        congestion_control=own.congestion_control,
        parameters=own.parameters,
        switch=SwitchSettings(buffer_bytes=32 << 20),
        pfc=Pfc(headroom_products=3.0),
        ecn=own.ecn,
        transport=Transport(**frames),
    )


def run_tree(
    case: TreeCase, *, seed: int, on_progress: Callable[[Progress], bool] | None = None
) -> Finished:
    """Return how long the flows of *case* took.

    The run begins with as many flows under way as processor sharing would keep (`_under_way`),
    so that no time is spent on filling an empty network. A flow counts if it starts after things
    have settled, and so early that a very slow one (`_SLOWEST_OVER_MEAN`) would be seen to end:
    what counts then depends on starts and sizes, never on how a flow fared.

    Raises:
        SpecError: the scheme or the workload is unknown.
    """
    settings = settings_of(case.scheme)
    if case.workload not in WORKLOADS:
        raise SpecError(
            key="workload",
            what=f"{case.workload!r} is unknown",
            remedy=f"choose {' or '.join(WORKLOADS)}",
        )
    sizes = distribution(WORKLOADS[case.workload])
    transfers, is_new = _offered(case, sizes, settings.transport, np.random.default_rng(seed))
    wiring = fat_tree()
    delivery = run_packets(
        wiring,
        transfers,
        settings,
        seed=seed,
        until_ps=case.stop_ps,
        on_progress=on_progress,
    )
    ideal_ps = hpcc_alone_ps(
        wiring, transfers, payload_bytes=_PAYLOAD_BYTES, header_bytes=_HEADER_BYTES
    )
    start_ps = transfers.start_ps
    slowest = _SLOWEST_OVER_MEAN * _mean_slowdown(case.load_pct / 100, settings.transport)
    counts = is_new & (start_ps >= _SETTLE_PS) & (start_ps + slowest * ideal_ps < case.stop_ps)
    took_ps = np.where(delivery.finish_ps < 0, np.inf, delivery.finish_ps - start_ps)
    return Finished(
        percentile=100 * np.interp(transfers.size_bytes[counts], sizes.size_bytes, sizes.share),
        slowdown=np.maximum(took_ps[counts] / ideal_ps[counts], 1.0),  # fct_analysis.py: 1 at least
        counters=delivery.counters,
    )


def _offered(
    case: TreeCase, sizes: SizeDistribution, frames: Transport, rng: np.random.Generator
) -> tuple[Transfers, NDArray[np.bool_]]:
    """Return the flows of a run, and which of them arrive (the others are under way at first)."""
    load = case.load_pct / 100
    flows_per_ps = _HOSTS * load * _HOST_BPS / 8e12 / sizes.mean_bytes
    num_new = int(rng.poisson(flows_per_ps * case.stop_ps))
    start_ps = np.sort((rng.random(num_new) * case.stop_ps).astype(np.int64))
    rest = _under_way(load, sizes, frames, rng)
    size = np.concatenate([rest, sizes.draw(num_new, rng)])
    count = len(size)
    source = rng.integers(0, _HOSTS, count)
    target = (source + rng.integers(1, _HOSTS, count)) % _HOSTS
    begun_ps = rng.integers(0, _MAX_RTT_PS, len(rest))
    transfers = Transfers(
        source=source.astype(np.int32),
        target=target.astype(np.int32),
        size_bytes=size,
        start_ps=np.concatenate([begun_ps, start_ps]),
        delay_ps=np.zeros(count, dtype=np.int64),
        source_port=rng.integers(10_000, 65_536, count).astype(np.uint16),
        priority=np.full(count, 3, dtype=np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.zeros(count + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )
    return transfers, np.arange(count) >= len(rest)


def _under_way(
    load: float, sizes: SizeDistribution, frames: Transport, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return what is left of the flows that a network at this load finds itself with.

    By Little's law load times slowdown of them are under way at each host. What is left of one has
    the equilibrium distribution: a uniform part of a flow drawn in proportion to its size.
    """
    num_flows = int(rng.poisson(_HOSTS * load * _mean_slowdown(load, frames)))
    drawn = sizes.draw(100_000, rng).astype(np.float64)
    whole = rng.choice(drawn, size=num_flows, p=drawn / drawn.sum())
    return np.maximum((whole * rng.random(num_flows)).astype(np.int64), 1)


def _mean_slowdown(load: float, frames: Transport) -> float:
    """Return that of two processor-sharing queues in a row: the links of sender and receiver."""
    headers = (frames.header_bytes + frames.ack_bytes) / frames.payload_bytes
    rho = min(load * (1 + headers), 0.9)
    return 1 + 2 * rho / (1 - rho)
