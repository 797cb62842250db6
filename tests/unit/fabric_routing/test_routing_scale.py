from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np
import pytest
import small

from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Flows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

pytestmark = pytest.mark.slow


def clos3_arrays(num_pods: int, num_each: int) -> Fabric:
    """Return ``small.clos3(num_pods, n, n, n, n)`` without a Python object for every cable."""
    pods, leaves = num_pods, num_pods * num_each
    num_gpus = leaves * num_each
    leaf = 2 * num_gpus
    spine, core = leaf + leaves, leaf + 2 * leaves
    num_vertices = core + num_each**2
    gpu = np.arange(num_gpus)
    pod, one, other = (i.ravel() for i in np.indices((pods, num_each, num_each)))
    ends = [
        (gpu, num_gpus + gpu),
        (num_gpus + gpu, leaf + gpu // num_each),
        (leaf + pod * num_each + one, spine + pod * num_each + other),
        (spine + pod * num_each + one, core + one * num_each + other),
    ]
    cables = np.concatenate(list(starmap(_columns, ends))).astype(np.int32)
    vertex = np.arange(num_vertices)
    host = vertex < leaf
    tier = np.searchsorted([leaf, spine, core], vertex, side="right")
    kind = np.where(host, vertex // num_gpus, VertexKind.SWITCH)
    num_links = 2 * len(cables)
    return replace(
        small.leaf_spine(1, 1, 1),
        vertex_kind=kind.astype(np.uint8),
        vertex_tier=tier.astype(np.int8),
        vertex_node=np.where(host, vertex % num_gpus, -1).astype(np.int32),
        vertex_plane=np.zeros(num_vertices, dtype=np.int16),
        vertex_rail=np.full(num_vertices, -1, dtype=np.int16),
        link_source=cables.reshape(-1),
        link_target=cables[:, ::-1].reshape(-1).copy(),
        link_rate_bps=np.full(num_links, small.RATE_BPS),
        link_slowdown=np.ones(num_links, dtype=np.float32),
        link_state=np.full(num_links, LinkState.UP, dtype=np.uint8),
    )


def _columns(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([lower, upper], axis=1)


def test_the_fast_builder_builds_the_same_as_the_plain_one() -> None:
    fast, plain = clos3_arrays(3, 2), small.clos3(3, 2, 2, 2, 2)
    assert np.array_equal(fast.vertex_tier, plain.vertex_tier)
    fast_ends = sorted(zip(fast.link_source.tolist(), fast.link_target.tolist(), strict=True))
    assert fast_ends == sorted(
        zip(plain.link_source.tolist(), plain.link_target.tolist(), strict=True)
    )


@pytest.mark.parametrize(("num_pods", "num_each"), [(16, 32), (64, 128)])
def test_a_hundred_thousand_flows_are_routed_in_two_gib(num_pods: int, num_each: int) -> None:
    fabric = clos3_arrays(num_pods, num_each)
    num_gpus = num_pods * num_each**2  # 16,384 and 1,048,576
    rng = np.random.default_rng(1)
    source = rng.integers(0, num_gpus, 100_000)
    flows = Flows(
        source=source,
        target=(source + rng.integers(1, num_gpus, 100_000)) % num_gpus,
        source_port=rng.integers(0xC000, 0x10000, 100_000).astype(np.uint16),
    )
    tracemalloc.start()
    began_s = time.perf_counter()
    known = tables(fabric)
    ready_s = time.perf_counter() - began_s
    paths = ecmp.paths(known, flows)
    took_s = time.perf_counter() - began_s - ready_s
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(  # noqa: T201
        f"{num_gpus:,} GPUs, {fabric.num_links:,} links: tables {ready_s:.2f} s; 100,000 flows, "
        f"{len(paths.links):,} hops {took_s:.2f} s; peak {peak_bytes / 2**20:.0f} MiB"
    )
    assert peak_bytes < 2 * 2**30
    assert np.array_equal(fabric.link_target[paths.links[paths.offsets[1:] - 1]], flows.target)
