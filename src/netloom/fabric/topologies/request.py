"""What a sizing rule is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.catalog.parts import Switch
    from netloom.spec.topology import Topology

__all__ = ["Request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A cluster that wants a network.

    Attributes:
        num_nics: NICs of one node.
        num_gpus: GPUs of all nodes.
        nic_rate_bps: Of one NIC, all its planes together.
    """

    topology: Topology
    num_nodes: int
    num_nics: int
    num_gpus: int
    switch: Switch
    nic_rate_bps: float
