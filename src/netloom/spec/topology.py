"""The topologies a scenario may ask for: whatever kinds are registered.

A kind is one module of :mod:`netloom.fabric.topologies`, or one entry point of another package
under ``netloom.topologies``; its entry holds the frozen model of its parameters. Kinds are looked
up when the first scenario is read: this module imports none of them.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

from pydantic import Field, TypeAdapter
from pydantic_core import core_schema

from netloom.registers import Register
from netloom.spec.strict import FROM_FILE, Strict

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
    from pydantic.json_schema import JsonSchemaValue

__all__ = [
    "MAX_OVERSUBSCRIPTION",
    "MAX_PLANES",
    "TOPOLOGIES",
    "Kind",
    "Oversubscription",
    "Topology",
    "TopologyKind",
    "TopologySpec",
    "default_topology",
]

MAX_OVERSUBSCRIPTION = 64
MAX_PLANES = 16

Oversubscription = Annotated[float, Field(ge=1, le=MAX_OVERSUBSCRIPTION)]
Kind = Field(description="Which topology")


class TopologySpec(Strict):
    """The parameters of one kind of topology; ``kind`` is a literal with itself as default."""

    if TYPE_CHECKING:
        # Declared by each kind, so that it stands where that kind puts it among its fields.
        kind: str

    @classmethod
    def alternatives(cls) -> tuple[type[Strict], ...]:
        """Return all registered kinds where any may stand; a kind itself stands alone."""
        if cls is not TopologySpec:
            return (cls,)
        return tuple(entry.spec for entry in TOPOLOGIES.usable())


class TopologyKind(Protocol):
    """What a scenario needs to know of a kind of topology."""

    @property
    def name(self) -> str:
        """The kind, as scenarios and options write it."""

    @property
    def spec(self) -> type[TopologySpec]:
        """Its parameters."""


TOPOLOGIES: Final = Register[TopologyKind](
    kind="topology",
    traits=TopologyKind,
    home="netloom.fabric.topologies",
    entry_point_group="netloom.topologies",
)


def default_topology() -> TopologySpec:
    """Return what a scenario without a topology gets: a non-blocking rail-fat-tree."""
    return TOPOLOGIES.get("rail-fat-tree").spec.model_validate({})


@cache
def _adapter(names: tuple[str, ...]) -> TypeAdapter[TopologySpec]:
    union: Any = reduce(or_, (TOPOLOGIES.get(name).spec for name in names))
    return TypeAdapter(Annotated[union, Field(discriminator="kind")])


def _names_for(kind: object) -> tuple[str, ...]:
    """Return the kinds to read *kind* with: those of other packages only where they are needed."""
    shipped = TOPOLOGIES.shipped()
    if kind in shipped:
        return shipped
    if isinstance(kind, str) and kind in TOPOLOGIES:
        TOPOLOGIES.get(kind)  # who asks for it is told where it does not load; others are not
    return tuple(entry.name for entry in TOPOLOGIES.usable())


class _Registered:
    """Reads and describes a topology as the union of all registered kinds, when it is needed."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(_read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        names = tuple(entry.name for entry in TOPOLOGIES.usable())
        return handler(_adapter(names).core_schema)


def _read(value: object, info: ValidationInfo) -> TopologySpec:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    adapter = _adapter(_names_for(kind))
    if info.context is FROM_FILE:
        return adapter.validate_python(value, by_alias=True, by_name=False, context=FROM_FILE)
    return adapter.validate_python(value)


Topology = Annotated[TopologySpec, _Registered()]
