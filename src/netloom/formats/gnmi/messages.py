"""gNMI messages as leaves: where a value stands, and the value.

A server may send one leaf at a time or a tree of JSON; either becomes the same leaves. Messages
are taken as they come from the protocol's generated classes, of which nothing is imported here:
gNMI is an optional extra (``gnmi.proto`` 0.8 to 0.10 of openconfig/gnmi).
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Leaf", "LeafPath", "leaves_of", "path_of", "steps_of", "values_of"]

Step = tuple[str, tuple[str, ...]]  # a name, and the values of its keys in the keys' own order
LeafPath = tuple[Step, ...]
Leaf = tuple[LeafPath, Any]

MAX_DEPTH: Final = 32
MAX_TEXT: Final = 400
# Lists that netloom reads, and their keys (openconfig/public).
_KEYS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "interface": (("name",), ("interface-id",)),
    "subinterface": (("index",),),
    "address": (("ip",),),
    "neighbor": (("id",), ("neighbor-address",)),
    "network-instance": (("name",),),
    "protocol": (("identifier", "name"),),
    "component": (("name",),),
    "channel": (("index",),),
    "queue": (("name",),),
}
_ELEMENT: Final = re.compile(r"(?P<name>[\w.:*-]+)(?P<keys>(?:\[[^\]=]+=[^\]]*\])*)", re.ASCII)
_KEY: Final = re.compile(r"\[([^\]=]+)=([^\]]*)\]")


def path_of(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the elements of a path as people write it, each with its keys.

    >>> path_of("/interfaces/interface[name=*]/state")
    [('interfaces', {}), ('interface', {'name': '*'}), ('state', {})]
    """
    found = _ELEMENT.finditer(text)
    return [(match["name"], dict(_KEY.findall(match["keys"]))) for match in found]


def steps_of(*paths: Any) -> LeafPath:
    """Return where a message's path leads: its prefix first, then its own."""
    return tuple(
        (_plain(elem.name), tuple(str(elem.key[key])[:MAX_TEXT] for key in sorted(elem.key)))
        for path in paths
        for elem in path.elem
    )


def leaves_of(notification: Any) -> Iterator[Leaf]:
    """Give the leaves of a notification.

    Raises:
        LabError: a value is not what its type says.
    """
    for update in notification.update:
        start = steps_of(notification.prefix, update.path)
        yield from _flat(start, _value(update.val), 0)


def values_of(notification: Any) -> Iterator[Any]:
    """Give the values of a notification as they came, trees as JSON has them.

    Raises:
        LabError: a value is not what its type says.
    """
    for update in notification.update:
        yield _value(update.val)


def _value(typed: Any) -> Any:
    """Return a typed value as JSON has it."""
    kind = typed.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(typed, kind)
    if kind in {"json_val", "json_ietf_val"}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            message = "a value that should be JSON is none"
            raise LabError(message) from error
    if kind == "decimal_val":
        return value.digits / 10.0 ** min(value.precision, 300)
    if kind == "leaflist_val":
        return None  # no list of values is read
    return value if kind not in {"any_val", "proto_bytes"} else None


def _flat(path: LeafPath, value: Any, depth: int) -> Iterator[Leaf]:
    if depth > MAX_DEPTH:
        message = "a tree that is too deep"
        raise LabError(message)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _inside(path, _plain(name), inner, depth + 1)
    elif isinstance(value, str | bool | int | float) and not (
        isinstance(value, float) and not math.isfinite(value)
    ):
        yield path, value[:MAX_TEXT] if isinstance(value, str) else value


def _inside(path: LeafPath, name: str, value: Any, depth: int) -> Iterator[Leaf]:
    if not isinstance(value, list):
        yield from _flat((*path, (name, ())), value, depth)
        return
    for row in value:
        keys = _row_keys(name, row)
        if keys is not None:
            yield from _flat((*path, (name, keys)), row, depth)


def _row_keys(name: str, row: Any) -> tuple[str, ...] | None:
    """Return the keys of a list's row; None of a list that is not known."""
    if not isinstance(row, dict):
        return None
    plain = {_plain(key): value for key, value in row.items()}
    for names in _KEYS.get(name, ()):
        if all(isinstance(plain.get(key), str | int) for key in names):
            return tuple(str(plain[key])[:MAX_TEXT] for key in names)
    return None


def _plain(name: str) -> str:
    """Return a name without its module: ``openconfig-interfaces:interface`` is ``interface``."""
    return name.rpartition(":")[2][:MAX_TEXT]
