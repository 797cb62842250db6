"""Cables in trouble side by side on one switch: one line card or chip, not each by itself."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.fabric.part_id import CABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.part_id import PartId
    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.plant import Cable, Port

__all__ = ["with_shared_causes"]

# Ports of a line card or of one chip's pipeline lie in blocks that begin at a multiple of these;
# the largest that holds is told.
BLOCKS: Final = (32, 16, 8, 4)
NIC: Final = "nic"
LEAST: Final = 3  # cables in trouble
SHARE: Final = 0.75  # of the cables of a block


def with_shared_causes(network: DesignedNetwork, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with the block of ports that they share, where one explains several.

    Three cables of one switch with the same trouble, and three quarters of those in a block of its
    ports, have one cause: that each fails by itself is far rarer.

    Args:
        network: As designed.
        found: Each part with each kind.
    """
    causes: dict[tuple[int, str], str] = {}
    by_switch: dict[tuple[int, str], dict[int, Port]] = defaultdict(dict)
    for one in found:
        cable = _cable(network, one.part)
        for port in cable.ends if cable else ():
            if cable and network.plant.devices[port.device].role != "host":
                by_switch[port.device, one.kind][cable.number] = port
    for (device, kind), ports in by_switch.items():
        for number, text in _blocks(network, device, ports).items():
            causes.setdefault((number, kind), text)
    return tuple(_told(network, one, causes) for one in found)


def _cable(network: DesignedNetwork, part: PartId) -> Cable | None:
    """Return the cable that a finding is about; that of a NIC goes by the NIC."""
    if part.kind == CABLE:
        return network.cables.get(part.index)
    cables = network.by_device.get(str(part.whole), ())
    return cables[0] if part.kind == NIC and len(cables) == 1 else None


def _told(
    network: DesignedNetwork, finding: Finding, causes: dict[tuple[int, str], str]
) -> Finding:
    cable = _cable(network, finding.part)
    cause = causes.get((cable.number, finding.kind), "") if cable else ""
    if not cause:
        return finding
    return replace(finding, cause=cause, evidence=(*finding.evidence, f"shared cause: {cause}"))


def _blocks(network: DesignedNetwork, device: int, ports: dict[int, Port]) -> dict[int, str]:
    """Return, for each cable that is in one, the block of ports that it shares with others."""
    name = network.plant.devices[device].name
    own = [p.number for c in network.by_device[name] for p in c.ends if p.device == device]
    first, told = min(own), dict[int, str]()
    for size in BLOCKS:
        for begin in range(first, max(own) + 1, size):
            block = range(begin, begin + size)
            hit = [number for number, port in ports.items() if port.number in block]
            total = sum(number in block for number in own)
            if len(hit) < max(LEAST, SHARE * total) or total == len(own):
                continue
            text = (
                f"ports {begin} to {begin + size - 1} of {name}, {len(hit)} of {total} cables: "
                "one line card or chip"
            )
            told |= {number: text for number in hit if number not in told}
    return told
