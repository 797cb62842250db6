"""What the user asked for, validated once and frozen.

Only what needs no catalogue is checked here: types, ranges, units and whether the parallel
degrees agree among themselves. Whether a part exists, the model fits or the topology can be
built is checked where that is known.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netloom.spec.quantity import LengthM, MoneyUsd, Share, TimeS
from netloom.spec.strict import Strict
from netloom.spec.topology import RailFatTree, Topology

__all__ = [
    "Cluster",
    "Economics",
    "Fabric",
    "Floor",
    "Job",
    "Parallel",
    "Placement",
    "Precision",
    "Recompute",
    "Reliability",
    "Scenario",
    "Training",
]

MAX_GPUS = 4_194_304

Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Precision = Literal["bf16", "fp16", "fp8"]
Recompute = Literal["none", "selective", "full"]

DEFAULT_COMPARISON = (
    "infiniband-ndr",
    "spectrum-x-400g",
    "uet-400g",
    "scheduled-400g",
    "rocev2-400g",
    "iwarp-100g",
    "tcp-400g",
)


class Floor(Strict):
    """The machine room, from which cable lengths follow.

    Attributes:
        row_pitch_m: From one row of racks to the next, and between rows that stand end to end.
        slack_m: Rise from a port to the tray and spare length, at each end of a cable.
    """

    nodes_per_rack: Annotated[int, Field(ge=1, le=64)] = 4
    racks_per_row: Annotated[int, Field(ge=1, le=1000)] = 16
    rack_width_m: Annotated[LengthM, Field(gt=0, le=10)] = 0.6
    row_pitch_m: Annotated[LengthM, Field(gt=0, le=50)] = 3.0
    slack_m: Annotated[LengthM, Field(ge=0, le=50)] = 2.0


class Fabric(Strict):
    """The scale-out network."""

    technology: Name = "infiniband-ndr"
    topology: Topology = RailFatTree()
    switch: Name | None = Field(default=None, description="The technology's own when left out")
    loss: Annotated[Share, Field(ge=0, lt=1)] | None = Field(
        default=None, description="Packet loss on a link; the technology's own when left out"
    )
    floor: Floor = Floor()


class Cluster(Strict):
    """The machines: how many, of what kind, on which fabric."""

    nodes: Annotated[int, Field(ge=1, le=MAX_GPUS)] | None = None
    gpus: Annotated[int, Field(ge=1, le=MAX_GPUS)] | None = None
    node: Name = "dgx-h100"
    fabric: Fabric = Fabric()

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if (self.nodes is None) == (self.gpus is None):
            message = "give exactly one of 'nodes' and 'gpus'"
            raise ValueError(message)
        return self


class Training(Strict):
    """How the model is trained."""

    sequence: Annotated[int, Field(ge=1, le=16_777_216, description="Tokens in a sequence")] = 4096
    global_batch: Annotated[int, Field(ge=1, le=16_777_216, description="Sequences in a step")]
    micro_batch: Annotated[int, Field(ge=1, le=65_536, description="Sequences at a time")] = 1
    precision: Precision = "bf16"
    recompute: Recompute = "selective"


class Parallel(Strict):
    """How the work is divided; the product of the degrees is the number of GPUs."""

    tensor: Count = 1
    pipeline: Count = 1
    data: Count | None = Field(default=None, description="What is left over when left out")
    context: Count = 1
    expert: Count = 1
    virtual_pipeline: Count = 1
    zero: Literal[0, 1, 2, 3] = 1
    sequence_parallel: bool = True


class Placement(Strict):
    """Where the ranks sit."""

    kind: Literal["packed", "scattered"] = "packed"
    displaced: Annotated[Share, Field(ge=0, le=1)] = Field(
        default=0.0625,
        description="Share of packed nodes that are spares standing elsewhere in the cluster",
    )


class Reliability(Strict):
    """What a failure costs the job."""

    checkpoint_write_s: Annotated[TimeS, Field(gt=0, le=86_400)] = 30.0
    restart_s: Annotated[TimeS, Field(gt=0, le=86_400)] = 600.0


class Economics(Strict):
    """How money is counted."""

    lifetime_s: Annotated[TimeS, Field(gt=0)] = 4 * 31_557_600.0
    electricity_usd_per_kwh: Annotated[MoneyUsd, Field(ge=0, le=10)] = Field(
        default=0.08, alias="electricity_per_kwh"
    )
    pue: Annotated[float, Field(ge=1, le=5)] = 1.25


class Job(Strict):
    """What runs on the machines."""

    model: Name
    training: Training
    parallel: Parallel = Parallel()
    placement: Placement = Placement()
    reliability: Reliability = Reliability()


class Scenario(Strict):
    """A cluster, a job, and the technologies to compare."""

    name: str = ""
    cluster: Cluster
    job: Job
    compare: Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)] = DEFAULT_COMPARISON
    economics: Economics = Economics()
    catalog: Name | None = Field(
        default=None, description="A TOML file of your own parts, relative to this file"
    )
