"""Look at a lab, live, and say what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.app.lab.drains import planned_drains
from netloom.app.lab.roce import lab_rate_bps
from netloom.app.locate import lab_infiniband as observe_infiniband
from netloom.app.locate import lab_roce as observe_roce
from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.part_id import PartId
from netloom.formats.infiniband.cables import scanned_ports
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.device_findings import cables_away
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.identity import shared_guid_devices, shared_identities
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.identity import shared_guids, shared_lids
from netloom.ops.observe.naming import Naming
from netloom.ops.observe.observation import whole
from netloom.ops.plant import plant_of

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder
    from netloom.fabric.graph import Fabric
    from netloom.ops.lab import Lab
    from netloom.parts.parts import Technology

__all__ = ["clock_s", "observe"]

# What a scan makes of cables whose devices it cannot tell apart.
_PLACED: Final = frozenset({Trouble.MISSING, Trouble.MISWIRED})


def clock_s() -> float:
    """Return the seconds since 1970."""
    return datetime.now(tz=UTC).timestamp()


def observe(place: LabFolder, fabric: Fabric, technology: Technology) -> Snapshot:
    """Return what is wrong with a lab now.

    Args:
        place: Of the lab.
        fabric: The network as designed: that of the scenario that the lab was made from.
        technology: How losses are recovered, for what they cost.

    Raises:
        SpecError: there is no such lab, or it was made from another network.
        LabError: a program is missing, or we may not look.
    """
    lab, plant = place.read(), place.read_plant()
    if plant.cables != plant_of(fabric).cables:
        raise SpecError(
            what=f"lab {lab.name!r} was made from another network ({lab.scenario})",
            remedy="name that file",
        )
    taken_s = clock_s()
    network = DesignedNetwork(
        fabric=fabric, plant=plant, rate_bps=lambda cable: lab_rate_bps(plant, cable)
    )
    if lab.kind == "infiniband":
        return _infiniband(place, lab, network, taken_s=taken_s)
    return _ethernet(place, network, technology, taken_s=taken_s)


def _infiniband(
    place: LabFolder, lab: Lab, network: DesignedNetwork, *, taken_s: float
) -> Snapshot:
    plant = network.plant
    window_s = max(1.0, clock_s() - place.born_at_s)
    seen = observe_infiniband.look(place, lab, plant, window_s=window_s)
    ports = scanned_ports(seen.rows, Naming())
    shared = [*shared_guids(plant, ports, taken_s), *shared_lids(ports, taken_s)]
    heard = window_of([whole("subnet", taken_s, shared, cursor="")])
    hidden = {
        PartId.cable(cable.number)
        for name in shared_guid_devices(heard)
        for cable in network.by_device.get(name, ())
    }
    found = [f for f in seen.findings if f.part.whole not in hidden or f.kind not in _PLACED]
    return Snapshot(
        findings=(
            *shared_identities(network, heard),
            *(replace(one, hurts=one.hurts or network.behind(one.part)) for one in found),
        ),
        taken_s=taken_s,
        away=tuple(dict.fromkeys(seen.away)),
        disputes=tuple(seen.disputes),
        doubts=tuple(seen.doubts),
        lids=seen.lids,
    )


def _ethernet(
    place: LabFolder, network: DesignedNetwork, technology: Technology, *, taken_s: float
) -> Snapshot:
    plant = network.plant
    seen = observe_roce.look(place, plant, taken_s)
    assert seen.heard is not None
    observed = observe_roce.observed_of(plant, seen.probed, _gpus(network.fabric))
    planned = planned_drains(place, plant)
    away = cables_away(network, seen.heard, planned) | {cable.number for cable in seen.down}
    return Snapshot(
        findings=locate_all(network, seen.heard, observed, technology, planned),
        taken_s=taken_s,
        away=tuple(PartId.cable(number) for number in sorted(away)),
        disputes=seen.disputes,
        doubts=seen.doubts,
        num_flows=len(seen.probed),
    )


def _gpus(fabric: Fabric) -> dict[str, str]:
    """Return the GPU that each NIC port is joined to, both by name; ports without are left out."""
    is_gpu = fabric.vertex_kind[fabric.link_source] == VertexKind.GPU
    is_nic = fabric.vertex_kind[fabric.link_target] == VertexKind.NIC
    links = np.flatnonzero(is_gpu & is_nic)
    pairs = zip(fabric.link_target[links].tolist(), fabric.link_source[links].tolist(), strict=True)
    return {vertex_name(fabric, nic): vertex_name(fabric, gpu) for nic, gpu in pairs}
