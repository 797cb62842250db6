from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import small

from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Flows, Paths
from netloom.fabric.routing.murmur import five_tuple_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

# 99.9 % quantile of chi-square with 15 degrees of freedom (any table).
CHI_SQUARE_15 = 37.7


def across(num_flows: int, *, sources: int, first_target: int, seed: int) -> Flows:
    """Flows from hosts below *sources* to as many from *first_target* on, at random ports."""
    rng = np.random.default_rng(seed)
    return Flows(
        source=rng.integers(0, sources, num_flows),
        target=first_target + rng.integers(0, sources, num_flows),
        source_port=rng.integers(0xC000, 0x10000, num_flows).astype(np.uint16),
    )


def used(fabric: Fabric, paths: Paths, *, tier: int) -> NDArray[np.int64]:
    """Count the flows on each link that goes up from *tier*; links nobody uses are left out."""
    counts = np.bincount(paths.links, minlength=fabric.num_links)
    source, target = (fabric.vertex_tier[e] for e in (fabric.link_source, fabric.link_target))
    rising = (source == tier) & (target == tier + 1)
    return np.asarray(counts[rising & (counts > 0)])


def chi_square(counts: NDArray[np.int64]) -> float:
    mean = counts.mean()
    return float(((counts - mean) ** 2 / mean).sum())


def test_the_link_taken_is_the_hash_modulo_the_candidates_in_order() -> None:
    fabric = small.leaf_spine(2, 5, 1)  # vertices: GPUs 0 1, NICs 2 3, leaves 4 5, spines 6..10
    path = ecmp.paths(tables(fabric), small.flows([(0, 1)], ports=[0xC0DE])).path(0)
    value = five_tuple_hash(
        np.array([2]), np.array([3]), np.array([0xC0DE], dtype=np.uint16), seed=np.array([4])
    )
    assert fabric.link_target[path[2]] == 6 + int(value[0]) % 5


@pytest.mark.parametrize("seed", range(5))
def test_flows_spread_evenly_over_the_uplinks(seed: int) -> None:
    fabric = small.leaf_spine(2, 16, 32)
    flows = across(16_000, sources=32, first_target=32, seed=seed)
    counts = used(fabric, ecmp.paths(tables(fabric), flows), tier=1)
    assert len(counts) == 16
    assert chi_square(counts) < CHI_SQUARE_15


def test_equal_seeds_polarise_the_second_tier() -> None:
    # A flow is on spine j because its hash is j modulo 4; hashed again the same way, all flows
    # of a spine take its up-link j: 4 of the 16 links to the cores carry everything.
    fabric = small.clos3(2, 1, 4, 4, 32)
    flows = across(16_000, sources=32, first_target=32, seed=1)
    counts = used(fabric, ecmp.paths(tables(fabric), flows, seeds="equal"), tier=2)
    assert len(counts) == 4


@pytest.mark.parametrize("seed", range(5))
def test_distinct_seeds_use_the_second_tier_evenly(seed: int) -> None:
    fabric = small.clos3(2, 1, 4, 4, 32)
    flows = across(16_000, sources=32, first_target=32, seed=seed)
    counts = used(fabric, ecmp.paths(tables(fabric), flows), tier=2)
    assert len(counts) == 16
    assert chi_square(counts) < CHI_SQUARE_15


def test_equal_inputs_give_equal_paths() -> None:
    fabric = small.fat_tree(4)
    one, other = (ecmp.paths(tables(fabric), small.all_pairs(fabric)) for _ in range(2))
    assert np.array_equal(one.links, other.links)
    assert np.array_equal(one.offsets, other.offsets)


def test_a_flow_takes_the_same_path_alone_and_among_others() -> None:
    fabric = small.fat_tree(4)
    flows = small.all_pairs(fabric)
    paths = ecmp.paths(tables(fabric), flows)
    for flow in (0, 77, 200):
        pair = int(flows.source[flow]), int(flows.target[flow])
        alone = ecmp.paths(tables(fabric), small.flows([pair]))
        assert alone.path(0).tolist() == paths.path(flow).tolist()
