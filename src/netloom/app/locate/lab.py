"""Look at a lab, live, and say what is wrong with it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from netloom.app.lab.drains import planned_drains
from netloom.app.lab.roce import lab_rate_bps
from netloom.app.locate import lab_infiniband as observe_infiniband
from netloom.app.locate import lab_roce as observe_roce
from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.part_id import PartId
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.device_findings import cables_away
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.plant import plant_of

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder
    from netloom.fabric.graph import Fabric
    from netloom.ops.plant import Plant
    from netloom.parts.parts import Technology

__all__ = ["clock_s", "observe"]


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
    if lab.kind == "infiniband":
        seen = observe_infiniband.look(
            place, lab, plant, window_s=max(1.0, clock_s() - place.born_at_s)
        )
        return Snapshot(
            findings=tuple(seen.findings),
            taken_s=taken_s,
            away=tuple(dict.fromkeys(seen.away)),
            disputes=tuple(seen.disputes),
            doubts=tuple(seen.doubts),
            lids=seen.lids,
        )
    return _ethernet(place, plant, fabric, technology, taken_s=taken_s)


def _ethernet(
    place: LabFolder, plant: Plant, fabric: Fabric, technology: Technology, *, taken_s: float
) -> Snapshot:
    seen = observe_roce.look(place, plant, taken_s)
    assert seen.heard is not None
    observed = observe_roce.observed_of(plant, seen.probed, _gpus(fabric))
    network = DesignedNetwork(
        fabric=fabric, plant=plant, rate_bps=lambda cable: lab_rate_bps(plant, cable)
    )
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
