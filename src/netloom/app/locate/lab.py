"""Look at a lab, live, and say what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.app.lab.drains import planned_drains
from netloom.app.lab.observed import observed_of
from netloom.app.lab.rates import lab_rates
from netloom.app.locate import lab_infiniband as observe_infiniband
from netloom.app.locate import lab_roce as observe_roce
from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.part_id import PartId
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.device_findings import cables_away
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.locate import locate_all, locate_window
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.plant import plant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.app.lab.probes import Flow
    from netloom.app.lab.store import LabFolder
    from netloom.fabric.graph import Fabric
    from netloom.ops.lab import Lab
    from netloom.ops.locate.findings import Finding
    from netloom.parts.parts import Technology

__all__ = ["clock_s", "observe"]

_CARRY_NOTHING: Final = frozenset({Trouble.MISWIRED, Trouble.UNUSED})


def clock_s() -> float:
    """Return the seconds since 1970."""
    return datetime.now(tz=UTC).timestamp()


def observe(
    place: LabFolder,
    fabric: Fabric,
    technology: Technology,
    *,
    flows: Sequence[Flow] | None = None,
) -> Snapshot:
    """Return what is wrong with a lab now.

    Args:
        place: Of the lab.
        fabric: The network as designed: that of the scenario that the lab was made from.
        technology: How losses are recovered, for what they cost.
        flows: Probes to send on Ethernet; default: some between all hosts.

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
    rates = lab_rates(plant, is_infiniband=lab.kind == "infiniband")
    network = DesignedNetwork(fabric=fabric, plant=plant, rate_bps=rates)
    if lab.kind == "infiniband":
        return _infiniband(place, lab, network, technology, taken_s=taken_s)
    return _ethernet(place, network, technology, taken_s=taken_s, flows=flows)


def _infiniband(
    place: LabFolder, lab: Lab, network: DesignedNetwork, technology: Technology, *, taken_s: float
) -> Snapshot:
    seen = observe_infiniband.look(place, lab, network, taken_s=taken_s)
    planned = planned_drains(place, network.plant)
    said = locate_all(network, seen.heard, None, technology, planned)
    found = tuple(_with_ends(one, seen) for one in said)
    away = cables_away(network, seen.heard)
    away |= {one.part.index for one in found if one.kind in _CARRY_NOTHING}
    return Snapshot(
        findings=found,
        taken_s=taken_s,
        away=tuple(PartId.cable(number) for number in sorted(away)),
        disputes=tuple(observe_infiniband.confirm(seen, network, found)),
        doubts=tuple(seen.doubts),
        lids=seen.lids,
    )


def _with_ends(finding: Finding, seen: observe_infiniband.SubnetSeen) -> Finding:
    """Return a miswired cable with where its ends lead."""
    if finding.kind != Trouble.MISWIRED:
        return finding
    ends = observe_infiniband.where_ends_lead(seen, finding.part.index)
    return replace(finding, evidence=(*finding.evidence, *ends))


def _ethernet(
    place: LabFolder,
    network: DesignedNetwork,
    technology: Technology,
    *,
    taken_s: float,
    flows: Sequence[Flow] | None,
) -> Snapshot:
    plant = network.plant
    seen = observe_roce.look(place, plant, taken_s, flows=flows)
    assert seen.heard is not None
    observed = observed_of(plant, seen.probes, _gpus(network.fabric))
    planned = planned_drains(place, plant)
    away = cables_away(network, seen.heard, planned) | {cable.number for cable in seen.down}
    now = locate_window(network, seen.heard, observed, technology, planned)
    return Snapshot(
        findings=now.findings,
        congestion=now.congestion,
        taken_s=taken_s,
        away=tuple(PartId.cable(number) for number in sorted(away)),
        disputes=seen.disputes,
        doubts=seen.doubts,
        num_flows=len(seen.probes.probed),
    )


def _gpus(fabric: Fabric) -> dict[str, str]:
    """Return the GPU that each NIC port is joined to, both by name; ports without are left out."""
    is_gpu = fabric.vertex_kind[fabric.link_source] == VertexKind.GPU
    is_nic = fabric.vertex_kind[fabric.link_target] == VertexKind.NIC
    links = np.flatnonzero(is_gpu & is_nic)
    pairs = zip(fabric.link_target[links].tolist(), fabric.link_source[links].tolist(), strict=True)
    return {vertex_name(fabric, nic): vertex_name(fabric, gpu) for nic, gpu in pairs}
