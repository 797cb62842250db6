"""What must hold of a deployment whatever the devices: one finding for each rule that does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netloom.fabric.deadlock import check_adaptive, prove_by_tiers
from netloom.fabric.routing.candidates import tables
from netloom.fabric.wire import headroom

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from netloom.ops.deploy.intent import Intent

__all__ = [
    "Broken",
    "HostQos",
    "LosslessPort",
    "Severity",
    "SwitchQos",
    "by_cause",
    "check_addresses",
    "check_intent",
    "check_keys",
    "check_switch",
]

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A rule that does not hold.

    Attributes:
        severity: An ``error`` must be fixed before anything runs; a ``warning`` should be known.
        where: File, device or field.
        what: What is wrong there.
        remedy: What to do.
        places: Everywhere that the same is wrong, where that is more than one place.
    """

    severity: Severity
    where: str
    what: str
    remedy: str
    places: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """In how many places it is wrong."""
        return max(1, len(self.places))


def by_cause(findings: Iterable[Broken]) -> tuple[Broken, ...]:
    """Return findings with one for each cause: what is wrong alike in many places is one.

    ``where`` is then the first of the places; errors come first, in the order they were found.
    """
    places: dict[tuple[Severity, str, str], dict[str, None]] = {}
    for one in findings:
        cause = (one.severity, one.what, one.remedy)
        places.setdefault(cause, {}).update(dict.fromkeys(one.places or (one.where,)))
    found = [
        Broken(
            severity=severity,
            where=next(iter(where)),
            what=what,
            remedy=remedy,
            places=tuple(where) if len(where) > 1 else (),
        )
        for (severity, what, remedy), where in places.items()
    ]
    return tuple(sorted(found, key=lambda one: one.severity))


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessPort:
    """A port and priority that may pause its peer.

    Attributes:
        length_m: Of its cable.
        xoff_bytes: Its headroom.
        alpha: Share of the free pool that it may take before it pauses.
    """

    name: str
    rate_bps: float
    length_m: float
    xoff_bytes: int
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchQos:
    """The settings of a switch that others must agree with, as its file has them.

    Attributes:
        priority_of: Priority by DSCP.
        pausing: Priorities that are paused.
        least_bytes: Where marking begins; None where nothing is marked.
        most_bytes: Where every packet is marked.
        pool_bytes: Shared buffer.
        room_bytes: What the pool sets aside for headroom.
        ports: Those that may pause their peers.
        addresses: With their prefix lengths.
        has_buffers: Whether the file gives pools and headroom; else the switch works them out.
    """

    where: str
    priority_of: Mapping[int, int]
    pausing: frozenset[int]
    least_bytes: int | None
    most_bytes: int | None
    pool_bytes: int
    room_bytes: int
    ports: tuple[LosslessPort, ...]
    addresses: tuple[str, ...]
    has_buffers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HostQos:
    """The settings of a computer's NICs, as its file has them."""

    where: str
    priority_of: Mapping[int, int]
    pausing: frozenset[int]
    addresses: tuple[str, ...]


def check_intent(intent: Intent) -> Iterator[Broken]:
    """Yield what is wrong before any file is looked at."""
    network = intent.site.network
    if intent.partitions:
        yield from _check_left_out(intent)
    yield from _check_routed(network.technology.protocol, network.technology.transport)
    # On InfiniBand the subnet manager's engine answers for this, and its log is read.
    if network.technology.flow_control == "pfc" and prove_by_tiers(intent.site.fabric) is None:
        verdict = check_adaptive(tables(intent.site.fabric))
        if not verdict.free:
            yield Broken(
                severity="error",
                where="cluster.fabric.topology",
                what=f"pauses can wait for one another in a circle: {' '.join(verdict.cycle[:8])}",
                remedy="use a tree; shortest paths over one priority cannot be made safe here",
            )


def _check_routed(protocol: str, transport: str) -> Iterator[Broken]:
    """Yield why a network cannot be the routed one that files of Ethernet switches describe."""
    if transport.startswith("rocev1"):
        yield Broken(
            severity="error",
            where="cluster.fabric.technology",
            what="RoCEv1 has no IP header, and these switches route: nothing would arrive",
            remedy="use RoCEv2",
        )
    if protocol == "scheduled-ethernet":
        yield Broken(
            severity="warning",
            where="cluster.fabric.technology",
            what="inner switches of a scheduled fabric pass cells and do not route; the files of "
            "switches describe a routed network of the same shape",
            remedy="set the fabric up with its maker's software; use the lists of cables",
        )


