from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
import small

from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Flows


@pytest.mark.slow
def test_a_hundred_thousand_flows_on_16384_hosts_fit_in_two_gib() -> None:
    fabric = small.clos3(16, 32, 32, 32, 32)
    rng = np.random.default_rng(1)
    source = rng.integers(0, 16_384, 100_000)
    flows = Flows(
        source=source,
        target=(source + rng.integers(1, 16_384, 100_000)) % 16_384,
        source_port=rng.integers(0xC000, 0x10000, 100_000).astype(np.uint16),
    )
    tracemalloc.start()
    began_s = time.perf_counter()
    paths = ecmp.paths(tables(fabric), flows)
    took_s = time.perf_counter() - began_s
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"100,000 flows, {len(paths.links):,} hops: {took_s:.2f} s, {peak_bytes / 2**20:.0f} MiB")  # noqa: T201
    assert peak_bytes < 2 * 2**30
    assert np.array_equal(fabric.link_target[paths.links[paths.offsets[1:] - 1]], flows.target)
