"""Rows that the packet engine answers by the clock: W11, W12, W14 and W15."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.streams import FrameTrain, run_streams
from netloom.engines.packet.timing import CycleQueues, PacketTiming
from netloom.fabric.span.bounds import BoundFlow, BoundPort, network_bounds
from netloom.fabric.span.curves import TokenBucket, cycle_delays_s
from netloom.fabric.span.gates import cycle_gates
from netloom.fabric.span.schedule import PeriodicStream, ScheduledLink, list_schedule
from netloom.fabric.wiring.routed import RoutedCable, routed_wiring
from netloom.validation.span.random_networks import greedy_ps, one_hop, play, random_case
from netloom.validation.span.row import exact, inside, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.engines.packet.streams import StreamDelays
    from netloom.fabric.span.schedule import GateSchedule
    from netloom.validation.span.random_networks import Mechanism
    from netloom.validation.span.row import SpanRow

__all__ = [
    "CYCLE_PS",
    "cycled_delays",
    "dumbbell",
    "dumbbell_delays",
    "dumbbell_links",
    "least_ratio",
    "prioritised_delays",
    "timed_rows",
    "violations",
]

CYCLE_PS: Final = 10_000_000
PROPERTY_CASES: Final = 300
ONE_HOP_CASES: Final = 40
_US: Final = 1_000_000
_PS: Final = 1e12


def timed_rows() -> Iterator[SpanRow]:
    """Yield the rows."""
    yield from _cycles()
    yield from _dumbbell_rows()
    yield from _priorities()
    yield exact(
        "W15",
        f"bounds violated in {PROPERTY_CASES} random networks of 2 to 8 hops",
        0.0,
        float(violations(PROPERTY_CASES, seed=1)),
        tag="definition",
        kind="property",
    )
    for mechanism in ("fifo", "priority"):
        yield inside(
            f"W15-{mechanism}",
            f"one hop, {mechanism}: greedy sources reach this share of the bound",
            (0.8, 1.0),
            least_ratio(mechanism, ONE_HOP_CASES),
            tag="definition",
            kind="property",
        )


def violations(num_cases: int, *, seed: int) -> int:
    """Return in how many random networks a delay or backlog exceeds its bound."""
    return sum(
        play(random_case(np.random.default_rng([seed, number]))).worst > 1 + 1e-9
        for number in range(num_cases)
    )


def least_ratio(mechanism: Mechanism, num_cases: int) -> float:
    """Return the least of what greedy sources at one port reach of a bound, case by case."""
    cases = (one_hop(np.random.default_rng(number), mechanism) for number in range(num_cases))
    return min(max(play(case).delay_ratios) for case in cases)


def cycled_delays(
    *,
    num_hops: int,
    seed: int,
    delay_ps: int = 500_000,
    num_cycles: int = 60,
    tagged: bool = False,
) -> StreamDelays:
    """Return what streams take through *num_hops* bridges that send cycle by cycle.

    Ten streams of a twelfth of a cycle each, the first over all bridges, the others over parts of
    them; each sends in most cycles, at any time that lets its frame arrive in it.
    """
    draw = np.random.default_rng(seed)
    count, rate_bps, frame_ps = 10, 10e9, 816_000  # 1,020 bytes on the wire
    ends = [(0, num_hops)] + [
        tuple(sorted(draw.choice(num_hops + 1, 2, replace=False).tolist()))
        for _ in range(count - 1)
    ]
    first, near_ps = count + num_hops, 500_000
    cables = [
        RoutedCable(one=first + at, other=first + at + 1, rate_bps=rate_bps, delay_ps=delay_ps)
        for at in range(num_hops - 1)
    ]
    cables += [
        RoutedCable(one=first + at, other=count + at, rate_bps=rate_bps, delay_ps=near_ps)
        for at in range(num_hops)
    ]
    out = [2 * at for at in range(len(cables))]
    routes, trains = [], []
    for number, (begin, end) in enumerate(ends):
        bridges = [first + at for at in range(begin, end)]
        cables.append(
            RoutedCable(one=number, other=bridges[0], rate_bps=rate_bps, delay_ps=near_ps)
        )
        routes.append((number, *bridges, count + end - 1))
        cycles = np.flatnonzero(draw.random(num_cycles) < 0.8)
        phase_ps = draw.integers(0, CYCLE_PS - frame_ps - near_ps, len(cycles))
        trains.append(
            FrameTrain(
                source=number,
                target=count + end - 1,
                priority=6,
                size_bytes=1_000,
                start_ps=cycles * CYCLE_PS + phase_ps,
            )
        )
    queues = (6, 5, 4) if tagged else (6, 5)
    gates = cycle_gates(
        queues,
        cycle_ps=CYCLE_PS,
        dead_ps=0 if tagged else delay_ps,
        always=frozenset(),
    )
    shift = 1 - (-delay_ps // CYCLE_PS)
    timing = PacketTiming(
        gates=dict.fromkeys(out, gates),
        cycle=CycleQueues(
            priorities=queues,
            cycle_ps=CYCLE_PS,
            shift=dict.fromkeys(out[: num_hops - 1], shift) if tagged else {},
        ),
    )
    return run_streams(routed_wiring(first, cables, routes), trains, timing)


def _cycles() -> Iterator[SpanRow]:
    runs = [cycled_delays(num_hops=5, seed=seed) for seed in range(4)]
    times_s = np.concatenate([run.delay_ps[0] for run in runs]) / _PS
    low_s, high_s = cycle_delays_s(5, CYCLE_PS / _PS)
    for row_id, what, found in (
        ("W11-least", "CQF, 5 hops, T = 10 us: shortest delay", times_s.min()),
        ("W11-most", "CQF, 5 hops, T = 10 us: longest delay", times_s.max()),
    ):
        yield inside(
            row_id, what, (low_s, high_s), float(found), tag="S2,R-H", unit="s", kind="sim"
        )
    yield inside(
        "W11-jitter",
        "the same: jitter",
        (0.0, high_s - low_s),
        float(np.ptp(times_s)),
        tag="S2,R-H",
        unit="s",
        kind="sim",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dumbbell:
    """INET's showcase: two sources, two switches, two sinks, 100 Mb/s, 10 m cables."""

    cables: tuple[tuple[int, int], ...] = ((0, 4), (1, 4), (4, 5), (5, 2), (5, 3))
    rate_bps: int = 100_000_000
    delay_ps: int = 50_000
    preamble_bytes: int = 8
    guard_ps: int = 960_000  # the gap of 12 bytes