def _check_left_out(intent: Intent) -> Iterator[Broken]:
    num_in = sum(len(tenant.hosts) for tenant in intent.partitions)
    num_out = len(intent.site.nics) - num_in
    is_infiniband = intent.site.network.technology.protocol == "infiniband"
    reach = "they reach the subnet manager only" if is_infiniband else "their switch ports are off"
    if num_out:
        yield Broken(
            severity="warning",
            where="tenants",
            what=f"{num_out:,} NIC ports are no tenant's: {reach}",
            remedy="give their nodes to a tenant if they are to work",
        )


def check_switch(
    switch: SwitchQos, *, num_ports: int, buffer_bytes: float | None
) -> Iterator[Broken]:
    """Yield what is wrong inside one switch.

    Args:
        switch: Its settings.
        num_ports: Ports that may be congested at once.
        buffer_bytes: What it has, where that is known.
    """
    if not switch.pausing or not switch.has_buffers:
        return
    yield from _check_marks(switch, num_ports)
    given = switch.pool_bytes + switch.room_bytes
    if buffer_bytes is not None and given > buffer_bytes:
        yield Broken(
            severity="error",
            where=switch.where,
            what=f"pool and headroom are {given:,} bytes, its buffer has {buffer_bytes:,.0f}",
            remedy="make the pool smaller, or shorten cables",
        )
    needed = sum(port.xoff_bytes for port in switch.ports)
    if needed > switch.room_bytes:
        yield Broken(
            severity="error",
            where=switch.where,
            what=f"the ports' headroom is {needed:,} bytes, and the pool sets aside "
            f"{switch.room_bytes:,}: packets may be lost in a pause",
            remedy="raise the pool's xoff, or shorten cables",
        )
    yield from filter(None, (_thin(switch.where, port) for port in switch.ports))


def _check_marks(switch: SwitchQos, num_ports: int) -> Iterator[Broken]:
    if switch.most_bytes is None:
        yield Broken(
            severity="warning",
            where=switch.where,
            what="nothing is marked: only pauses slow senders down",
            remedy="add a WRED profile with ECN to the lossless queue",
        )
        return
    alpha = min((port.alpha for port in switch.ports), default=1.0)
    pause, alone = (
        headroom.thresholds(
            shared_bytes=switch.pool_bytes, alpha=alpha, num_congested=count
        ).xoff_at_bytes
        for count in (num_ports, 1)
    )
    assert switch.least_bytes is not None
    for what, size, limit in (
        ("begins at", switch.least_bytes, pause),
        ("marks everything from", switch.most_bytes, alone),
    ):
        if size >= limit:
            yield Broken(
                severity="error",
                where=switch.where,
                what=f"ECN {what} {size:,} bytes, but pauses may begin at {limit:,.0f}: senders "
                "are stopped before they are told to slow down",
                remedy=f"lower the threshold below {limit:,.0f}",
            )


def _thin(where: str, port: LosslessPort) -> Broken | None:
    needed = headroom.textbook_bytes(rate_bps=port.rate_bps, length_m=port.length_m)
    if port.xoff_bytes >= needed:
        return None
    return Broken(
        severity="error",
        where=f"{where}: {port.name}",
        what=f"headroom of {port.xoff_bytes:,} bytes; its cable of {port.length_m:g} m needs "
        f"{needed:,.0f}",
        remedy="give it the profile of its cable's length",
    )


def check_addresses(held: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Broken]:
    """Yield addresses that two devices have; *held* are devices with all of theirs."""
    counts = Counter(address.partition("/")[0] for _, some in held for address in some)
    for where, some in held:
        for address in some:
            if (count := counts[address.partition("/")[0]]) > 1:
                yield Broken(
                    severity="error",
                    where=where,
                    what=f"the address {address} is given {count} times",
                    remedy="give every port its own",
                )


def check_keys(keys: Iterable[int], *, where: str) -> Iterator[Broken]:
    """Yield the partition keys that are given more than once."""
    for key, count in sorted(Counter(keys).items()):
        if count > 1:
            yield Broken(
                severity="error",
                where=where,
                what=f"the partition key {key:#06x} is given {count} times: tenants share it",
                remedy="give every tenant its own",
            )
