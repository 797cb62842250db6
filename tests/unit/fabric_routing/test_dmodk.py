"""D-mod-k keeps shifts apart: Zahavi (2012), theorem on contention-free shift permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import small

from netloom.fabric.edit import fail
from netloom.fabric.routing import dmodk, ecmp
from netloom.fabric.routing.candidates import tables

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric


def interleaved() -> Fabric:
    """Non-blocking, but host i is on leaf i mod 4, as GPUs of a node are in a rail design."""
    hosts = [small.Machine(1, [[host % 4]]) for host in range(16)]
    cables = [((1, leaf), (2, spine)) for leaf in range(4) for spine in range(4)]
    return small.fabric(small.Parts(machines=hosts, tiers=[4, 4], cables=cables))


FULL = {
    "leaf-spine": lambda: small.leaf_spine(4, 4, 4),
    "parallel cables": lambda: small.leaf_spine(4, 2, 4, parallel=2),
    "more parallel cables": lambda: small.leaf_spine(3, 2, 6, parallel=3),
    "fat tree of 4": lambda: small.fat_tree(4),
    "fat tree of 6": lambda: small.fat_tree(6),
    "interleaved": interleaved,
}


@pytest.mark.parametrize("name", FULL)
def test_no_shift_puts_two_flows_on_a_link(name: str) -> None:
    fabric = FULL[name]()
    known = tables(fabric)
    num_gpus = fabric.design.num_gpus
    for shift in range(1, num_gpus):
        pairs = [(gpu, (gpu + shift) % num_gpus) for gpu in range(num_gpus)]
        paths = dmodk.paths(known, small.flows(pairs))
        assert np.bincount(paths.links).max() == 1, f"shift by {shift}"


def test_the_same_shifts_collide_under_ecmp() -> None:
    fabric = small.fat_tree(6)
    pairs = [(gpu, (gpu + 9) % 54) for gpu in range(54)]
    assert np.bincount(ecmp.paths(tables(fabric), small.flows(pairs)).links).max() > 1


def test_all_flows_to_a_destination_come_down_one_way() -> None:
    fabric = small.fat_tree(4)
    paths = dmodk.paths(tables(fabric), small.flows([(gpu, 9) for gpu in range(4)]))
    # Pod 0 to pod 2: up over two switches, core, down; the last four links are shared.
    assert len({tuple(paths.path(flow)[-4:].tolist()) for flow in range(4)}) == 1


def test_ports_do_not_matter() -> None:
    known = tables(small.fat_tree(4))
    one = dmodk.paths(known, small.flows([(0, 9)], ports=[1]))
    other = dmodk.paths(known, small.flows([(0, 9)], ports=[2]))
    assert one.links.tolist() == other.links.tolist()


def test_every_pair_is_still_routed_after_a_spine_failed() -> None:
    fabric = fail(small.fat_tree(4), "spine:0")
    flows = small.all_pairs(fabric)
    paths = dmodk.paths(tables(fabric), flows)
    last = fabric.link_target[paths.links[paths.offsets[1:] - 1]]
    assert np.array_equal(last, flows.target)
