"""The classes of traffic in a step, and what of each crosses the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.study.simulate.step_traffic import step_communications
from netloom.workload.collective import Axis, CollectiveKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Job
    from netloom.workload.communication import Communication
    from netloom.workload.placement import Layout

__all__ = ["BULK", "CLASSES", "StageClass", "classes_of"]

# The order that is tried first, from the highest level down: what nothing hides goes first.
CLASSES: Final = (
    "tensor",
    "context",
    "pipeline",
    "expert",
    "gather",
    "data",
    "checkpoint",
    "storage",
)
BULK: Final = frozenset({"data", "checkpoint", "storage"})  # computation does not wait for them
_BY_AXIS: Final = {
    Axis.TENSOR: "tensor",
    Axis.CONTEXT: "context",
    Axis.PIPELINE: "pipeline",
    Axis.EXPERT: "expert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageClass:
    """One class of a step's traffic, as far as it leaves a node.

    Attributes:
        name: Of :data:`CLASSES`.
        items: Its collectives, with how often a step runs each.
        is_bulk: Whether the step goes on without it until its end.
    """

    name: str
    items: tuple[Communication, ...]

    @property
    def is_bulk(self) -> bool:
        """Whether the step goes on without it until its end."""
        return self.name in BULK

    @property
    def count(self) -> int:
        """Collectives in a step."""
        return sum(item.count for item in self.items)


def classes_of(
    job: Job, *, model: Model, network: Network
) -> tuple[tuple[StageClass, ...], Layout]:
    """Return the classes of a step that leave a node, the most exposed first, and who is where.

    Raises:
        NetloomError: the job cannot be laid out, or sends nothing.
    """
    items, plan = step_communications(job, model=model, network=network)
    found: dict[str, list[Communication]] = {}
    for item in items:
        if _leaves_node(item, network.node.num_gpus):
            found.setdefault(_class_of(item), []).append(item)
    return tuple(
        StageClass(name=name, items=tuple(found[name])) for name in CLASSES if name in found
    ), plan


def _class_of(item: Communication) -> str:
    gathers = item.collective.kind is CollectiveKind.ALL_GATHER
    if item.axis is Axis.DATA:
        return "gather" if gathers else "data"
    return _BY_AXIS[item.axis]


def _leaves_node(item: Communication, per_node: int) -> bool:
    group = item.collective.group
    return item.axis is Axis.PIPELINE or group.size > group.per_node or per_node == 1


def names_of(classes: Sequence[StageClass]) -> tuple[str, ...]:
    """Return the names in order."""
    return tuple(one.name for one in classes)
