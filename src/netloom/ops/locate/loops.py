"""Flows that go round in a circle: routes of two switches that lead to each other.

A packet crosses the links of a circle until its time to live ends, some sixty times; so they are
full, and what others lose there is no fault of theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.underlay import interface_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from netloom.ops.locate.network import DesignedNetwork
    from netloom.spec.observed import ObservedFlow

__all__ = ["circle_of", "strays_at", "without_circles"]


def circle_of(flow: ObservedFlow) -> tuple[str, ...]:
    """Return the links that a flow crosses again and again; none of one that goes straight."""
    path = () if flow.ends_at is None else flow.path or ()
    first: dict[str, int] = {}
    for place, link in enumerate(path):
        device = link.partition("->")[0]
        if device in first:
            return tuple(path[first[device] : place])
        first[device] = place
    return ()


def without_circles(flows: Sequence[ObservedFlow]) -> tuple[ObservedFlow, ...]:
    """Return the flows that share no link with one that goes in a circle."""
    full = {link for flow in flows for link in circle_of(flow)}
    return tuple(flow for flow in flows if not full.intersection(flow.path or ()))


def strays_at(
    network: DesignedNetwork, circle: Sequence[str], ways: Mapping[str, Collection[str]]
) -> str | None:
    """Return the first device of a way that sends on by a cable that the design does not use.

    Args:
        network: As designed.
        circle: The links of the way, or of a circle in it.
        ways: The interfaces by which each device should send to the target, by its name.
    """
    for link in circle:
        (device, _, rest) = link.partition("->")
        if not ways.get(device):
            continue
        own = _interfaces(network, device, rest.partition("#")[2])
        if own and own.isdisjoint(ways[device]):
            return device
    return None


def _interfaces(network: DesignedNetwork, device: str, cable: str) -> set[str]:
    """Return the interface of a device that a cable hangs on; none where it is not known."""
    number = network.plant.number(device)
    return {
        interface_name(network.plant, port)
        for one in network.by_device.get(device, ())
        if str(one.number) == cable
        for port in one.ends
        if port.device == number
    }
