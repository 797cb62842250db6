"""Small Clos networks for hypothesis, whole and hurt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import small
from hypothesis import strategies as st

from netloom.fabric.edit import fail, slow

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric

__all__ = ["damaged", "healthy"]

_FEW = st.integers(1, 3)


def healthy() -> st.SearchStrategy[Fabric]:
    """Return two or three tiers, pods or none, hosts on every leaf."""
    return st.one_of(
        st.builds(small.leaf_spine, st.integers(1, 4), _FEW, _FEW, parallel=st.integers(1, 3)),
        st.builds(small.clos3, _FEW, _FEW, _FEW, _FEW, st.integers(1, 2)),
        st.builds(small.joined_spines, _FEW, _FEW, _FEW, st.integers(1, 2)),
    )


@st.composite
def damaged(draw: st.DrawFn, *, slowdowns: tuple[float, ...] = ()) -> Fabric:
    """Return one of which some cables between switches failed, or are slower by *slowdowns*."""
    fabric = draw(healthy())
    tier = fabric.vertex_tier
    between = np.flatnonzero((tier[fabric.link_source] > 0) & (tier[fabric.link_target] > 0))
    if not len(between):
        return fabric
    for cable in draw(st.sets(st.sampled_from((between[::2] // 2).tolist()), max_size=6)):
        factor = draw(st.sampled_from([None, *slowdowns]))
        part = f"cable:{cable}"
        fabric = fail(fabric, part) if factor is None else slow(fabric, part, factor)
    return fabric
