"""What is routed, and the routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["Flows", "Paths", "check_flows"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flows:
    """Transfers between GPUs, one connection each.

    Attributes:
        source: The GPU (its vertex) that each flow leaves.
        target: The GPU that each flow is for; another one.
        source_port: The UDP source port of each connection: its entropy for ECMP.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    source_port: NDArray[np.uint16]

    def __post_init__(self) -> None:
        assert len(self.source) == len(self.target) == len(self.source_port), self

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths:
    """One path for each flow; path i is ``links[offsets[i]:offsets[i + 1]]``.

    Attributes:
        offsets: Where each path begins, and the end of the last.
        links: Link ids in the order they are crossed.
    """

    offsets: NDArray[np.int64]
    links: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def path(self, flow: int) -> NDArray[np.int32]:
        """Return the links of one flow."""
        return self.links[self.offsets[flow] : self.offsets[flow + 1]]


def check_flows(fabric: Fabric, flows: Flows) -> None:
    """Raise a SpecError unless every flow joins two different GPUs of *fabric*."""
    num_gpus = int(np.count_nonzero(fabric.vertex_kind == VertexKind.GPU))
    ends = np.stack([flows.source, flows.target])
    wrong = (ends < 0) | (ends >= num_gpus)
    if wrong.any():
        flow = int(np.flatnonzero(wrong.any(axis=0))[0])
        gpu = int(ends[:, flow][wrong[:, flow]][0])
        raise SpecError(
            what=f"flow {flow}: there is no GPU {gpu}",
            remedy=f"this fabric has GPUs 0 to {num_gpus - 1}",
        )
    same = np.flatnonzero(flows.source == flows.target)
    if len(same):
        raise SpecError(
            what=f"flow {same[0]}: GPU {flows.source[same[0]]} sends to itself",
            remedy="a flow joins two different GPUs",
        )