def dumbbell_links() -> list[ScheduledLink]:
    """Return the links of INET's showcase; the first two are the sources' own."""
    net = Dumbbell()
    return [
        ScheduledLink(
            name=f"{one}-{other}",
            rate_bps=net.rate_bps,
            delay_ps=net.delay_ps,
            gated=one > 3,
        )
        for one, other in net.cables
    ]


def dumbbell() -> GateSchedule:
    """Return the schedule of INET's showcase: 1,000 and 500 bytes from each source every 1 ms.

    Frames have 50 bytes of headers (UDP, IP, Ethernet with a VLAN tag) and a preamble of 8; every
    stream has a limit of 500 us.
    """
    net = Dumbbell()
    streams = [
        PeriodicStream(
            name=f"source {source + 1}, {size} bytes",
            period_ps=1_000 * _US,
            size_bytes=size + 50 + net.preamble_bytes,
            route=(source, 2, 3 + source),
            deadline_ps=500 * _US,
            priority=priority,
        )
        for source in (0, 1)
        for size, priority in ((1_000, 4), (500, 5))
    ]
    return list_schedule(streams, dumbbell_links(), guard_ps=net.guard_ps)


def dumbbell_delays(schedule: GateSchedule, num_periods: int = 20) -> tuple[NDArray[np.int64], ...]:
    """Return what the frames of each stream take, run by *schedule* in the packet engine."""
    net = Dumbbell()
    wiring = routed_wiring(
        4,
        [
            RoutedCable(one=one, other=other, rate_bps=net.rate_bps, delay_ps=net.delay_ps)
            for one, other in net.cables
        ],
        [(0, 4, 5, 2), (1, 4, 5, 3)],
    )
    trains = [
        FrameTrain(
            source=slot.stream.route[0],
            target=2 + slot.stream.route[0],
            priority=slot.stream.priority,
            size_bytes=slot.stream.size_bytes - net.preamble_bytes,
            start_ps=slot.offset_ps + slot.stream.period_ps * np.arange(num_periods),
        )
        for slot in schedule.slots
    ]
    timing = PacketTiming(gates={2 * at: gates for at, gates in schedule.gates.items()})
    return run_streams(wiring, trains, timing, gap_bytes=net.preamble_bytes).delay_ps


