"""The base of every model that is read from a file."""

from __future__ import annotations

from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict

__all__ = ["FROM_FILE", "Strict", "written_name"]

# Tells validators that only the keys of a file will do, not the attributes' names.
FROM_FILE: Final = {"source": "file"}

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
        defer_build=True,  # of some eighty models a command reads a few
    )

    @classmethod
    def from_file(cls, value: Any) -> Self:
        """Return the model that a file's *value* describes.

        In a file the unit stands beside the number, so only the names without units are keys.

        Raises:
            pydantic.ValidationError: it describes none.
        """
        return cls.model_validate(value, by_alias=True, by_name=False, context=FROM_FILE)

    @classmethod
    def alternatives(cls) -> tuple[type[Strict], ...]:
        """Return the models that may stand where this one is named: itself, unless it is open."""
        return (cls,)
