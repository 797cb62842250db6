"""What only InfiniBand has: ports that wait or see nothing, and managers that are gone."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.fabric.part_id import MANAGER, PartId
from netloom.ops.locate.control import managers
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, Report, Trust, believed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.plant import Cable

__all__ = ["cables_waiting", "dark_cables", "lost_managers", "unused_cables"]

# Whether a process runs is read, not asked over a network.
GONE: Final = Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5)


def cables_waiting(network: DesignedNetwork, heard: TelemetryWindow) -> set[int]:
    """Return the cables of which an end waits for a manager now: they are there."""
    return set(_told(network, heard, "port_waits"))


def _told(
    network: DesignedNetwork, heard: TelemetryWindow, metric: str
) -> dict[int, list[tuple[str, Report]]]:
    """Return the ends that say so, by cable."""
    found: dict[int, list[tuple[str, Report]]] = defaultdict(list)
    for part, track in sorted(heard.of(metric).items()):
        cable = network.at.get(part)
        if cable is not None and track.last:
            found[cable.number] += [(part, one) for one in heard.said(metric, part, bool)]
    return found


def unused_cables(
    network: DesignedNetwork, heard: TelemetryWindow, is_away: Callable[[Cable], bool]
) -> Iterator[Finding]:
    """Give the cables that are there and that no manager takes into use."""
    for number, says in sorted(_told(network, heard, "port_waits").items()):
        if is_away(network.cables[number]):
            continue
        ends = " and ".join(part for part, _ in says)
        count = min(one.num_looks for _, one in says)
        text = f"{ends} wait for a manager to take them into use, at {looks(count)}"
        sure = believed(TRUST[Trouble.UNUSED], [one for _, one in says])
        part = network.part(network.cables[number])
        yield network.finding(part, Trouble.UNUSED, text, confidence=sure)


def dark_cables(
    network: DesignedNetwork, heard: TelemetryWindow, is_away: Callable[[Cable], bool]
) -> Iterator[Finding]:
    """Give the cables both of whose ends are active and see nothing."""
    for number, says in sorted(_told(network, heard, "port_dark").items()):
        if is_away(network.cables[number]) or len(says) < 2:
            continue
        (one, first), (other, second) = says
        count = min(first.num_looks, second.num_looks)
        text = f"{one} and {other} are Active, and nothing comes through, at {looks(count)}"
        sure = believed(TRUST[FaultKind.BLACK_HOLE], [first, second])
        part = network.part(network.cables[number])
        yield network.finding(part, FaultKind.BLACK_HOLE, text, confidence=sure, gain=1.0)


def lost_managers(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the managers that do not run, and subnets without a master for other reasons."""
    explained = set()
    for name, track in sorted(heard.of("manager_down").items()):
        part = _manager(name)
        if part is None or not track.last:
            continue
        explained.add(part.subnet)
        (report,) = heard.said("manager_down", name, bool)
        sure = believed(GONE, [report])
        text = f"it does not run, at {looks(report.num_looks)}"
        yield network.finding(part, Trouble.NO_MANAGER, text, confidence=sure)
    for one in managers(network, heard):
        if one.part.index not in explained:
            yield one


def _manager(name: str) -> PartId | None:
    """Return the manager of that name; None where it is the name of something else."""
    try:
        part = PartId.parse(name)
    except SpecError:
        return None
    return part if part.kind == MANAGER else None
