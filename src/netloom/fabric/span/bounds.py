"""Bounds of classes through a network of ports: delay, jitter and backlog.

Frames are taken whole: a flow sends at most b + r t bytes of them in any time t, and a frame counts
from the arrival of its last bit at a port until its own last bit is out. So nothing has to be added
for packets, and a port whose frames take between d and D hands on a flow of burst b + r (D - d).
Port by port that gives a bound (total flow analysis); a flow that meets others at strict priorities
alone also has that of its tandem, which pays its own burst once. The lower one holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from netloom.errors import SpecError
from netloom.fabric.span.curves import (
    CUT_BYTES,
    PREEMPTED_BYTES,
    CreditClass,
    RateLatency,
    TokenBucket,
    shaper_server,
    window_server,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["BoundFlow", "BoundPort", "FlowBound", "NetworkBounds", "network_bounds"]

PortRule = Literal["priority", "cbs", "ats", "window"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPort:
    """A port that flows queue for.

    Attributes:
        latency_s: Behind it: propagation and forwarding.
        rule: ``priority``: the highest first, of one priority the first to come; ``cbs`` and
            ``window``: the same, where *slopes_bps* and *windows_s* say so; ``ats``: each flow is
            shaped again before it queues.
        express: Priorities that cut others on the wire.
        slopes_bps: idleSlope of priorities behind a credit-based shaper; all above others.
        windows_s: Length of the window that a priority has for itself in every cycle.
    """

    name: str
    rate_bps: float
    latency_s: float = 0.0
    rule: PortRule = "priority"
    express: frozenset[int] = frozenset()
    slopes_bps: Mapping[int, float] = field(default_factory=dict)
    windows_s: Mapping[int, float] = field(default_factory=dict)
    cycle_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFlow:
    """A shaped flow.

    Attributes:
        arrivals: Bytes on the wire, preambles and gaps included.
        frame_bytes: Of its frames, on the wire.
        route: Numbers of ports, in order.
    """

    name: str
    priority: int
    arrivals: TokenBucket
    frame_bytes: float
    route: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowBound:
    """What a frame of a flow takes, from its start to its last bit's arrival.

    Attributes:
        delay_s: At most; None where there is no bound.
        least_s: On empty ports.
        reason: Why there is none.
    """

    name: str
    delay_s: float | None
    least_s: float
    reason: str = ""

    @property
    def jitter_s(self) -> float | None:
        """The longest less the shortest."""
        return None if self.delay_s is None else self.delay_s - self.least_s


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkBounds:
    """Of every flow, and of every queue: (port, priority) -> most bytes in it and on the wire."""

    flows: tuple[FlowBound, ...]
    backlog_bytes: Mapping[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class _Local:
    """A flow at one port: with the burst that it has there, and as it comes to its regulator."""

    flow: BoundFlow
    burst_bytes: float
    jitter_s: float

    @property
    def rate_bps(self) -> float:
        return self.flow.arrivals.rate_bps


@dataclass(frozen=True, slots=True)
class _Share:
    """What a priority gets of a port: its server, and whether its frames may be cut in two."""

    server: RateLatency
    whole_bps: float  # at which a frame that has begun is sent


def network_bounds(ports: Sequence[BoundPort], flows: Sequence[BoundFlow]) -> NetworkBounds:
    """Return the bounds of *flows* through *ports*.

    Raises:
        SpecError: ports depend on each other in a circle: none can be bounded first.
    """
    order = _ordered(ports, flows)
    local: dict[tuple[str, int], _Local] = {
        (one.name, at): _Local(one, one.arrivals.burst_bytes, 0.0)
        for one in flows
        for at in one.route
        if at == one.route[0] or ports[at].rule == "ats"
    }
    delays: dict[tuple[str, int], float] = {}
    failed: dict[str, str] = {}
    for at in order:
        here = [local[one.name, at] for one in flows if at in one.route and (one.name, at) in local]
        missing = [one for one in flows if at in one.route and (one.name, at) not in local]
        for one in here:
            above = [other for other in missing if other.priority >= one.flow.priority]
            share = None if above else _share(ports[at], one.flow.priority, here)
            if share is None:
                failed.setdefault(one.flow.name, _why_not(ports[at], one.flow, above))
                continue
            delay_s = _delay_s(ports[at], one, here, share)
            delays[one.flow.name, at] = delay_s
            _hand_on(ports, one, at, delay_s, local)
    return NetworkBounds(
        flows=tuple(_whole(ports, one, local, delays, failed, flows) for one in flows),
        backlog_bytes=_backlogs(ports, local, delays),
    )


def _backlogs(
    ports: Sequence[BoundPort],
    local: Mapping[tuple[str, int], _Local],
    delays: Mapping[tuple[str, int], float],
) -> dict[tuple[int, int], float]:
    backlog: dict[tuple[int, int], float] = {}
    for (name, at), delay_s in delays.items():
        here = [one for (_, place), one in local.items() if place == at]
        mine = local[name, at]
        share = _share(ports[at], mine.flow.priority, here)
        assert share is not None
        found = _backlog(ports[at], mine, here, share, delay_s)
        queue = at, mine.flow.priority
        backlog[queue] = max(backlog.get(queue, 0.0), found)
    return backlog


def _ordered(ports: Sequence[BoundPort], flows: Iterable[BoundFlow]) -> list[int]:
    """Return ports so that each comes after those that feed it."""
    feeds: dict[int, set[int]] = {}
    used = set()
    for one in flows:
        used |= set(one.route)
        for before, after in pairwise(one.route):
            if ports[after].rule != "ats":  # it shapes each flow again: earlier ports do not matter
                feeds.setdefault(after, set()).add(before)
    order: list[int] = []
    left = sorted(used)
    while left:
        ready = [at for at in left if not feeds.get(at, set()) & set(left)]
        if not ready:
            circle = _circle(left, feeds)
            raise SpecError(
                key="classes",
                what="ports depend on each other in a circle: "
                + " -> ".join(ports[at].name for at in circle),
                remedy="route a class another way, or shape at each hop ('shaper: ats'), which "
                "ends the dependency",
            )
        order += ready
        left = [at for at in left if at not in ready]
    return order


def _circle(left: list[int], feeds: Mapping[int, set[int]]) -> list[int]:
    """Return ports that feed each other, the first one twice."""
    walk = [left[0]]
    while True:
        before = min(feeds[walk[-1]] & set(left))
        if before in walk:
            return [before, *reversed(walk[walk.index(before) :])]
        walk.append(before)


def _share(port: BoundPort, priority: int, here: Sequence[_Local]) -> _Share | None:
    """Return what *priority* gets of *port*; None where its flows exceed that."""
    same_bps = sum(one.rate_bps for one in here if one.flow.priority == priority)
    if port.rule == "window":
        most = max(one.flow.frame_bytes for one in here if one.flow.priority == priority)
        window_s = port.windows_s.get(priority, 0.0)
        server = window_server(port.rate_bps, window_s, port.cycle_s, frame_bytes=most)
        found = None if server is None else _Share(server, server.rate_bps)
    elif port.rule == "cbs" and priority in port.slopes_bps:
        found = _shaped(port, priority, here)
    else:
        found = _prioritised(port, priority, here)
    if found is None or same_bps > found.server.rate_bps * (1 + 1e-12):
        return None
    return found


def _prioritised(port: BoundPort, priority: int, here: Sequence[_Local]) -> _Share | None:
    is_express = priority in port.express
    above_bps = above_bytes = 0.0
    for one in here:
        if one.flow.priority > priority:
            cuts = one.flow.priority in port.express and not is_express
            more = 1 + (CUT_BYTES / one.flow.frame_bytes if cuts else 0.0)
            bucket = _departing(port, one, here)
            above_bps += more * bucket.rate_bps
            above_bytes += more * bucket.burst_bytes
    left_bps = port.rate_bps - above_bps
    if left_bps <= 0:
        return None
    blocking = 0.0
    for one in here:
        if one.flow.priority < priority:
            can_cut = is_express and one.flow.priority not in port.express
            frame = one.flow.frame_bytes
            blocking = max(blocking, min(frame, PREEMPTED_BYTES) if can_cut else frame)
    server = RateLatency(rate_bps=left_bps, latency_s=(above_bytes + blocking) * 8 / left_bps)
    is_cut = bool(port.express) and not is_express
    return _Share(server, left_bps if is_cut else port.rate_bps)


def _departing(port: BoundPort, one: _Local, here: Sequence[_Local]) -> TokenBucket:
    """Return what a higher flow may take of the port; behind a shaper, its part of the class's."""
    slope_bps = port.slopes_bps.get(one.flow.priority) if port.rule == "cbs" else None
    if port.rule == "ats":
        return one.flow.arrivals
    if slope_bps is None:
        return TokenBucket(burst_bytes=one.burst_bytes, rate_bps=one.rate_bps)
    share = _shaped(port, one.flow.priority, here)
    same = [each for each in here if each.flow.priority == one.flow.priority]
    if share is None or one is not same[0]:  # the class's, once
        return TokenBucket(burst_bytes=0.0, rate_bps=0.0)
    most = max(each.flow.frame_bytes for each in same)
    class_ = CreditClass(idle_slope_bps=slope_bps, frame_bytes=most)
    saved = slope_bps * share.server.latency_s / 8 - class_.least_bytes(port.rate_bps)
    return TokenBucket(burst_bytes=saved, rate_bps=slope_bps)


