"""Which GPUs a broken network no longer joins to the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import LinkState, VertexKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["cut_off", "without_port"]


def without_port(fabric: Fabric, whole: Fabric) -> NDArray[np.int64]:
    """Return the GPUs that had a NIC port plugged into a switch in *whole* and have none now.

    GPUs talk through their own NICs alone, so these are lost whatever their neighbours in the
    node have.

    Returns:
        GPU numbers, ascending.
    """
    before, after = (_has_port(one, _pieces(one) >= 0) for one in (whole, fabric))
    return np.flatnonzero(before & ~after)


def cut_off(fabric: Fabric, whole: Fabric) -> NDArray[np.int64]:
    """Return the GPUs of *fabric* that reach no other, or only a minority of those they reached.

    Where a network falls into pieces, the piece with the most NIC ports is what is left of it,
    the first of equally large ones; a GPU without a port in such a piece is cut off. Whether a
    job notices depends on who talks to whom: rails that fall apart may not need one another.

    Args:
        fabric: The network as it stands.
        whole: The same before anything happened to it; its own parts (rails that never meet,
            planes) are no loss.

    Returns:
        GPU numbers, ascending.
    """
    before, after = _pieces(whole), _pieces(fabric)
    ports = np.flatnonzero(fabric.vertex_kind == VertexKind.NIC)
    live = ports[after[ports] >= 0]
    keeps = np.zeros(fabric.num_vertices, dtype=np.bool_)
    pair, count = np.unique(np.stack([before[live], after[live]]), axis=1, return_counts=True)
    for piece in np.unique(pair[0]).tolist():
        mine = np.flatnonzero(pair[0] == piece)
        keeps[pair[1][mine[np.argmax(count[mine])]]] = True
    in_reach = np.zeros(fabric.num_vertices, dtype=np.bool_)
    in_reach[live] = keeps[after[live]]
    return np.flatnonzero(_has_port(whole, before >= 0) & ~_has_port(fabric, in_reach))


def _has_port(fabric: Fabric, ports_live: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return of each GPU whether a host link in use leads to a port of *ports_live*."""
    kind = fabric.vertex_kind
    doors = (fabric.link_state == LinkState.UP) & (kind[fabric.link_source] == VertexKind.GPU)
    doors &= kind[fabric.link_target] == VertexKind.NIC
    doors &= ports_live[fabric.link_target]
    has = np.zeros(fabric.num_vertices, dtype=np.bool_)
    has[fabric.link_source[doors]] = True
    return has


def _pieces(fabric: Fabric) -> NDArray[np.int64]:
    """Return for each NIC port and switch the least vertex that links in use join it to.

    -1 for everything else, and for ports that no link in use joins to a switch.
    """
    kind = fabric.vertex_kind
    outside = np.isin(kind, (VertexKind.NIC, VertexKind.SWITCH))
    used = (fabric.link_state == LinkState.UP) & outside[fabric.link_source]
    used &= outside[fabric.link_target]
    one, other = fabric.link_source[used], fabric.link_target[used]
    label = np.arange(fabric.num_vertices)
    while True:
        lower = label.copy()
        np.minimum.at(lower, other, label[one])
        lower = lower[lower]  # also follow the label's own label, to get there in few rounds
        if np.array_equal(lower, label):
            break
        label = lower
    plugged = np.zeros(fabric.num_vertices, dtype=np.bool_)
    plugged[one] = True
    return np.where(outside & (plugged | (kind == VertexKind.SWITCH)), label, -1)
