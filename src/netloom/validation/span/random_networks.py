"""Random feed-forward networks, played by the packet engine and held against their bounds (W15)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from netloom.engines.packet.streams import FrameTrain, run_streams
from netloom.engines.packet.timing import LaneShaper, PacketTiming
from netloom.fabric.span.bounds import BoundFlow, BoundPort, network_bounds
from netloom.fabric.span.curves import TokenBucket
from netloom.fabric.span.gates import GateWindow, window_gates
from netloom.fabric.wiring.routed import RoutedCable, routed_wiring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.packet.streams import StreamDelays
    from netloom.fabric.span.bounds import NetworkBounds
    from netloom.fabric.span.gates import GateList
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = [
    "MECHANISMS",
    "BoundCase",
    "CaseOutcome",
    "Mechanism",
    "greedy_ps",
    "one_hop",
    "play",
    "random_case",
]

Mechanism = Literal["fifo", "priority", "pre-emption", "cbs", "ats", "window"]
MECHANISMS: Final[tuple[Mechanism, ...]] = (
    "fifo",
    "priority",
    "pre-emption",
    "cbs",
    "ats",
    "window",
)
GAP_BYTES: Final = 20
MAX_FRAMES: Final = 1_500
_PS: Final = 1e12
_ROUNDING: Final = 1e-3  # bytes, in favour of the bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCase:
    """A chain of ports, the flows on it, and when they send.

    Attributes:
        ports: Of the chain, then the own port of each flow's source, then the one to its target.
        offsets_ps: When each flow begins.
        greedy: Whether flows send all that their buckets allow as soon as they do.
    """

    mechanism: Mechanism
    ports: tuple[BoundPort, ...]
    flows: tuple[BoundFlow, ...]
    offsets_ps: tuple[int, ...]
    greedy: bool
    seed: int
    cycle_ps: int = 0

    @property
    def num_hops(self) -> int:
        """Ports of the chain."""
        return len(self.ports) - 2 * len(self.flows)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """What a case came to, against its bounds.

    Attributes:
        delay_ratios: Longest delay of each flow over its bound, where it has one.
        backlog_ratios: The same of each queue.
        num_frames: That were sent.
    """

    delay_ratios: tuple[float, ...]
    backlog_ratios: tuple[float, ...]
    num_frames: int

    @property
    def worst(self) -> float:
        """The highest ratio of all; above 1 a bound is violated."""
        return max((*self.delay_ratios, *self.backlog_ratios), default=0.0)


def greedy_ps(bucket: TokenBucket, frame_bytes: float, *, for_ps: float) -> NDArray[np.int64]:
    """Return when a source sends that spends its tokens as soon as it has them."""
    at_once = int(bucket.burst_bytes // frame_bytes)
    short_bytes = (at_once + 1) * frame_bytes - bucket.burst_bytes
    first_ps, each_ps = (
        math.ceil(size * 8 * _PS / bucket.rate_bps) for size in (short_bytes, frame_bytes)
    )
    later = np.arange(max(0, 1 + int((for_ps - first_ps) // each_ps)), dtype=np.int64)
    return np.concatenate([np.zeros(at_once, dtype=np.int64), first_ps + each_ps * later])


def _idle_ps(
    bucket: TokenBucket, frame_bytes: float, *, for_ps: float, draw: np.random.Generator
) -> NDArray[np.int64]:
    """Return when a source sends that waits at random, and keeps to its bucket."""
    tokens, at_ps, sent = bucket.burst_bytes, 0.0, list[float]()
    while True:
        wait_ps = draw.exponential(frame_bytes * 8 / bucket.rate_bps * _PS) * draw.integers(0, 4)
        need = max(0.0, frame_bytes + _ROUNDING - tokens - bucket.rate_bps * wait_ps / _PS / 8)
        wait_ps = np.ceil(wait_ps + need * 8 / bucket.rate_bps * _PS)
        at_ps += wait_ps
        if at_ps > for_ps:
            return np.array(sent or [0], dtype=np.int64)
        tokens = min(bucket.burst_bytes, tokens + bucket.rate_bps * wait_ps / _PS / 8)
        tokens -= frame_bytes
        sent.append(at_ps)


def random_case(draw: np.random.Generator, mechanism: Mechanism | None = None) -> BoundCase:
    """Return a chain of 2 to 8 ports, 1 to 3 classes, and shaped flows over parts of it."""
    kind = mechanism or MECHANISMS[int(draw.integers(len(MECHANISMS)))]
    num_hops = int(draw.integers(2, 9))
    num_classes = 1 if kind == "fifo" else int(draw.integers(1, 4))
    num_flows = int(draw.integers(num_classes, num_classes + 5))
    rate_bps = float(draw.choice((1e9, 10e9, 25e9, 100e9, 400e9)))
    load = draw.uniform(0.2, 0.95)
    weights = draw.dirichlet(np.ones(num_flows))
    flows = []
    for number in range(num_flows):
        begin, end = sorted(draw.choice(num_hops + 1, 2, replace=False).tolist())
        if number == 0:
            begin, end = 0, num_hops
        frame = float(draw.choice((84, 300, 1_538, 4_182, 9_236)))
        bucket = TokenBucket(
            burst_bytes=frame * int(draw.integers(1, 25)),
            rate_bps=float(np.floor(max(rate_bps * load * weights[number], rate_bps / 500))),
        )
        flows.append(
            BoundFlow(
                name=f"f{number}",
                priority=number % num_classes
                if number < num_classes
                else int(draw.integers(num_classes)),
                arrivals=bucket,
                frame_bytes=frame,
                route=(num_hops + number, *range(begin, end), num_hops + num_flows + number),
            )
        )
    return _case(draw, kind, flows, num_hops=num_hops, rate_bps=rate_bps)


def one_hop(draw: np.random.Generator, mechanism: Mechanism) -> BoundCase:
    """Return a case of one port, greedy sources of small frames and fast ports of their own."""
    num_classes = 1 if mechanism == "fifo" else 2
    rate_bps = float(draw.choice((10e9, 100e9)))
    flows = []
    for number in range(2 * num_classes):
        frame = float(draw.choice((300, 1_538)))
        bucket = TokenBucket(
            burst_bytes=frame * int(draw.integers(20, 60)), rate_bps=0.12 * rate_bps
        )
        flows.append(
            BoundFlow(
                name=f"f{number}",
                priority=number % num_classes,
                arrivals=bucket,
                frame_bytes=frame,
                route=(1 + number, 0, 1 + 2 * num_classes + number),
            )
        )
    case = _case(draw, mechanism, flows, num_hops=1, rate_bps=rate_bps, nic_share=16)
    return BoundCase(
        mechanism=mechanism,
        ports=case.ports,
        flows=case.flows,
        offsets_ps=(0,) * len(flows),
        greedy=True,
        seed=case.seed,
        cycle_ps=case.cycle_ps,
    )


def _case(
    draw: np.random.Generator,
    kind: Mechanism,
    flows: Sequence[BoundFlow],
    *,
    num_hops: int,
    rate_bps: float,
    nic_share: int = 0,
) -> BoundCase:
    levels = sorted({one.priority for one in flows})
    largest_ps = max(one.frame_bytes for one in flows) * 8 / rate_bps * _PS
    cycle_ps = int(largest_ps * draw.integers(20, 60)) * len(levels) if kind == "window" else 0
    ports = []
    for number in range(num_hops):
        here = [one for one in flows if number in one.route]
        port = BoundPort(
            name=f"port {number}",
            rate_bps=rate_bps,
            latency_s=float(draw.choice((0, 100_000, 5_000_000))) / _PS,
        )
        ports.append(_ruled(port, kind, here, levels=levels, cycle_ps=cycle_ps, draw=draw))
    for one in flows:
        faster = nic_share or int(draw.choice((1, 2, 4)))
        ports.append(BoundPort(name=f"source of {one.name}", rate_bps=faster * rate_bps))
    ports += [
        BoundPort(name=f"target of {one.name}", rate_bps=(nic_share or 4) * rate_bps)
        for one in flows
    ]
    starts = [_arrives_ps(ports, flows[0], one) for one in flows]
    jitter_ps = (
        draw.integers(0, 2_000_000, len(flows)) if draw.random() < 0.3 else 0 * np.array(starts)
    )
    return BoundCase(
        mechanism=kind,
        ports=tuple(ports),
        flows=tuple(flows),
        offsets_ps=tuple((np.array(starts) + jitter_ps).tolist()),
        greedy=bool(draw.random() < 0.6),
        seed=int(draw.integers(1 << 30)),
        cycle_ps=cycle_ps,
    )


def _arrives_ps(ports: Sequence[BoundPort], main: BoundFlow, one: BoundFlow) -> int:
    """Return when the first frame of *main* is at the port where *one* enters: the worst phase."""
    before = main.route[: main.route.index(one.route[1])] if one.route[1] in main.route else ()
    time_s = sum(ports[at].latency_s + main.frame_bytes * 8 / ports[at].rate_bps for at in before)
    return max(0, round(time_s * _PS))


def _ruled(
    port: BoundPort,
    kind: Mechanism,
    here: Sequence[BoundFlow],
    *,
    levels: Sequence[int],
    cycle_ps: int,
    draw: np.random.Generator,
) -> BoundPort:
    """Return *port* with the rule that *kind* gives it, for the flows *here*."""
    if kind == "cbs":
        slopes = {}
        for level in levels[1:] or levels:
            used = sum(one.arrivals.rate_bps for one in here if one.priority == level)
            least_bps = port.rate_bps / 1000
            slopes[level] = float(np.ceil(max(used * draw.uniform(1.0, 1.05), least_bps)))
        return replace(port, rule="cbs", slopes_bps=slopes)
    if kind == "window":
        return replace(
            port,
            rule="window",
            windows_s=dict.fromkeys(levels, cycle_ps // len(levels) / _PS),
            cycle_s=cycle_ps / _PS,
        )
    if kind == "pre-emption":
        return replace(port, express=frozenset({max(levels)}))
    return replace(port, rule="ats") if kind == "ats" else port


def play(case: BoundCase) -> CaseOutcome:
    """Run a case in the packet engine and return it against its bounds."""
    bounds = network_bounds(case.ports, case.flows)
    trains = _trains(case)
    shown = run_streams(_wiring(case), trains, _timing(case), gap_bytes=GAP_BYTES)
    return CaseOutcome(
        delay_ratios=tuple(
            shown.worst_ps(number) / _PS / bound.delay_s
            for number, bound in enumerate(bounds.flows)
            if bound.delay_s
        ),
        backlog_ratios=_backlog_ratios(case, bounds, shown),
        num_frames=sum(len(one.start_ps) for one in trains),
    )


def _backlog_ratios(
    case: BoundCase, bounds: NetworkBounds, shown: StreamDelays
) -> tuple[float, ...]:
    """Return the peak of each queue of the chain over its bound; sources do not tell theirs."""
    ratios = []
    for (link, priority), peak in shown.peak_bytes.items():
        queue = link // 2, priority
        if link % 2 == 0 and queue[0] < case.num_hops and queue in bounds.backlog_bytes:
            ratios.append(peak / bounds.backlog_bytes[queue])
    return tuple(ratios)


def _trains(case: BoundCase) -> list[FrameTrain]:
    draw = np.random.default_rng(case.seed)
    slowest_bps = min(port.rate_bps for port in case.ports)
    total = sum(one.arrivals.burst_bytes for one in case.flows)
    for_ps = 3 * total * 8 / slowest_bps * _PS + 2 * case.cycle_ps
    trains = []
    for number, one in enumerate(case.flows):
        at_ps = (
            greedy_ps(one.arrivals, one.frame_bytes, for_ps=for_ps)
            if case.greedy
            else _idle_ps(one.arrivals, one.frame_bytes, for_ps=for_ps, draw=draw)
        )
        trains.append(
            FrameTrain(
                source=number,
                target=len(case.flows) + number,
                priority=one.priority,
                size_bytes=int(one.frame_bytes) - GAP_BYTES,
                start_ps=at_ps[: MAX_FRAMES // len(case.flows)] + case.offsets_ps[number],
            )
        )
    return trains


def _wiring(case: BoundCase) -> PacketTopology:
    """Return the chain; cable number p is port p, in its first direction."""
    count, hops = len(case.flows), case.num_hops
    first = 2 * count  # of the switches
    ends = [(first + at, first + at + 1) for at in range(hops)]
    ends += [(number, first + one.route[1]) for number, one in enumerate(case.flows)]
    ends += [(first + one.route[-2] + 1, count + number) for number, one in enumerate(case.flows)]
    cables = [
        RoutedCable(
            one=one, other=other, rate_bps=port.rate_bps, delay_ps=round(port.latency_s * _PS)
        )
        for (one, other), port in zip(ends, case.ports, strict=True)
    ]
    routes = [
        (number, *(first + at for at in (*flow.route[1:-1], flow.route[-2] + 1)), count + number)
        for number, flow in enumerate(case.flows)
    ]
    return routed_wiring(first, cables, routes)


def _timing(case: BoundCase) -> PacketTiming:
    gates: dict[int, GateList] = {}
    shapers: dict[tuple[int, int], LaneShaper] = {}
    express: dict[int, frozenset[int]] = {}
    draw = np.random.default_rng(case.seed + 1)
    levels = sorted({one.priority for one in case.flows})
    for at, port in enumerate(case.ports[: case.num_hops]):
        if port.rule == "window":
            gates[2 * at] = _gates(port, int(draw.integers(case.cycle_ps)))
        for level, slope_bps in port.slopes_bps.items():
            shapers[2 * at, level] = LaneShaper(kind="cbs", rate_bps=slope_bps)
        if port.rule == "ats":
            shapers |= {(2 * at, level): LaneShaper(kind="ats") for level in levels}
        if port.express:
            express[2 * at] = port.express
    return PacketTiming(
        gates=gates,
        shapers=shapers,
        express=express,
        streams=tuple(one.arrivals for one in case.flows) if case.mechanism == "ats" else (),
    )


def _gates(port: BoundPort, offset_ps: int) -> GateList:
    windows, at_ps = [], 0
    for level, window_s in port.windows_s.items():
        end_ps = at_ps + round(window_s * _PS)
        windows.append(GateWindow(begin_ps=at_ps, end_ps=end_ps, priority=level))
        at_ps = end_ps
    return replace(window_gates(windows, cycle_ps=round(port.cycle_s * _PS)), offset_ps=offset_ps)
