"""Settings of lossless Ethernet that a scenario gives itself, on top of published ones."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self

from pydantic import Field

from netloom.spec.quantity import Share, SizeBytes, TimeS, write_quantity
from netloom.spec.strict import Strict
from netloom.units import SHARE, SIZE, TIME

__all__ = ["OwnSettings"]

Name = Annotated[str, Field(min_length=1, max_length=200)]
Size = Annotated[SizeBytes, Field(ge=64, le=1e12)]
Parameter = Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]

_UNITS: Final = {"kmin_bytes": SIZE, "kmax_bytes": SIZE, "pmax": SHARE, "cnp_interval_s": TIME}


class OwnSettings(Strict):
    """Marks, pauses and congestion control; what is left out is as ``of`` says."""

    of: Name | None = Field(
        default=None,
        description="Published settings to start from; the technology's own when left out",
    )
    kmin_bytes: Size | None = Field(default=None, description="Queue at which marks begin")
    kmax_bytes: Size | None = Field(default=None, description="Queue beyond which all is marked")
    pmax: Annotated[Share, Field(gt=0, le=1)] | None = Field(
        default=None, description="Share that is marked at kmax"
    )
    alpha: Annotated[float, Field(gt=0, le=64)] | None = Field(
        default=None,
        description="Share of the free pool that an input may take before it pauses; 1/8 when "
        "left out",
    )
    congestion_control: Name | None = Field(default=None, description="Such as dcqcn, or none")
    parameters: (
        Annotated[dict[Parameter, Annotated[float, Field(ge=0)]], Field(max_length=32)] | None
    ) = Field(default=None, description="Of congestion control, by name, instead of its own")
    cnp_interval_s: Annotated[TimeS, Field(gt=0, le=1)] | None = Field(
        default=None, description="Least time between two congestion notifications of a flow"
    )
    qps: Annotated[int, Field(ge=1, le=64)] | None = Field(
        default=None, description="Queue pairs that a transfer is spread over"
    )

    @classmethod
    def of_numbers(cls, **numbers: Any) -> Self:
        """Return settings of plain numbers by attribute: bytes, seconds, shares of 1.

        Raises:
            pydantic.ValidationError: one is out of its range.
        """
        written = {
            name: write_quantity(value, _UNITS[name]) if name in _UNITS else value
            for name, value in numbers.items()
            if value is not None
        }
        return cls.model_validate(written)
