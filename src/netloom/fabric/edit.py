"""Fail, drain, slow or restore a part of a fabric; the fabric itself is never changed.

A part is a vertex (``leaf:3``, ``spine:0``, ``nic:12``, ``gpu:5``), a machine (``node:7``), all
cables between two vertices (``link:leaf:3-spine:0``) or one cable (``cable:123``). What happens
to a part happens to every cable that ends in it, in both directions.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.graph import LinkState
from netloom.fabric.names import find_vertex, kinds, vertex_name, vertex_of
from netloom.fabric.part_id import CABLE, NODE, PartId

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["drain", "fail", "restore", "slow"]

_Value = TypeVar("_Value", bound=np.generic)
_MAX_DIGITS = 10  # more than any number of cables has
_LINK = re.compile(r"link:(?P<one>.+:\d+)-(?P<other>.+:\d+)", re.ASCII)


def fail(fabric: Fabric, part: str | PartId) -> Fabric:
    """Return *fabric* with every link of *part* down.

    Raises:
        SpecError: There is no such part; the message names it and what comes close.
    """
    links = _links(fabric, part)
    return replace(fabric, link_state=_changed(fabric.link_state, links, LinkState.DOWN))


def drain(fabric: Fabric, part: str | PartId) -> Fabric:
    """Return *fabric* with every link of *part* avoided by routing; links that are down stay so.

    Raises:
        SpecError: There is no such part.
    """
    links = _links(fabric, part)
    working = links[fabric.link_state[links] != LinkState.DOWN]
    return replace(fabric, link_state=_changed(fabric.link_state, working, LinkState.DRAINED))


def slow(fabric: Fabric, part: str | PartId, factor: float) -> Fabric:
    """Return *fabric* with every link of *part* slower by *factor*; routing still uses them.

    The factor takes the place of an earlier one.

    Raises:
        SpecError: There is no such part, or *factor* is not a finite number of 1 or more.
    """
    if not (math.isfinite(factor) and factor >= 1):
        message = f"{str(part)!r}: a slowdown is a finite number of 1 or more, not {factor!r}"
        raise SpecError(message)
    links = _links(fabric, part)
    return replace(fabric, link_slowdown=_changed(fabric.link_slowdown, links, factor))


def restore(fabric: Fabric, part: str | PartId) -> Fabric:
    """Return *fabric* with every link of *part* up and at its full rate.

    A cable has one state, not one for each reason: restoring a switch also restores a cable
    of it that had failed by itself, or whose other end had.

    Raises:
        SpecError: There is no such part.
    """
    links = _links(fabric, part)
    return replace(
        fabric,
        link_state=_changed(fabric.link_state, links, LinkState.UP),
        link_slowdown=_changed(fabric.link_slowdown, links, 1),
    )


def _changed(values: NDArray[_Value], links: NDArray[np.int64], value: float) -> NDArray[_Value]:
    """Return *values* with some set, itself when nothing changes; read-only like all arrays."""
    if (values[links] == value).all():
        return values
    changed = values.copy()
    changed[links] = value
    changed.setflags(write=False)
    return changed


def _links(fabric: Fabric, part: str | PartId) -> NDArray[np.int64]:
    return _links_of(fabric, part) if isinstance(part, PartId) else _links_named(fabric, part)


def _links_of(fabric: Fabric, part: PartId) -> NDArray[np.int64]:
    """Return the links of *part*, both directions of a cable."""
    if part.kind == CABLE:
        return _cable(fabric, str(part.whole), str(part.index))
    if part.kind == NODE:
        return _touching(fabric, _node(fabric, str(part.whole), str(part.index)))
    vertices = np.zeros(fabric.num_vertices, dtype=np.bool_)
    vertices[vertex_of(fabric, part)] = True
    return _touching(fabric, vertices)


def _links_named(fabric: Fabric, part: str) -> NDArray[np.int64]:
    kind, _, rest = part.partition(":")
    if kind == "cable":
        return _cable(fabric, part, rest)
    if kind == "link":
        return _between(fabric, part)
    if kind == "node":
        return _touching(fabric, _node(fabric, part, rest))
    known = ("cable", "link", "node", *kinds(fabric))
    if kind not in known:
        close = difflib.get_close_matches(kind, known, n=1)
        hint = f"did you mean '{close[0]}:'?" if close else f"write one of {', '.join(known)}"
        raise SpecError(what=f"{part!r}: there is no part called {kind!r}", remedy=hint)
    vertices = np.zeros(fabric.num_vertices, dtype=np.bool_)
    vertices[find_vertex(fabric, part)] = True
    return _touching(fabric, vertices)


def _number(part: str, digits: str, end: int) -> int:
    kind = part.partition(":")[0]
    if not (digits.isascii() and digits.isdigit()):
        message = f"{part!r}: write a number after {kind!r}, such as '{kind}:0'"
        raise SpecError(message)
    if len(digits) > _MAX_DIGITS or int(digits) >= end:
        raise SpecError(
            what=f"{part!r} does not exist", remedy=f"this fabric ends at {kind}:{end - 1}"
        )
    return int(digits)


def _cable(fabric: Fabric, part: str, digits: str) -> NDArray[np.int64]:
    cable = _number(part, digits, fabric.num_links // 2)
    return np.array([2 * cable, 2 * cable + 1])


def _node(fabric: Fabric, part: str, digits: str) -> NDArray[np.bool_]:
    node = _number(part, digits, int(fabric.vertex_node.max(initial=-1)) + 1)
    return np.asarray(fabric.vertex_node == node)


def _touching(fabric: Fabric, vertices: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.flatnonzero(vertices[fabric.link_source] | vertices[fabric.link_target])


def _between(fabric: Fabric, part: str) -> NDArray[np.int64]:
    match = _LINK.fullmatch(part)
    if match is None:
        raise SpecError(
            what=f"{part!r} is not a link", remedy="name both ends, such as 'link:leaf:3-spine:0'"
        )
    one, other = find_vertex(fabric, match["one"]), find_vertex(fabric, match["other"])
    from_one = fabric.link_source == one
    to_one = fabric.link_target == one
    links = np.flatnonzero(
        (from_one & (fabric.link_target == other)) | (to_one & (fabric.link_source == other))
    )
    if not len(links):
        ends = np.unique(fabric.link_target[from_one])[:8]
        names = ", ".join(vertex_name(fabric, int(end)) for end in ends)
        raise SpecError(
            what=f"{part!r}: no cable joins the two",
            remedy=f"{match['one']} has cables to {names or 'none'}",
        )
    return links
