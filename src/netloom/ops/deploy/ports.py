"""What must hold of every single port and NIC of lossless Ethernet, as their files have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.ops.deploy.rules import Broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Marks", "NicQos", "PlannedPort", "PortQos", "check_nic", "check_port", "check_strays"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """ECN on a queue."""

    least_bytes: int
    most_bytes: int
    mark_pct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PortQos:
    """A port of a switch.

    Attributes:
        where: File and port.
        priority_of: Traffic class by DSCP.
        group_of: Priority group by traffic class: where its packets wait on their way in.
        queue_of: Queue by traffic class: where they wait on their way out.
        held_by: The queue that a pause of each priority stops.
        pausing: Priorities that are paused.
        watched: Priorities whose pauses a watchdog ends.
        room_of: Headroom by priority group, of groups that pause instead of dropping.
        never_drops: Queues that hold all that may come in.
        marks: By queue, where packets are marked.
    """

    where: str
    rate_bps: float
    length_m: float
    mtu_bytes: int
    priority_of: Mapping[int, int]
    group_of: Mapping[int, int]
    queue_of: Mapping[int, int]
    held_by: Mapping[int, int]
    pausing: frozenset[int]
    watched: frozenset[int]
    room_of: Mapping[int, int]
    never_drops: frozenset[int]
    marks: Mapping[int, Marks]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPort:
    """What is plugged into a port according to the plan."""

    rate_bps: float
    length_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NicQos:
    """A port of a computer's NICs.

    Attributes:
        where: The file.
        mtu_bytes: 0 unless told.
        trusts_dscp: Whether it goes by the DSCP of packets.
        priority_of: Priority by DSCP.
        pausing: Priorities that are paused.
        cm_tos: The byte of DSCP and ECN with which RDMA of the connection manager's leaves; None
            unless told.
        tos: That with which all others leave.
        cnp_dscp: With which notifications leave; None unless told.
        cnp_priority: Likewise.
        notifies: Priorities on which it answers marks.
        reacts: Priorities on which it slows down.
    """

    where: str
    mtu_bytes: int
    trusts_dscp: bool
    priority_of: Mapping[int, int]
    pausing: frozenset[int]
    cm_tos: int | None
    tos: int | None
    cnp_dscp: int | None
    cnp_priority: int | None
    notifies: frozenset[int]
    reacts: frozenset[int]


def check_port(port: PortQos, rule: PortQos, plan: PlannedPort) -> Iterator[Broken]:
    """Yield what is wrong with a port.

    Args:
        port: It.
        rule: A port that all others shall be like.
        plan: Its cable.
    """
    for what, remedy in (*_unlike(port, rule), *_unplanned(port, plan)):
        yield Broken(severity="error", where=port.where, what=what, remedy=remedy)
    for priority in sorted(port.pausing):
        for what, remedy in _losses(port, priority):
            yield Broken(severity="error", where=port.where, what=what, remedy=remedy)


def _unlike(port: PortQos, rule: PortQos) -> Iterator[tuple[str, str]]:
    if port.pausing != rule.pausing:
        what = f"pauses priorities {sorted(port.pausing)}, {rule.where} {sorted(rule.pausing)}"
        yield what, "pause the same priorities on every host and switch"
    for dscp in sorted(port.priority_of.keys() | rule.priority_of.keys()):
        mine, theirs = port.priority_of.get(dscp, 0), rule.priority_of.get(dscp, 0)
        if mine != theirs:
            what = f"DSCP {dscp} has priority {mine}, but {theirs} in {rule.where}"
            yield what, "map each DSCP to the same priority everywhere"
    if port.mtu_bytes != rule.mtu_bytes:
        what = f"its MTU is {port.mtu_bytes}, that of {rule.where} {rule.mtu_bytes}"
        yield what, "give every port the same MTU: larger packets vanish at a smaller one"
    if port.marks != rule.marks:
        yield f"it marks otherwise than {rule.where}", "mark alike everywhere"


def _unplanned(port: PortQos, plan: PlannedPort) -> Iterator[tuple[str, str]]:
    if port.rate_bps != plan.rate_bps:
        what = f"its speed is {port.rate_bps / 1e9:g} Gb/s, its cable's {plan.rate_bps / 1e9:g}"
        yield what, "set the speed of the cable"
    if port.length_m < plan.length_m:
        what = f"its cable is {port.length_m:g} m here, and {plan.length_m:g} m on the plan"
        yield what, "set the length of the cable, from which headroom follows"


def _losses(port: PortQos, priority: int) -> Iterator[tuple[str, str]]:
    """Yield why a priority that is paused may lose packets, or stand still."""
    group, queue = port.group_of.get(priority, 0), port.queue_of.get(priority, 0)
    if not port.room_of.get(group):
        what = f"priority {priority} is paused, and its group {group} has no headroom"
        yield what, "give the group a lossless profile"
    strays = sorted(c for c, g in port.group_of.items() if g == group and c not in port.pausing)
    if strays:
        yield f"classes {strays} share group {group} with paused traffic", "map them elsewhere"
    if queue not in port.never_drops:
        yield f"queue {queue} of paused traffic may drop", "give it the lossless egress profile"
    if port.held_by.get(priority) != queue:
        what = f"a pause of priority {priority} stops queue {port.held_by.get(priority)}"
        yield f"{what}, its packets wait in {queue}", "map both to one queue"
    if priority not in port.watched:
        yield f"no watchdog ends a pause of priority {priority}", "watch every paused priority"
    marks = port.marks.get(queue)
    if marks is not None and not (0 < marks.least_bytes < marks.most_bytes and marks.mark_pct > 0):
        what = f"marks from {marks.least_bytes} to {marks.most_bytes} bytes, {marks.mark_pct} %"
        yield what, "begin below the end, with more than 0 %"


def check_strays(rule: PortQos, nics: Sequence[NicQos]) -> Iterator[Broken]:
    """Yield what switches pause though no NIC sends RDMA with it: it would hold RDMA up."""
    sent = {tos >> 2 for nic in nics for tos in (nic.cm_tos, nic.tos) if tos is not None}
    for dscp, priority in sorted(rule.priority_of.items()):
        if nics and priority in rule.pausing and dscp not in sent:
            what = f"DSCP {dscp} is paused with RDMA, and no NIC sends RDMA with it"
            remedy = "map it to a priority that is not paused"
            yield Broken(severity="error", where=rule.where, what=what, remedy=remedy)


def check_nic(nic: NicQos, rule: PortQos, *, tunnel_bytes: int) -> Iterator[Broken]:
    """Yield where a NIC disagrees with the switches.

    Args:
        nic: It.
        rule: A port that all others are like.
        tunnel_bytes: What switches put around a packet.
    """
    if nic.mtu_bytes + tunnel_bytes > rule.mtu_bytes:
        what = (
            f"packets of {nic.mtu_bytes} and {tunnel_bytes} bytes, switches take {rule.mtu_bytes}"
        )
        remedy = "lower the MTU of the NIC: larger packets vanish"
        yield Broken(severity="error", where=nic.where, what=what, remedy=remedy)
    for what, remedy in _disagreements(nic, rule):
        yield Broken(severity="error", where=nic.where, what=what, remedy=remedy)


def _disagreements(nic: NicQos, rule: PortQos) -> Iterator[tuple[str, str]]:
    if not nic.trusts_dscp:
        yield "a NIC does not go by DSCP, as switches do", "set '--trust dscp'"
    if nic.pausing != rule.pausing:
        what = f"pauses priorities {sorted(nic.pausing)}, switches {sorted(rule.pausing)}"
        yield what, "pause the same priorities on every host and switch"
    for dscp, priority in sorted(nic.priority_of.items()):
        if rule.priority_of.get(dscp, 0) != priority:
            what = f"DSCP {dscp} has priority {priority}, on switches {rule.priority_of.get(dscp)}"
            yield what, "map each DSCP to the same priority everywhere"
    yield from _missent(nic, rule)
    yield from _misanswered(nic, rule)


def _missent(nic: NicQos, rule: PortQos) -> Iterator[tuple[str, str]]:
    for setter, tos in (("cma_roce_tos", nic.cm_tos), ("traffic_class", nic.tos)):
        if tos is None or nic.priority_of.get(tos >> 2) not in rule.pausing:
            what = f"{setter} sends RDMA with ToS {tos}, which is not paused"
            yield what, "send RDMA with the DSCP of the paused priority, and map it on the NIC"
        elif tos & 3 not in {1, 2}:
            what = f"{setter} sends RDMA with ToS {tos}, which may not be marked"
            yield what, "add 2, which says so: switches drop what they would have marked"


def _misanswered(nic: NicQos, rule: PortQos) -> Iterator[tuple[str, str]]:
    """Yield what keeps marks from slowing senders down in time."""
    maps = (nic.priority_of, rule.priority_of)
    dscp = -1 if nic.cnp_dscp is None else nic.cnp_dscp
    if any(dscp not in one or one[dscp] != nic.cnp_priority for one in maps):
        what = f"notifications leave with DSCP {nic.cnp_dscp} on priority {nic.cnp_priority}"
        yield f"{what}, which is mapped otherwise", "map both alike on hosts and switches"
    if nic.cnp_priority in rule.pausing:
        yield "notifications wait behind pauses", "send them on a priority of their own"
    for verb, priorities in (("answers", nic.notifies), ("reacts to", nic.reacts)):
        if priorities != rule.pausing:
            what = f"a NIC {verb} marks on {sorted(priorities)}, paused is {sorted(rule.pausing)}"
            yield what, "enable roce_np and roce_rp on the paused priority"
    for priority in sorted(nic.reacts & rule.pausing):
        if (queue := rule.queue_of.get(priority, 0)) not in rule.marks:
            what = f"a NIC reacts to marks on priority {priority}, and queue {queue} has none"
            yield what, "turn ECN on for the queue: pauses alone spread congestion"