def _shaped(port: BoundPort, priority: int, here: Sequence[_Local]) -> _Share | None:
    def class_of(level: int) -> CreditClass:
        frames = [one.flow.frame_bytes for one in here if one.flow.priority == level]
        return CreditClass(
            idle_slope_bps=port.slopes_bps[level], frame_bytes=max(frames, default=0.0)
        )

    higher = [class_of(level) for level in port.slopes_bps if level > priority]
    below = [one.flow.frame_bytes for one in here if one.flow.priority < priority]
    server = shaper_server(
        port.rate_bps,
        class_of(priority),
        higher=higher,
        lower_frame_bytes=max(below, default=0.0),
    )
    return None if server is None else _Share(server, server.rate_bps)


def _delay_s(port: BoundPort, one: _Local, here: Sequence[_Local], share: _Share) -> float:
    """Return from a frame's arrival at *port* until its last bit is out, at most."""
    same = [each for each in here if each.flow.priority == one.flow.priority]
    burst = sum(
        each.flow.arrivals.burst_bytes if port.rule == "ats" else each.burst_bytes for each in same
    )
    own = one.flow.frame_bytes
    before_s = share.server.latency_s + max(burst - own, 0.0) * 8 / share.server.rate_bps
    return before_s + own * 8 / share.whole_bps


