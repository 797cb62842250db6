"""Classes of spans in the packet engine: greedy sources, the worst of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.streams import FrameTrain, run_streams
from netloom.engines.packet.timing import LaneShaper, PacketTiming
from netloom.fabric.span.curves import TokenBucket
from netloom.fabric.span.gates import GateWindow, window_gates
from netloom.fabric.wiring.routed import RoutedCable, routed_wiring
from netloom.study.span.placed import FRAME_BYTES, PS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.fabric.span.bounds import BoundPort
    from netloom.fabric.span.gates import GateList
    from netloom.study.span.placed import PlacedClass, SpanPort

__all__ = ["MAX_FRAMES", "played_delays"]

MAX_FRAMES: Final = 60_000
MAX_BURST_BYTES: Final = 2.0**40  # as good as none
GAP_BYTES: Final = 20
FASTER: Final = 16  # a source's own link, against the fastest span


@dataclass(frozen=True, slots=True)
class _Layout:
    """Vertices: two endpoints a class, then sites; cables: ports first, in their order."""

    sites: Mapping[str, int]
    fast_bps: float

    @property
    def own_ps(self) -> int:
        """What a frame takes on a link of its own."""
        return math.ceil(FRAME_BYTES * 8 * PS / self.fast_bps)


def played_delays(ports: Sequence[SpanPort], classes: Sequence[PlacedClass]) -> dict[int, float]:
    """Return the longest delay of each class that is shaped; empty where there are too many frames.

    Every class sends its burst at once and what its rate allows after that; lower classes begin a
    frame earlier, so that one of theirs is on the wire. A class that is not shaped sends one frame.
    """
    names = sorted({name for one in ports for name in (one.source, one.target)})
    fast_bps = FASTER * max(one.port.rate_bps for one in ports)
    layout = _Layout({name: 2 * len(classes) + at for at, name in enumerate(names)}, fast_bps)
    trains = _trains(classes, ports, own_ps=layout.own_ps)
    if sum(len(one.start_ps) for one in trains) > MAX_FRAMES:
        return {}
    cables = [
        RoutedCable(
            one=layout.sites[one.source],
            other=layout.sites[one.target],
            rate_bps=one.port.rate_bps,
            delay_ps=round(one.port.latency_s * PS),
        )
        for one in ports
    ]
    routes = []
    for number, one in enumerate(classes):
        path = [layout.sites[ports[at].source] for at in one.flow.route]
        path.append(layout.sites[ports[one.flow.route[-1]].target])
        ends = number, len(classes) + number
        cables += [
            RoutedCable(one=ends[0], other=path[0], rate_bps=fast_bps),
            RoutedCable(one=path[-1], other=ends[1], rate_bps=fast_bps),
        ]
        routes.append((ends[0], *path, ends[1]))
    wiring = routed_wiring(2 * len(classes), cables, routes)
    shown = run_streams(wiring, trains, _timing(ports, classes), gap_bytes=GAP_BYTES)
    return {
        number: (shown.worst_ps(number) - 2 * layout.own_ps) / PS
        for number, one in enumerate(classes)
        if one.spec.burst_bytes is not None
    }


def _trains(
    classes: Sequence[PlacedClass], ports: Sequence[SpanPort], *, own_ps: int
) -> list[FrameTrain]:
    levels = sorted({one.spec.priority for one in classes})
    total = sum(
        one.flow.arrivals.burst_bytes for one in classes if one.spec.burst_bytes is not None
    )
    for_ps = total * 8 / min(one.port.rate_bps for one in ports) * PS
    return [
        FrameTrain(
            source=number,
            target=len(classes) + number,
            priority=one.spec.priority,
            size_bytes=FRAME_BYTES - GAP_BYTES,
            start_ps=_starts_ps(one, for_ps) + levels.index(one.spec.priority) * own_ps,
        )
        for number, one in enumerate(classes)
    ]


def _starts_ps(one: PlacedClass, for_ps: float) -> NDArray[np.int64]:
    bucket = one.flow.arrivals
    if one.spec.burst_bytes is None:
        return np.zeros(1, dtype=np.int64)
    at_once = int(bucket.burst_bytes // FRAME_BYTES)
    if bucket.rate_bps <= 0:
        return np.zeros(at_once, dtype=np.int64)
    each_ps = math.ceil(FRAME_BYTES * 8 * PS / bucket.rate_bps)
    later = np.arange(1, 1 + min(int(for_ps // each_ps), MAX_FRAMES), dtype=np.int64)
    return np.concatenate([np.zeros(at_once, dtype=np.int64), each_ps * later])


def _timing(ports: Sequence[SpanPort], classes: Sequence[PlacedClass]) -> PacketTiming:
    gates: dict[int, GateList] = {}
    shapers: dict[tuple[int, int], LaneShaper] = {}
    express: dict[int, frozenset[int]] = {}
    streams: tuple[TokenBucket, ...] = ()
    for at, one in enumerate(ports):
        link, port = 2 * at, one.port
        if port.rule == "window":
            gates[link] = _gates(port, [each for each in classes if at in each.flow.route])
        for level, slope_bps in port.slopes_bps.items():
            shapers[link, level] = LaneShaper(kind="cbs", rate_bps=slope_bps)
        if port.rule == "ats":
            for placed in classes:
                shapers[link, placed.spec.priority] = LaneShaper(kind="ats")
            streams = tuple(_stream(placed.flow.arrivals) for placed in classes)
        if port.express:
            express[link] = port.express
    return PacketTiming(gates=gates, shapers=shapers, express=express, streams=streams)


def _stream(bucket: TokenBucket) -> TokenBucket:
    return TokenBucket(
        burst_bytes=min(bucket.burst_bytes, MAX_BURST_BYTES), rate_bps=max(bucket.rate_bps, 1.0)
    )


def _gates(port: BoundPort, here: Sequence[PlacedClass]) -> GateList:
    windows = [
        GateWindow(
            begin_ps=round(one.spec.window.begin_s * PS),
            end_ps=round((one.spec.window.begin_s + one.spec.window.length_s) * PS),
            priority=one.spec.priority,
        )
        for one in here
        if one.spec.window is not None
    ]
    return window_gates(windows, cycle_ps=round(port.cycle_s * PS))
