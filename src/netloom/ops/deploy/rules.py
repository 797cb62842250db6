"""What must hold of a deployment whatever the devices: one finding for each rule that does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netloom.fabric.deadlock import prove_by_tiers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.ops.deploy.intent import Intent

__all__ = ["Broken", "HostQos", "SwitchQos", "check_agreement", "check_intent", "check_switch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A rule that does not hold.

    Attributes:
        severity: An ``error`` must be mended before anything runs; a ``warning`` should be known.
        where: File, device or field.
        what: What is wrong there.
        remedy: What to do.
    """

    severity: Literal["error", "warning"]
    where: str
    what: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchQos:
    """The settings of a switch that others must agree with, as its file has them.

    Attributes:
        priority_of: Priority by DSCP.
        pausing: Priorities that are paused.
        least_bytes: Where marking begins; None where nothing is marked.
        most_bytes: Where every packet is marked.
        pool_bytes: Shared buffer.
        headroom_bytes: Sum over its ports, of lossless groups.
        room_bytes: What the pool sets aside for headroom.
        addresses: With their prefix lengths.
    """

    where: str
    priority_of: Mapping[int, int]
    pausing: frozenset[int]
    least_bytes: int | None
    most_bytes: int | None
    pool_bytes: int
    headroom_bytes: int
    room_bytes: int
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostQos:
    """The settings of a node's NICs, as its file has them."""

    where: str
    priority_of: Mapping[int, int]
    pausing: frozenset[int]
    addresses: tuple[str, ...]


def check_intent(intent: Intent) -> Iterator[Broken]:
    """Yield what is wrong before any file is looked at: routes that can block one another."""
    if intent.site.network.technology.flow_control == "none":
        return
    proof = prove_by_tiers(intent.site.fabric)
    if proof is None:
        yield Broken(
            severity="warning",
            where="cluster.fabric.topology",
            what="cables lie within a tier: minimal routes on one lane can wait in a circle",
            remedy="let the subnet manager assign lanes, or use a tree",
        )


def check_switch(switch: SwitchQos, *, ports: int, alpha: float = 1.0) -> Iterator[Broken]:
    """Yield what is wrong inside one switch.

    Args:
        switch: Its settings.
        ports: Ports that may be congested at once.
        alpha: Share of the free pool that one queue may take.
    """
    pause_at = alpha * switch.pool_bytes / (1 + alpha * ports)
    if switch.pausing and switch.most_bytes is not None and switch.most_bytes >= pause_at:
        yield Broken(
            severity="error",
            where=switch.where,
            what=f"ECN marks everything from {switch.most_bytes:,} bytes, but pauses may begin at "
            f"{pause_at:,.0f}: senders are stopped before they are told to slow down",
            remedy=f"lower the maximum threshold below {pause_at:,.0f}",
        )
    if switch.pausing and switch.most_bytes is None:
        yield Broken(
            severity="warning",
            where=switch.where,
            what="nothing is marked: only pauses slow senders down",
            remedy="add a WRED profile with ECN to the lossless queue",
        )
    if switch.headroom_bytes > switch.room_bytes:
        yield Broken(
            severity="error",
            where=switch.where,
            what=f"the ports need {switch.headroom_bytes:,} bytes of headroom, the pool has "
            f"{switch.room_bytes:,}: packets may be lost in a pause",
            remedy="raise the pool's xoff, or shorten cables",
        )


def check_agreement(
    switches: Mapping[str, SwitchQos], hosts: Mapping[str, HostQos]
) -> Iterator[Broken]:
    """Yield where hosts and switches disagree, and addresses that two of them have."""
    devices: list[SwitchQos | HostQos] = [*switches.values(), *hosts.values()]
    counts = Counter(address for device in devices for address in device.addresses)
    for device in devices:
        for address in device.addresses:
            if counts[address] > 1:
                yield Broken(
                    severity="error",
                    where=device.where,
                    what=f"the address {address} is given {counts[address]} times",
                    remedy="give every port its own",
                )
    if not switches:
        return
    rule = next(iter(switches.values()))
    for device in devices:
        yield from _differences(rule, device)


def _differences(rule: SwitchQos, device: SwitchQos | HostQos) -> Iterator[Broken]:
    if device.pausing != rule.pausing:
        yield Broken(
            severity="error",
            where=device.where,
            what=f"pauses priorities {sorted(device.pausing)}, {rule.where} {sorted(rule.pausing)}",
            remedy="pause the same priorities on every host and switch",
        )
    for dscp, priority in device.priority_of.items():
        if rule.priority_of.get(dscp, 0) != priority:
            yield Broken(
                severity="error",
                where=device.where,
                what=f"DSCP {dscp} has priority {priority}, but {rule.priority_of.get(dscp, 0)} "
                f"in {rule.where}",
                remedy="map each DSCP to the same priority everywhere",
            )
