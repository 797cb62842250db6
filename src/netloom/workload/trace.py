"""What one rank does in a step, as a graph: computation, collectives, sends and receives.

The words are those of Chakra execution traces (mlcommons/chakra, et_def.proto), whatever file
they come from or go to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from netloom.workload.collective import CollectiveKind
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COLLECTIVE_CODES", "WORLD", "AttributeValue", "NodeKind", "TraceNode", "input_bytes"]

AttributeValue: TypeAlias = bool | int | float | str


class NodeKind(IntEnum):
    """``NodeType`` of et_def.proto."""

    INVALID = 0
    METADATA = 1
    MEMORY_LOAD = 2
    MEMORY_STORE = 3
    COMPUTE = 4
    SEND = 5
    RECEIVE = 6
    COLLECTIVE = 7
    STORAGE = 8
    BATCH = 9
    CHECKPOINT = 10


# ``CollectiveCommType`` of et_def.proto, where netloom has a word for it.
COLLECTIVE_CODES: Final = {
    kind: code
    for kind in CollectiveKind
    if (code := collective_entry(kind).chakra_code) is not None
}
# Group names that stand for all ranks (ASTRA-sim, Workload::extract_comm_group).
WORLD: Final = frozenset({"", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceNode:
    """One thing that a rank does.

    Attributes:
        node_id: Its own in the rank's trace.
        needs: Nodes whose results it takes (data dependencies).
        follows: Nodes that it only has to wait for (control dependencies).
        start_us: When it was seen to start; 0 where it was not measured.
        duration_us: Of computation; 0 for communication, whose duration is the question.
        attributes: Such as ``comm_size``, ``comm_type``, ``pg_name``.
    """

    node_id: int
    name: str
    kind: NodeKind
    needs: tuple[int, ...] = ()
    follows: tuple[int, ...] = ()
    start_us: int = 0
    duration_us: int = 0
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


def input_bytes(kind: CollectiveKind, size_bytes: float, num_ranks: int) -> float:
    """Return ``comm_size`` of a collective: what one rank puts in.

    It is the size that :class:`~netloom.workload.collective.Collective` counts, but for an
    all-gather, which counts the gathered total and puts in one part (ASTRA-sim, Ring.cc:
    ``final_data_size = data_size * nodes_in_ring``; the PyTorch converter takes the input too).
    """
    return size_bytes / num_ranks if collective_entry(kind).counts_gathered else size_bytes
