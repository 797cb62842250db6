"""A wiring of explicit routes: which links packets between two endpoints take is given."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.wiring.wiring import PacketTopology

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["RoutedCable", "routed_wiring"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedCable:
    """A cable between two vertices: links 2i (from *one*) and 2i + 1 (from *other*)."""

    one: int
    other: int
    rate_bps: float
    delay_ps: int = 0


def routed_wiring(
    num_endpoints: int,
    cables: Sequence[RoutedCable],
    routes: Iterable[Sequence[int]],
    *,
    forward_ps: int = 0,
    names: Sequence[str] = (),
) -> PacketTopology:
    """Return endpoints (first) and switches, and the *routes* between endpoints.

    Args:
        num_endpoints: Vertices 0 and up that are endpoints.
        cables: Between vertices.
        routes: Vertices from an endpoint to another, over the first direction of a cable where
            there is one; answers go back over the same cables. Where two routes to the same
            endpoint part, both links are choices.
        forward_ps: Of every switch.
        names: Of vertices; numbered without.

    Raises:
        SpecError: a route steps where no cable is.
    """
    num_vertices = 1 + max(max(one.one, one.other) for one in cables)
    link_of: dict[tuple[int, int], int] = {}
    for number, one in enumerate(cables):
        link_of.setdefault((one.one, one.other), 2 * number)
    for number, one in enumerate(cables):
        link_of.setdefault((one.other, one.one), 2 * number + 1)
    next_links: dict[tuple[int, int], set[int]] = {}
    for route in routes:
        for step in pairwise(route):
            link = _link(step, link_of)
            next_links.setdefault((step[0], route[-1]), set()).add(link)
            next_links.setdefault((step[1], route[0]), set()).add(link ^ 1)
    choices = np.zeros((num_vertices, num_endpoints), dtype=np.int32)
    offsets, links = [0, 0], list[int]()
    for (vertex, goal), found in sorted(next_links.items()):
        choices[vertex, goal] = len(offsets) - 1
        links += sorted(found)
        offsets.append(len(links))
    forward = np.full(num_vertices, forward_ps, dtype=np.int64)
    forward[:num_endpoints] = 0
    ends = np.array([(one.one, one.other) for one in cables], dtype=np.int32)
    return PacketTopology(
        num_endpoints=num_endpoints,
        name=tuple(names) or tuple(f"v{vertex}" for vertex in range(num_vertices)),
        link_source=np.ascontiguousarray(ends).reshape(-1),
        link_target=np.ascontiguousarray(ends[:, ::-1]).reshape(-1),
        link_rate_bps=np.repeat([one.rate_bps for one in cables], 2).astype(float),
        link_delay_ps=np.repeat([one.delay_ps for one in cables], 2).astype(np.int64),
        link_scale_up=np.zeros(2 * len(cables), dtype=bool),
        forward_ps=forward,
        goal=np.arange(num_endpoints, dtype=np.int32),
        choices=choices,
        offsets=np.array(offsets, dtype=np.int64),
        links=np.array(links, dtype=np.int32),
    )


def _link(step: tuple[int, int], link_of: dict[tuple[int, int], int]) -> int:
    if step not in link_of:
        raise SpecError(
            key="routes",
            what=f"no cable leads from vertex {step[0]} to {step[1]}",
            remedy="add one, or take another route",
        )
    return link_of[step]
