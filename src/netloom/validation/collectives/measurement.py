"""One row of a table of measured collectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.workload.collective import CollectiveKind

__all__ = ["Measurement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One row of a table of measurements.

    Attributes:
        row_id: Its number in the file, from 1.
        bus_gbps: Bus bandwidth in GB/s; 0 for a single rank, which moves nothing.
        size_bytes: None where the row does not say.
        algorithm: What the library was told to use; empty when it chose.
        table: The file it stands in.
        cluster: The machine and, where it was measured with several, the library's version.
        technology: What joins the nodes, where a column of its own says so.
        gpus_per_node: Ranks in a node; 0 where no column says so.
        machine_gpus: The most GPUs a node of the cluster uses in any row; 0 where unknown.
        num_nics: NICs of a node; 0 where no column says so.
        nic_gbps: Rate of one NIC in Gb/s; 0 where no column says so.
        status: ``ok``, or why the row is not to be judged by; empty where no column says so.
    """

    row_id: int
    kind: CollectiveKind
    gpu: str
    num_nodes: int | None
    num_ranks: int
    scale_out: str
    size_bytes: float | None
    bus_gbps: float
    source: str
    notes: str
    scale_up: str = ""
    algorithm: str = ""
    table: str = ""
    cluster: str = ""
    technology: str = ""
    gpus_per_node: int = 0
    machine_gpus: int = 0
    num_nics: int = 0
    nic_gbps: float = 0.0
    status: str = ""
