"""Endpoints, switches, links and ways between them: the network as the packet engine sees it.

Made from a built fabric, or read from another simulator's topology file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PacketTopology"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PacketTopology:
    """Vertices, directed links, and the equal-cost next links from each vertex to each goal.

    Vertices 0 to ``num_endpoints - 1`` are endpoints (GPUs with their NICs, or hosts); the rest are
    switches, scale-up switches included. Link l and link l ^ 1 are the two directions of a cable.

    A goal is a set of endpoints that every switch reaches the same way, such as the hosts of one
    leaf; an endpoint that hangs on several switches is a goal of its own. The next links from
    vertex v to goal g are ``links[offsets[s]:offsets[s + 1]]`` with ``s = choices[v, g]``, in
    ascending order, and none where there is no way. From a vertex that is joined to the endpoint
    itself, the direct link is taken before any other.

    Attributes:
        num_endpoints: How many vertices are endpoints.
        name: The name of each vertex, for messages and results.
        link_source: Vertex each link leaves.
        link_target: Vertex each link enters.
        link_rate_bps: One direction; what is left of it on a slowed link.
        link_delay_ps: Propagation.
        link_scale_up: Whether a link belongs to a scale-up network (lossless, uncontrolled).
        forward_ps: What each vertex adds to every packet that it forwards; 0 for endpoints.
        goal: The goal each endpoint belongs to.
        choices: For each vertex and goal, which set of next links.
        offsets: Where each set begins, and the end of the last.
        links: Link ids.
    """

    num_endpoints: int
    name: tuple[str, ...]
    link_source: NDArray[np.int32]
    link_target: NDArray[np.int32]
    link_rate_bps: NDArray[np.float64]
    link_delay_ps: NDArray[np.int64]
    link_scale_up: NDArray[np.bool_]
    forward_ps: NDArray[np.int64]
    goal: NDArray[np.int32]
    choices: NDArray[np.int32]
    offsets: NDArray[np.int64]
    links: NDArray[np.int32]

    @property
    def num_vertices(self) -> int:
        """Vertices in all."""
        return len(self.forward_ps)

    @property
    def num_links(self) -> int:
        """Directed links in all."""
        return len(self.link_source)
