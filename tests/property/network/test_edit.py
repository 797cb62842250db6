from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import small
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.fabric.edit import drain, fail, restore, slow
from netloom.fabric.graph import LinkState
from netloom.fabric.names import vertex_name
from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.spread import load_bps

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric

FEW = settings(max_examples=40)


@st.composite
def fabrics_with_a_part(draw: st.DrawFn) -> tuple[Fabric, str]:
    fabric = draw(
        st.sampled_from([small.fat_tree(4), small.rails(2, 4, num_spines=2), small.two_planes(3)])
    )
    cable = draw(st.integers(0, fabric.num_links // 2 - 1))
    ends = [vertex_name(fabric, int(end)) for end in (fabric.link_source[2 * cable],
                                                      fabric.link_target[2 * cable])]  # fmt: skip
    node = draw(st.integers(0, fabric.design.num_nodes - 1))
    return fabric, draw(
        st.sampled_from([f"cable:{cable}", f"link:{ends[0]}-{ends[1]}", *ends, f"node:{node}"])
    )


@FEW
@given(fabrics_with_a_part(), st.sampled_from(["fail", "drain", "slow"]))
def test_restoring_undoes_any_edit(given_part: tuple[Fabric, str], how: str) -> None:
    fabric, part = given_part
    if how == "slow":
        edited = slow(fabric, part, 3)
    else:
        edited = {"fail": fail, "drain": drain}[how](fabric, part)
    same = edited.link_state is fabric.link_state and edited.link_slowdown is fabric.link_slowdown
    assert not same
    back = restore(edited, part)
    assert np.array_equal(back.link_state, fabric.link_state)
    assert np.array_equal(back.link_slowdown, fabric.link_slowdown)


@FEW
@given(fabrics_with_a_part(), st.sampled_from([fail, drain]))
def test_both_links_of_a_cable_always_share_their_state(
    given_part: tuple[Fabric, str], edit: type
) -> None:
    state = edit(*given_part).link_state
    assert np.array_equal(state[::2], state[1::2])


@FEW
@given(st.integers(2, 4), st.integers(2, 4), st.data())
def test_without_any_one_spine_a_clos_still_joins_all_pairs(
    num_leaves: int, num_spines: int, data: st.DataObject
) -> None:
    fabric = small.clos3(2, num_leaves, num_spines, 2, 1)
    spine = data.draw(st.integers(0, 2 * num_spines - 1))
    failed = fail(fabric, f"spine:{spine}")
    flows = small.all_pairs(failed)
    paths = ecmp.paths(tables(failed), flows)
    assert np.array_equal(failed.link_target[paths.links[paths.offsets[1:] - 1]], flows.target)
    assert (failed.link_state[paths.links] == LinkState.UP).all()


@FEW
@given(st.integers(0, 3))
def test_traffic_avoids_what_is_drained_but_not_what_is_slow(spine: int) -> None:
    fabric = small.leaf_spine(3, 4, 2)
    flows = small.all_pairs(fabric)
    part = f"spine:{spine}"
    ends = np.flatnonzero(fabric.link_slowdown != slow(fabric, part, 2).link_slowdown)
    drained = load_bps(tables(drain(fabric, part)), flows, np.ones(len(flows)))
    slowed = load_bps(tables(slow(fabric, part, 2)), flows, np.ones(len(flows)))
    assert (drained[ends] == 0).all()
    assert (slowed[ends] > 0).all()
    assert np.array_equal(slowed, load_bps(tables(fabric), flows, np.ones(len(flows))))
