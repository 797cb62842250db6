"""Probes of a lab as observations by name, for locating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.spec.observed import Observed, ObservedFlow, ObservedLink

if TYPE_CHECKING:
    from netloom.app.lab.probes import Probed, ProbeRound
    from netloom.app.lab.queues import PortUse
    from netloom.ops.plant import Cable, Plant, Port

__all__ = ["observed_of"]


def observed_of(plant: Plant, seen: ProbeRound, gpu_of: dict[str, str]) -> Observed:
    """Return probes as observations by name, for locating.

    Args:
        plant: Of the lab.
        seen: What became of them; those whose way is unknown tell where it ends.
        gpu_of: The GPU beside each NIC port, both by name.
    """
    flows = tuple(
        _observed_flow(plant, one, gpu_of)
        for one in seen.probed
        if {plant.devices[end].name for end in (one.flow.source, one.flow.target)} <= gpu_of.keys()
    )
    return Observed(flows=flows, links=tuple(_observed_link(plant, one) for one in seen.loads))


def _observed_link(plant: Plant, one: PortUse) -> ObservedLink:
    told = ObservedLink(
        link=_link_name(plant, (one.cable, one.sender)),
        utilisation=one.utilisation,
        dropped_share=one.dropped_share,
        dropped_small_share=one.dropped_small_share,
        dropped_large_share=one.dropped_large_share,
    )
    return told.model_copy(update={"queue_s": one.queue_s})  # in files it has a unit


def _observed_flow(plant: Plant, one: Probed, gpu_of: dict[str, str]) -> ObservedFlow:
    first, last = (plant.devices[end].name for end in (one.flow.source, one.flow.target))
    path = [f"{gpu_of[first]}->{first}", *(_link_name(plant, link) for link in one.links)]
    if one.ends_at is None:
        path.append(f"{last}->{gpu_of[last]}")
    return ObservedFlow(
        source=gpu_of[first],
        target=gpu_of[last],
        source_port=one.flow.source_port,
        path=tuple(path),
        ends_at=None if one.ends_at is None else plant.devices[one.ends_at].name,
        packets=one.sent,
        lost=one.lost,
        large=one.flow.is_large,
        ecn_cleared=one.ecn_cleared,
        dscp_changed=one.dscp_changed,
    )


def _link_name(plant: Plant, link: tuple[Cable, Port]) -> str:
    cable, sender = link
    far = cable.upper if sender == cable.lower else cable.lower
    ends = "->".join(plant.devices[port.device].name for port in (sender, far))
    return f"{ends}#{cable.number}"
