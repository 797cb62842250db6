"""What a person asks of a network before it is sized, with as much left open as they like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.spec.problems import plainly
from netloom.spec.scenario import MAX_GPUS, Cluster, FabricSpec, Floor
from netloom.spec.topology import TOPOLOGIES
from netloom.study.networks import check_num_gpus

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node, Switch, Technology
    from netloom.spec.topology import Topology

__all__ = ["SizingRequest", "technology_of", "topology_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingRequest:
    """The question put to :func:`netloom.study.size.sizing.size`.

    Attributes:
        num_gpus: GPUs to attach; None when the nodes are counted instead.
        num_nodes: Nodes to attach; None when the GPUs are counted instead.
        node: Catalogue name of the node.
        technology: Catalogue name; None for the one that fits switch and node best.
        switch: Catalogue name; None for the technology's own.
        topology: What to build; None for the first that fits.
        floor: The machine room.
        gpus_per_node: GPUs of each node that are used; None for all.
    """

    num_gpus: int | None = None
    num_nodes: int | None = None
    node: str = "dgx-h100"
    technology: str | None = None
    switch: str | None = None
    topology: Topology | None = None
    floor: Floor = field(default_factory=Floor)
    gpus_per_node: int | None = None

    def __post_init__(self) -> None:
        if (self.num_gpus is None) == (self.num_nodes is None):
            raise SpecError(
                key="size", what="give exactly one of gpus and nodes, such as --gpus 32768"
            )
        for name, count in (("gpus", self.num_gpus), ("nodes", self.num_nodes)):
            if count is not None and not 1 <= count <= MAX_GPUS:
                raise SpecError(
                    key=name, what=f"{count} is out of range", remedy=f"give 1 to {MAX_GPUS}"
                )

    @classmethod
    def of(cls, cluster: Cluster) -> SizingRequest:
        """Return the question that a scenario's cluster puts: nothing is left open."""
        fabric = cluster.fabric
        num_gpus, num_nodes = cluster.gpus, cluster.nodes
        if num_gpus is not None and cluster.gpus_per_node is not None:
            num_nodes = -(-num_gpus // cluster.gpus_per_node)
            num_gpus = None
        return cls(
            num_gpus=num_gpus,
            num_nodes=num_nodes,
            node=cluster.node,
            technology=fabric.technology,
            switch=fabric.switch,
            topology=fabric.topology,
            floor=fabric.floor,
            gpus_per_node=cluster.gpus_per_node,
        )

    def count_nodes(self, node: Node) -> int:
        """Return the nodes to attach; the last may have GPUs beyond those asked for.

        Raises:
            SpecError: they would have more GPUs than anybody builds.
        """
        if self.num_nodes is not None:
            check_num_gpus(self.num_nodes, node)
            return self.num_nodes
        assert self.num_gpus is not None
        return -(-self.num_gpus // node.num_gpus)


def topology_of(
    kind: str | None,
    *,
    oversubscription: float | None = None,
    tiers: int | None = None,
    planes: int | None = None,
) -> Topology | None:
    """Return the topology that options describe; None when none was given.

    Raises:
        SpecError: the kind is not known, it has no such option, or the value is out of range.
    """
    asked = {"oversubscription": oversubscription, "tiers": tiers, "planes": planes}
    given: dict[str, object] = {name: value for name, value in asked.items() if value is not None}
    if kind is None and not given:
        return None
    kind = kind or ("rail-fat-tree" if planes is None else "multi-plane")
    parameters = TOPOLOGIES.get(kind).spec
    try:
        return parameters.model_validate({"kind": kind, **given})
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][-1])
        text = f"a {kind} has none" if first["type"] == "extra_forbidden" else plainly(first)
        raise SpecError(
            key=option,
            what=f"{given.get(option)!r} will not do for {kind}: {text}",
            remedy="change or drop it",
        ) from error


def technology_of(wish: SizingRequest, node: Node, catalog: Catalog) -> Technology:
    """Return the technology asked for, or else the one that fits switch and node best.

    That is one whose own switch was asked for, then one that is not TCP, then one whose NIC is
    the node's own, then the default of scenarios, then the first in the catalogue; obsolete and
    unshipped ones are left out.

    Raises:
        SpecError: switch and technology do not go together, or nothing speaks to the switch.
    """
    switch = None if wish.switch is None else catalog.switch(wish.switch)
    if wish.technology is not None:
        technology = catalog.technology(wish.technology)
        _check_protocol(technology, switch)
        return technology
    fitting = [
        technology
        for technology in catalog.technologies.values()
        if technology.status == "shipping" and _fits(technology, switch)
    ]
    if not fitting:
        raise SpecError(
            key="switch",
            what=f"no technology in the catalogue runs on {wish.switch}",
            remedy="give another",
        )
    default = FabricSpec().technology
    return min(
        fitting,
        key=lambda one: (
            switch is None or one.switch != switch.name,
            one.transport == "tcp",
            one.nic != node.nic,
            one.name != default,
        ),
    )


def _fits(technology: Technology, switch: Switch | None) -> bool:
    if switch is None:
        return True
    return switch.protocol == technology.protocol and switch.radix(technology.rate_bps) > 0


def _check_protocol(technology: Technology, switch: Switch | None) -> None:
    if switch is not None and switch.protocol != technology.protocol:
        raise SpecError(
            key="switch",
            what=(
                f"{switch.name} speaks {switch.protocol}, but {technology.name} needs "
                f"{technology.protocol}"
            ),
            remedy=f"leave the switch out to get {technology.switch}",
        )
