"""What the control plane says: sessions that are down, forwarding that lost ways, no manager."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from netloom.fabric.part_id import PartId
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, Report, believed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow

__all__ = ["lost_paths", "managers", "sessions_down"]

LOOKS_TO_COME_BACK: Final = 5  # of a session whose cable was down


def sessions_down(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    down: Collection[int],
    moved: Collection[int] = (),
) -> Iterator[Finding]:
    """Give the cables whose sessions are down although they are up: they swallow packets.

    Args:
        network: As designed.
        heard: What was said.
        down: Cables of which it is known that they are down.
        moved: Cables that were down: their sessions have some looks to come back.
    """
    says: dict[int, list[Report]] = defaultdict(list)
    for metric in ("bfd_up", "bgp_up"):
        for part in heard.of(metric):
            cable = network.at.get(part)
            if cable is not None and cable.number not in down:
                said = heard.said(metric, part, lambda value: value == 0)
                least = LOOKS_TO_COME_BACK if cable.number in moved else 0
                says[cable.number] += [
                    one for one in said if not one.is_so or one.num_looks > least
                ]
    bad = {number for number, some in says.items() if any(one.is_so for one in some)}
    for name, numbers in silent_routers(network, says, bad):
        bad -= numbers
        some = [one for number in sorted(numbers) for one in says[number]]
        sure = believed(TRUST[Trouble.SILENT], some)
        text = f"none of its {len(some)} routing sessions is up although its cables are"
        yield network.finding(PartId.parse(name), Trouble.SILENT, text, confidence=sure)
    for number in sorted(bad):
        some = says[number]
        text = (
            f"{sum(one.is_so for one in some)} of {len(some)} sessions over it are down although "
            "it is up"
        )
        sure = believed(TRUST[FaultKind.LOSS], some)
        cut = network.part(network.cables[number])
        yield network.finding(cut, FaultKind.LOSS, text, confidence=sure, gain=1.0)


def silent_routers(
    network: DesignedNetwork, says: Mapping[int, list[Report]], bad: set[int]
) -> list[tuple[str, set[int]]]:
    """Return the devices all of whose sessions are down, several, with their cables.

    Only where each neighbour speaks with others still; else which of them is silent is unknown.
    """
    spoken = {
        name: {cable.number for cable in cables if says.get(cable.number)}
        for name, cables in network.by_device.items()
    }
    found = []
    for name, numbers in spoken.items():
        if len(numbers) < 2 or not numbers <= bad:
            continue
        near = {one for number in numbers for one in network.devices_of(network.cables[number])}
        if all(spoken[other] - bad for other in near - {name}):
            found.append((name, numbers))
    return found


def managers(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the subnets in which no manager answers as master."""
    for name, track in heard.of("sm_master").items():
        part = network.part_called(name)
        if part is not None and track.last == 0:
            (one,) = heard.said("sm_master", name, lambda value: value == 0)
            sure = believed(TRUST[Trouble.NO_MANAGER], [one])
            text = f"no subnet manager answered as master at {looks(one.num_looks)}"
            yield network.finding(part, Trouble.NO_MANAGER, text, confidence=sure)


def lost_paths(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the switches that forward by fewer ways than they believe in."""
    for name in heard.of("rib_ways"):
        part = network.part_called(name)
        rib, fib = (heard.last(metric, name) for metric in ("rib_ways", "fib_ways"))
        if part is None or rib is None or fib is None or fib >= rib:
            continue
        both = [heard.said(metric, name, bool) for metric in ("rib_ways", "fib_ways")]
        count = min(one.num_looks for some in both for one in some)
        sure = believed(TRUST[FaultKind.LOST_PATHS], [Report(is_so=True, num_looks=count)])
        text = f"routing has {rib:.0f} ways, the forwarding plane {fib:.0f}, at {looks(count)}"
        yield network.finding(
            part,
            FaultKind.LOST_PATHS,
            text,
            confidence=sure,
            magnitude=rib - fib,
            gain=1 - fib / rib,
        )