def _dumbbell_rows() -> Iterator[SpanRow]:
    schedule = dumbbell()
    delays = dumbbell_delays(schedule)
    for number, (size, expected_s, tag) in enumerate(
        ((1_000, 254.07e-6, "S"), (500, 134.07e-6, "D"))
    ):
        yield within(
            f"W12-{size}",
            f"TAS dumbbell, {size} bytes: delay as scheduled",
            expected_s,
            float(delays[number].max()) / _PS,
            tolerance=0.01e-6 / expected_s,
            tag=tag,
            unit="s",
            kind="sim",
        )
    yield exact(
        "W12-jitter",
        "the same, all four streams: jitter",
        0.0,
        float(max(np.ptp(one) for one in delays)) / _PS,
        tag="S",
        unit="s",
        kind="sim",
    )


def prioritised_delays(*, preempts: bool) -> list[tuple[float, float]]:
    """Return (simulated, bound) of the high and the low class of W14, in seconds."""
    frame = 9_216.0
    flows = [
        BoundFlow(
            name=name,
            priority=priority,
            arrivals=TokenBucket(burst_bytes=burst, rate_bps=rate_bps),
            frame_bytes=frame,
            route=(0,),
        )
        for name, priority, burst, rate_bps in (
            ("high", 1, 128_000.0, 40e9),
            ("low", 0, 256_000.0, 10e9),
        )
    ]
    port = BoundPort(
        name="port", rate_bps=100e9, express=frozenset({1}) if preempts else frozenset()
    )
    bounds = network_bounds([port], flows).flows
    fast_bps = 6.4e12
    wiring = routed_wiring(
        3,
        [
            RoutedCable(one=0, other=3, rate_bps=fast_bps),
            RoutedCable(one=1, other=3, rate_bps=fast_bps),
            RoutedCable(one=3, other=2, rate_bps=port.rate_bps),
        ],
        [(0, 3, 2), (1, 3, 2)],
    )
    own_ps = round(frame * 8 / fast_bps * _PS)  # of a frame on its source's own link
    trains = [
        FrameTrain(
            source=number,
            target=2,
            priority=one.priority,
            size_bytes=int(frame) - 20,
            # The low class's first frame is on the wire when the high ones come.
            start_ps=greedy_ps(one.arrivals, frame, for_ps=300e6) + (own_ps if number == 0 else 0),
        )
        for number, one in enumerate(flows)
    ]
    timing = PacketTiming(express={4: port.express} if preempts else {})
    shown = run_streams(wiring, trains, timing)
    return [
        ((shown.worst_ps(number) - own_ps) / _PS, bound.delay_s or 0.0)
        for number, bound in enumerate(bounds)
    ]


def _priorities() -> Iterator[SpanRow]:
    plain, cut = (prioritised_delays(preempts=preempts) for preempts in (False, True))
    for row_id, what, (shown_s, bound_s) in (
        ("W14-sim", "strict priority: simulated", plain[0]),
        ("W14-preempted-sim", "with pre-emption: simulated", cut[0]),
        ("W14-low-sim", "low class: simulated", plain[1]),
    ):
        yield inside(
            row_id,
            f"{what} delay is below its bound",
            (0.8 * bound_s, bound_s),
            shown_s,
            tag="D",
            unit="s",
            kind="sim",
        )
