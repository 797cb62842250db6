"""What a simulation sends, one frozen model for each kind of traffic."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netloom.spec.quantity import Share, SizeBytes, TimeS
from netloom.spec.strict import Strict, written_name

__all__ = [
    "CollectiveTraffic",
    "FlowFile",
    "Incast",
    "OneToOne",
    "OpenLoop",
    "Permutation",
    "Storage",
    "Traffic",
]

MAX = 4_194_304  # endpoints: as many GPUs as a scenario may have

Count = Annotated[int, Field(ge=1, le=MAX)]
Number = Annotated[int, Field(ge=0, lt=MAX)]
Size = Annotated[SizeBytes, Field(ge=1, le=1e15)]
Time = Annotated[TimeS, Field(ge=0, le=3600)]
Kind = Field(description="Which kind of traffic")
_SIZE = Field(description="Payload of each flow")
Word = Annotated[str, Field(max_length=200, pattern=r"^[^\u0000-\u001f\u007f-\u009f]*$")]


_WHO = ("first", "count", "every")
_RINGS = ("all-reduce", "all-gather", "reduce-scatter")
_REDUCED = tuple(f"{way} all-reduce" for way in ("tree", "halving-doubling", "hierarchical"))
# In which collectives something comes of a key; elsewhere it is refused.
_USED_BY = {
    "algorithm": ("all-reduce", *_REDUCED),
    "channels": (*_RINGS, "tree all-reduce"),
    "slices": (*_RINGS, "tree all-reduce", "hierarchical all-reduce", "broadcast", "reduce"),
    "in_flight": ("all-to-all",),
    "distances": ("all-to-all",),
}


class _Piece(Strict):
    """What every kind of traffic has: who takes part, when, and as which tenant."""

    name: Word = Field(default="", description="What reports call it")
    first: Number = Field(default=0, description="First endpoint (GPU or host) that takes part")
    count: Count | None = Field(
        default=None, description="How many take part; all from the first on when left out"
    )
    every: Count = Field(default=1, description="Endpoints from one that takes part to the next")
    start_s: Time = Field(default=0.0, description="When it begins")
    priority: Annotated[int, Field(ge=0, le=7)] = Field(
        default=3, description="Traffic class; RoCE is commonly put on 3"
    )


def _refuse(piece: _Piece, names: tuple[str, ...], why: str) -> None:
    """Raise for the first of *names* that was asked for though nothing comes of it."""
    for name in names:
        if getattr(piece, name) != type(piece).model_fields[name].default:
            message = f"'{written_name(name)}' {why}; leave it out"
            raise ValueError(message)


class Permutation(_Piece):
    """Each endpoint sends one flow and receives one, drawn at random."""

    kind: Annotated[Literal["permutation"], Kind] = "permutation"
    size_bytes: Size = _SIZE


class Incast(_Piece):
    """Several endpoints send to one at the same time."""

    kind: Annotated[Literal["incast"], Kind] = "incast"
    size_bytes: Size = _SIZE
    target: Number = Field(default=0, description="The endpoint that all send to")
    fan_in: Count | None = Field(
        default=None, description="How many send: the first of those that take part; or all"
    )


class OneToOne(_Piece):
    """A single flow."""

    kind: Annotated[Literal["one-to-one"], Kind] = "one-to-one"
    size_bytes: Size = _SIZE
    source: Number = Field(description="The endpoint that sends")
    target: Number = Field(description="The endpoint that receives")

    @model_validator(mode="after")
    def _all_is_used(self) -> Self:
        _refuse(self, _WHO, "says who takes part, and 'source' and 'target' do that here")
        return self


class Storage(_Piece):
    """Bursts in which all clients write to all servers at once, as at a checkpoint."""

    kind: Annotated[Literal["storage"], Kind] = "storage"
    size_bytes: Size = Field(description="What each client writes in a burst, over all servers")
    servers: Count = Field(description="Storage servers: the last endpoints that take part")
    bursts: Annotated[int, Field(ge=1, le=100_000)] = Field(default=1, description="How many")
    period_s: Time = Field(default=0.0, description="From one burst to the next")


class OpenLoop(_Piece):
    """Flows that arrive whatever the network does, of a distribution of sizes, to anybody."""

    kind: Annotated[Literal["poisson"], Kind] = "poisson"
    distribution: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        default="web-search",
        description="web-search, fb-hadoop, or a file of 'size cumulative-percent' lines",
    )
    load: Annotated[Share, Field(gt=0, le=2)] = Field(
        default=0.5, description="Payload offered by an endpoint over the rate of its link"
    )
    duration_s: Annotated[TimeS, Field(gt=0, le=3600)] = Field(
        description="How long flows keep arriving"
    )


class CollectiveTraffic(_Piece):
    """Collectives, each group of endpoints its own, message by message."""

    kind: Annotated[Literal["collective"], Kind] = "collective"
    operation: Literal[
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "broadcast",
        "reduce",
        "gather",
        "scatter",
        "send-recv",
    ] = Field(description="What the members of a group do together")
    algorithm: Literal["ring", "tree", "halving-doubling", "hierarchical"] = Field(
        default="ring", description="How an all-reduce is done; the others have one way each"
    )
    size_bytes: Size = Field(description="As nccl-tests counts it")
    group: Annotated[int, Field(ge=2, le=MAX)] | None = Field(
        default=None, description="Members of a group; all that take part when left out"
    )
    stride: Count = Field(default=1, description="From one member of a group to the next")
    channels: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="Rings or pairs of trees that share the bytes"
    )
    slices: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None,
        description="Pieces that are forwarded on their own; 1 in a ring and 8 elsewhere",
    )
    in_flight: Annotated[int, Field(ge=0, le=MAX)] = Field(
        default=0, description="Messages of an all-to-all a rank has out at a time; 0 for all"
    )
    distances: Annotated[int, Field(ge=1, le=MAX)] | None = Field(
        default=None,
        description="Distances of an all-to-all that are sent, evenly spaced, each with the bytes "
        "of those it stands for; all when left out",
    )
    repeats: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="How often, one after another"
    )
    compute_s: Time = Field(default=0.0, description="Computation from one repeat to the next")

    @model_validator(mode="after")
    def _all_is_used(self) -> Self:
        way: str = self.operation
        if way == "all-reduce" and self.algorithm != "ring":
            way = f"{self.algorithm} {way}"
        for name, ways in _USED_BY.items():
            if way not in ways:
                _refuse(self, (name,), f"is of no use in {way}")
        return self


class FlowFile(_Piece):
    """Flows listed in a CSV file with the columns source, target, size_bytes, perhaps start_s."""

    kind: Annotated[Literal["flows"], Kind] = "flows"
    file: Annotated[str, Field(min_length=1, max_length=4096)] = Field(
        description="Path of the CSV file, relative to here"
    )

    @model_validator(mode="after")
    def _all_is_used(self) -> Self:
        _refuse(self, _WHO, "says who takes part, and the file does that here")
        return self


Traffic = Annotated[
    Permutation | Incast | OneToOne | Storage | OpenLoop | CollectiveTraffic | FlowFile,
    Field(discriminator="kind"),
]
