"""What goes wrong during a simulation, and when."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netloom.spec.quantity import RateBps, Share, TimeS
from netloom.spec.strict import Strict

__all__ = ["LinkFault"]

Time = Annotated[TimeS, Field(ge=0, le=3600)]
_NEEDS = {"slow": "rate", "loss": "loss"}


class LinkFault(Strict):
    """Something that happens to links at a time."""

    kind: Literal["down", "slow", "loss", "pause"] = Field(
        description="down: cut; slow: a lower rate; loss: packets are lost at random; pause: the "
        "part asks its neighbours to pause and never stops"
    )
    part: Annotated[str, Field(min_length=3, max_length=100)] = Field(
        description="A switch or endpoint (leaf:3, gpu:7), or all cables between two: "
        "leaf:3-spine:0"
    )
    at_s: Time = Field(default=0.0, description="When it happens")
    until_s: Time | None = Field(default=None, description="When it is mended; never when left out")
    rate_bps: Annotated[RateBps, Field(ge=1, le=1e15)] | None = Field(
        default=None, description="What is left of a link that is slow"
    )
    loss: Annotated[Share, Field(gt=0, lt=1)] | None = Field(
        default=None, description="Share of packets that is lost"
    )

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        for kind, key in _NEEDS.items():
            given = getattr(self, "rate_bps" if key == "rate" else key)
            if (self.kind == kind) != (given is not None):
                message = f"'{key}' belongs to kind {kind}, and to no other; give both or none"
                raise ValueError(message)
        if self.until_s is not None and (self.until_s <= self.at_s or self.kind == "pause"):
            message = "'until' comes after 'at', and a pause has no end; change or remove it"
            raise ValueError(message)
        return self
