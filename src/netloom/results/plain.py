"""Results as plain values, which JSON can hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

__all__ = ["to_plain"]


def to_plain(value: object) -> Any:
    """Return *value* as dicts, lists, text, numbers, booleans and None.

    Dataclasses and pydantic models become dicts of their attributes, numpy's numbers and arrays
    plain ones.

    Raises:
        TypeError: something in it is none of these.
    """
    if isinstance(value, Enum):
        return to_plain(value.value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(to_plain(key)): to_plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: to_plain(getattr(value, name)) for name in names}
    return _foreign(value)


def _foreign(value: object) -> Any:
    if hasattr(value, "model_dump"):
        return to_plain(value.model_dump())
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, (bytes, set, frozenset)):
        return [to_plain(item) for item in value]
    message = f"{type(value).__name__} has no JSON form"
    raise TypeError(message)
