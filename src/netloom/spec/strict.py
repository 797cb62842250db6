"""The base of every model that is read from a file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Strict", "written_name"]

_UNIT_SUFFIXES = ("_bytes_per_s", "_flops", "_bytes", "_bps", "_usd", "_s", "_m", "_w")


def written_name(attribute: str) -> str:
    """Return the key under which a file gives *attribute*.

    Attributes carry the unit they are computed in (``latency_s``); in a file the unit stands
    beside the number, so the key does not repeat it (``latency: 2us``).
    """
    for suffix in _UNIT_SUFFIXES:
        if attribute.endswith(suffix):
            return attribute.removesuffix(suffix)
    return attribute


class Strict(BaseModel):
    """A frozen model that refuses keys it does not know and values of another type."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        alias_generator=written_name,
        validate_by_name=True,
        validate_by_alias=True,
    )
