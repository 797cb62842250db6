"""What goes wrong during a simulation, and when."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from netloom.spec.quantity import RateBps, Share, SizeBytes, TimeS
from netloom.spec.strict import Strict, written_name

__all__ = ["LinkFault"]

Time = Annotated[TimeS, Field(ge=0, le=3600)]
# Which kind of fault each key belongs to; the first must be given with its kind.
_BELONGS: Final = {
    "rate_bps": "slow",
    "loss": "loss",
    "burst_packets": "loss",
    "least_bytes": "loss",
    "bit_errors": "corrupt",
}
_NEEDS: Final = {"slow": "rate_bps", "loss": "loss", "corrupt": "bit_errors"}


class LinkFault(Strict):
    """Something that happens to links at a time."""

    kind: Literal["down", "slow", "loss", "corrupt", "pause"] = Field(
        description="down: cut, or a switch that restarts; slow: a lower rate, and with direction "
        "'to' a slow receiver; loss: packets are lost at random; corrupt: bits are, and with them "
        "packets by their length; pause: the part asks its neighbours to pause and never stops"
    )
    part: Annotated[str, Field(min_length=3, max_length=100)] = Field(
        description="A switch or endpoint (leaf:3, gpu:7), or all cables between two: "
        "leaf:3-spine:0"
    )
    at_s: Time = Field(default=0.0, description="When it happens")
    until_s: Time | None = Field(
        default=None, description="When it is repaired; never when left out"
    )
    every_s: Annotated[TimeS, Field(gt=0, le=3600)] | None = Field(
        default=None, description="It happens again after this time, as a link that flaps"
    )
    times: Annotated[int, Field(ge=2, le=100_000)] | None = Field(
        default=None, description="How often in all"
    )
    direction: Literal["both", "to", "from"] = Field(
        default="both", description="Which links: into the part (the first of two), out of it, both"
    )
    rate_bps: Annotated[RateBps, Field(ge=1, le=1e15)] | None = Field(
        default=None, description="What is left of a link that is slow"
    )
    loss: Annotated[Share, Field(gt=0, lt=1)] | None = Field(
        default=None, description="Share of packets that is lost"
    )
    burst_packets: Annotated[float, Field(gt=1, le=1e6)] | None = Field(
        default=None, description="Mean number lost in a row; each on its own when left out"
    )
    least_bytes: Annotated[SizeBytes, Field(ge=1, le=65535)] | None = Field(
        default=None, description="Shorter packets are spared"
    )
    bit_errors: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="Share of bits that is wrong after error correction"
    )

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        for key, kind in _BELONGS.items():
            given = getattr(self, key) is not None
            needed = _NEEDS[kind] == key and self.kind == kind
            if (given and self.kind != kind) or (needed and not given):
                message = (
                    f"'{written_name(key)}' belongs to kind {kind}, and to no other; give both or "
                    "none"
                )
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _burst_holds_its_loss(self) -> Self:
        # Gilbert: bursts begin with probability loss / (burst (1 - loss)), which is 1 at most.
        if self.loss is not None and self.burst_packets is not None:
            least = self.loss / (1 - self.loss)
            if self.burst_packets < least:
                enough = ceil(100 * least) / 100
                message = (
                    f"'burst_packets' {self.burst_packets:g} cannot lose {self.loss:.3g} of all "
                    f"packets, for one at least arrives between two bursts; give {enough:g} or more"
                )
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _pauses_what_comes(self) -> Self:
        if self.kind == "pause" and self.direction == "from":
            message = "a pause stops what comes to the part; leave 'direction' out"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.until_s is not None and (self.until_s <= self.at_s or self.kind == "pause"):
            message = "'until' comes after 'at', and a pause has no end; change or remove it"
            raise ValueError(message)
        if (self.every_s is None) != (self.times is None):
            message = "'every' and 'times' go together; give both or none"
            raise ValueError(message)
        if self.every_s is not None and (
            self.until_s is None or self.every_s <= self.until_s - self.at_s
        ):
            message = (
                "what repeats is repaired before it happens again; give 'until' before 'every'"
            )
            raise ValueError(message)
        return self
