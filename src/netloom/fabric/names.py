"""What people call the vertices and links of a fabric: ``gpu:12``, ``leaf:3``, ``spine:0``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.fabric.part_id import PartId

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric

__all__ = [
    "find_vertex",
    "kinds",
    "link_name",
    "part_of_vertex",
    "vertex_name",
    "vertex_names",
    "vertex_of",
]


def kinds(fabric: Fabric) -> tuple[str, ...]:
    """Return the words that may stand before the colon, those of the design's tiers last."""
    return tuple(_numbers(fabric))


def vertex_name(fabric: Fabric, vertex: int) -> str:
    """Return what *vertex* is called: ``gpu:12``, ``nic:3``, ``scale-up:0``, ``leaf:4`` ...

    NIC ports are counted over all nodes and planes, switches tier by tier.
    """
    return str(part_of_vertex(fabric, vertex))


def part_of_vertex(fabric: Fabric, vertex: int) -> PartId:
    """Return the part that *vertex* is."""
    for kind, numbers in _numbers(fabric).items():
        if vertex in numbers:
            return PartId(kind, vertex - numbers.start)
    message = f"vertex {vertex} of {fabric.num_vertices}"
    raise IndexError(message)


def vertex_names(fabric: Fabric) -> tuple[str, ...]:
    """Return what every vertex is called, in order."""
    return tuple(
        f"{kind}:{number}"
        for kind, numbers in _numbers(fabric).items()
        for number in range(len(numbers))
    )


def find_vertex(fabric: Fabric, name: str) -> int:
    """Return the vertex that :func:`vertex_name` calls *name*.

    Raises:
        SpecError: there is none; the message says which there are.
    """
    numbers = _numbers(fabric)
    kind, _, index = name.partition(":")
    if kind not in numbers:
        close = get_close_matches(kind, numbers, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(numbers)}"
        raise SpecError(what=f"{name!r}: this network has no {kind!r}", remedy=hint)
    count = len(numbers[kind])
    if not (index.isascii() and index.isdigit() and len(index) < 10 and int(index) < count):
        message = f"{name!r}: write {kind}:0 to {kind}:{count - 1}"
        raise SpecError(message)
    return numbers[kind][int(index)]


def vertex_of(fabric: Fabric, part: PartId) -> int:
    """Return the vertex that *part* is.

    Raises:
        SpecError: it is none of this network.
    """
    return find_vertex(fabric, str(part.whole))


def link_name(fabric: Fabric, link: int) -> str:
    """Return the two ends of *link* in the direction it carries: ``leaf:3->spine:0``."""
    ends = int(fabric.link_source[link]), int(fabric.link_target[link])
    return "->".join(vertex_name(fabric, end) for end in ends)


def _numbers(fabric: Fabric) -> dict[str, range]:
    """Return the vertices of each kind, in order; kinds that are absent are left out."""
    design = fabric.design
    num_scale_up = fabric.num_vertices - design.num_gpus - design.num_ports - design.num_switches
    counts = [
        ("gpu", design.num_gpus),
        ("nic", design.num_ports),
        ("scale-up", num_scale_up),
        *((tier.name, tier.num_switches) for tier in design.tiers),
    ]
    numbers, start = {}, 0
    for kind, count in counts:
        if count:
            numbers[kind] = range(start, start + count)
        start += count
    return numbers
