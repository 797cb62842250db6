"""The JSON schema of a scenario, for editors."""

from __future__ import annotations

from typing import Any, Final

from netloom.spec.quantity import write_quantity
from netloom.spec.scenario import Scenario
from netloom.units import DIMENSIONS

__all__ = ["schema"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_BY_NAME: Final = {dimension.name: dimension for dimension in DIMENSIONS}


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) that scenario files follow.

    It says what can be said without arithmetic: keys, types, choices, units, and ranges of plain
    numbers. That a quantity is in range is checked by netloom alone.
    """
    body = Scenario.model_json_schema(by_alias=True)
    _rewrite(body)
    return {"$schema": _DIALECT, **body, "title": "netloom scenario"}


def _rewrite(part: object) -> None:
    """Put quantities as a file has them: defaults with units, no ranges in base units."""
    if isinstance(part, list):
        for item in part:
            _rewrite(item)
    if not isinstance(part, dict):
        return
    if "$ref" in part or isinstance(part.get("default"), dict):
        part.pop("default", None)  # a mapping left out is one whose every key was left out
    if "const" in part.get("properties", {}).get("kind", {}):
        part["required"] = [*part.get("required", ()), "kind"]
        part["properties"]["kind"].pop("default", None)
    measured = _measured(part)
    if measured and isinstance(part.get("default"), float):
        part["default"] = write_quantity(part["default"], _BY_NAME[measured])
    for item in part.values():
        _rewrite(item)
    part.pop("x-dimension", None)


def _measured(part: dict[str, Any]) -> str | None:
    """Return the name of the dimension that *part*, or what it may also be, is of."""
    candidates = [part, *part.get("anyOf", [])]
    names = (option["x-dimension"] for option in candidates if "x-dimension" in option)
    return next(names, None)
