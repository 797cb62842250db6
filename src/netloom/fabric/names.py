"""What people call the vertices and links of a fabric: ``gpu:12``, ``leaf:3``, ``spine:0``."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["find_vertex", "kinds", "link_name", "vertex_name"]

_MOST_DIGITS = 9  # more than any number of vertices has

_HOST_KINDS = {
    "gpu": VertexKind.GPU,
    "nic": VertexKind.NIC,
    "scale-up": VertexKind.SCALE_UP,
}


def kinds(fabric: Fabric) -> tuple[str, ...]:
    """Return the words that may stand before the colon, those of the design's tiers last."""
    return (*_HOST_KINDS, *(tier.name for tier in fabric.design.tiers))


def vertex_name(fabric: Fabric, vertex: int) -> str:
    """Return the name of *vertex*: its kind or tier, and its number among those."""
    kind = VertexKind(fabric.vertex_kind[vertex])
    if kind is VertexKind.SWITCH:
        tier = int(fabric.vertex_tier[vertex])
        first = int(np.argmax(_of_tier(fabric, tier)))
        return f"{fabric.design.tiers[tier - 1].name}:{vertex - first}"
    word = next(word for word, known in _HOST_KINDS.items() if known is kind)
    return f"{word}:{vertex - int(np.argmax(fabric.vertex_kind == kind))}"


def find_vertex(fabric: Fabric, name: str) -> int:
    """Return the vertex called *name*.

    Raises:
        SpecError: There is none; the message says what there is.
    """
    word, _, number = name.partition(":")
    if not number.isascii() or not number.isdigit():
        message = f"{name!r} is not the name of a part; write a kind and a number: 'leaf:3'"
        raise SpecError(message)
    where = np.flatnonzero(_named(fabric, word, name))
    if len(number) > _MOST_DIGITS or int(number) >= len(where):
        end = f"ends at {word}:{len(where) - 1}" if len(where) else f"has no {word}"
        message = f"{name!r} does not exist; this fabric {end}"
        raise SpecError(message)
    return int(where[int(number)])


def link_name(fabric: Fabric, link: int) -> str:
    """Return the two ends of *link* in the direction it carries: ``leaf:3->spine:0``."""
    ends = int(fabric.link_source[link]), int(fabric.link_target[link])
    return "->".join(vertex_name(fabric, end) for end in ends)


def _named(fabric: Fabric, word: str, name: str) -> NDArray[np.bool_]:
    if word in _HOST_KINDS:
        return np.asarray(fabric.vertex_kind == _HOST_KINDS[word])
    tiers = [tier.name for tier in fabric.design.tiers]
    if word in tiers:
        return _of_tier(fabric, tiers.index(word) + 1)
    known = kinds(fabric)
    close = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean '{close[0]}:'?" if close else f"this fabric has {', '.join(known)}"
    message = f"{name!r}: there is no part called {word!r}; {hint}"
    raise SpecError(message)


def _of_tier(fabric: Fabric, tier: int) -> NDArray[np.bool_]:
    switches = fabric.vertex_kind == VertexKind.SWITCH
    return np.asarray(switches & (fabric.vertex_tier == tier))
