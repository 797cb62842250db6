"""Devices that rewrite what packets carry for switches: ECN bits and the code point.

Nothing is lost by it, so neither counters nor losses show it; but senders hear of no congestion, or
RDMA shares a queue with all else. Probes that arrive other than they were sent tell of it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.testimony import TRUST, Report, believed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = ["remarkings"]

MOST: Final = 0.9  # of the packets of a flow, and of the flows through a device, are rewritten
MIN_FLOWS: Final = 3


def remarkings(network: DesignedNetwork, observed: Observed) -> Iterator[Finding]:
    """Give the devices that clear ECN or change the code point of what passes them."""
    kinds: dict[Trouble, Callable[[ObservedFlow], int]] = {
        Trouble.ECN_CLEARED: lambda flow: flow.ecn_cleared,
        Trouble.DSCP_CHANGED: lambda flow: flow.dscp_changed,
    }
    arrived = [flow for flow in observed.flows if flow.packets > flow.lost and flow.path]
    for kind, count in kinds.items():
        hit = [flow for flow in arrived if count(flow) >= MOST * (flow.packets - flow.lost)]
        yield from _devices(network, kind, arrived, hit)


def _devices(
    network: DesignedNetwork,
    kind: Trouble,
    arrived: Sequence[ObservedFlow],
    hit: Sequence[ObservedFlow],
) -> Iterator[Finding]:
    """Give the fewest devices whose flows are rewritten, the one that explains most first."""
    through = _by_device(network, arrived)
    left = {id(flow) for flow in hit}
    while left:
        hurt = {name: {id(flow) for flow in some} & left for name, some in through.items()}
        whole = {id(flow) for flow in hit}
        able = [
            name
            for name, some in through.items()
            if len(hurt[name]) >= MIN_FLOWS
            and len({id(flow) for flow in some} & whole) >= MOST * len(some)
        ]
        if not able:
            return
        best = max(able, key=lambda name: (len(hurt[name]), -len(through[name]), name))
        rivals = [
            n for n in able if hurt[n] >= hurt[best] and len(through[n]) == len(through[best])
        ]
        part = network.part_called(best)
        assert part is not None, best
        sure = believed(TRUST[kind], [Report(is_so=True, num_looks=1)]) / len(rivals)
        text = (
            f"{len(hurt[best])} of the {len(through[best])} flows that pass it arrive rewritten, "
            "and those that pass it not as they were sent"
        )
        yield network.finding(part, kind, text, confidence=sure, magnitude=float(len(hurt[best])))
        left -= hurt[best]


def _by_device(
    network: DesignedNetwork, flows: Sequence[ObservedFlow]
) -> dict[str, list[ObservedFlow]]:
    """Return the flows that each device of the network passes on or sends."""
    found: dict[str, list[ObservedFlow]] = defaultdict(list)
    for flow in flows:
        for name in {
            link.partition("->")[0] for link in flow.path or ()
        } & network.by_device.keys():
            found[name].append(flow)
    return found