def _backlog(
    port: BoundPort, one: _Local, here: Sequence[_Local], share: _Share, delay_s: float
) -> float:
    same = [each for each in here if each.flow.priority == one.flow.priority]
    most = max(each.flow.frame_bytes for each in same)
    if port.rule == "ats":  # what its regulators hold as well: all that came in a frame's stay
        stay_s = max(each.jitter_s for each in same) + delay_s
        return sum(
            each.flow.arrivals.burst_bytes + each.rate_bps * (each.jitter_s + stay_s) / 8
            for each in same
        )
    rate_bps = sum(each.rate_bps for each in same)
    served_s = share.server.latency_s + most * 8 / share.server.rate_bps
    return sum(each.burst_bytes for each in same) + rate_bps * served_s / 8


def _hand_on(
    ports: Sequence[BoundPort],
    one: _Local,
    at: int,
    delay_s: float,
    local: dict[tuple[str, int], _Local],
) -> None:
    place = one.flow.route.index(at)
    if place + 1 == len(one.flow.route):
        return
    jitter_s = delay_s - one.flow.frame_bytes * 8 / ports[at].rate_bps
    burst = one.burst_bytes + one.rate_bps * jitter_s / 8
    if ports[at].rule == "ats":
        burst = one.flow.arrivals.burst_bytes + one.rate_bps * jitter_s / 8
    local[one.flow.name, one.flow.route[place + 1]] = _Local(one.flow, burst, jitter_s)


def _why_not(port: BoundPort, flow: BoundFlow, above: Sequence[BoundFlow]) -> str:
    if above:
        return f"no bound: {above[0].name!r}, which is sent before it at {port.name}, has none"
    return f"no bound: more is sent than {port.name} has for priority {flow.priority}"


def _whole(
    ports: Sequence[BoundPort],
    flow: BoundFlow,
    local: Mapping[tuple[str, int], _Local],
    delays: Mapping[tuple[str, int], float],
    failed: Mapping[str, str],
    flows: Sequence[BoundFlow],
) -> FlowBound:
    behind_s = sum(ports[at].latency_s for at in flow.route)
    least_s = behind_s + sum(flow.frame_bytes * 8 / ports[at].rate_bps for at in flow.route)
    if flow.name in failed or any((flow.name, at) not in delays for at in flow.route):
        reason = failed.get(flow.name, "no bound: an earlier port has none")
        return FlowBound(name=flow.name, delay_s=None, least_s=least_s, reason=reason)
    queue_s = sum(delays[flow.name, at] for at in flow.route)
    tandem_s = _tandem_s(ports, flow, local, flows)
    if tandem_s is not None:
        queue_s = min(queue_s, tandem_s)
    return FlowBound(name=flow.name, delay_s=queue_s + behind_s, least_s=least_s)


def _tandem_s(
    ports: Sequence[BoundPort],
    flow: BoundFlow,
    local: Mapping[tuple[str, int], _Local],
    flows: Sequence[BoundFlow],
) -> float | None:
    """Return the bound of the whole route as one server; None where a port is not of that kind."""
    latency_s, slowest_bps = 0.0, float("inf")
    for place, at in enumerate(flow.route):
        port = ports[at]
        if port.rule != "priority" or port.express:
            return None
        here = [local[one.name, at] for one in flows if (one.name, at) in local]
        mine = next(one for one in here if one.flow.name == flow.name)
        share = _prioritised(port, flow.priority, here)
        others = [one for one in here if one.flow.priority == flow.priority and one is not mine]
        left_bps = (share.server.rate_bps if share else 0.0) - sum(one.rate_bps for one in others)
        if share is None or left_bps <= 0:
            return None
        before = share.server.latency_s * share.server.rate_bps / 8
        before += sum(one.burst_bytes for one in others)
        if place + 1 < len(flow.route):
            before += flow.frame_bytes  # the next port starts when it has the whole frame
        latency_s += before * 8 / left_bps
        slowest_bps = min(slowest_bps, left_bps)
    return latency_s + flow.arrivals.burst_bytes * 8 / slowest_bps
