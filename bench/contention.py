"""The fullest of hashed links in closed form beside drawing it."""

from __future__ import annotations

import numpy as np

from bench.peers import median_s, print_ratio
from netloom.fabric.contention import expected_max_load


def draw(num_flows: int, num_links: int, *, repeats: int) -> float:
    """Return the mean of the fullest link over *repeats* seeded draws."""
    rng = np.random.default_rng(7)
    counts = rng.multinomial(num_flows, np.full(num_links, 1 / num_links), size=repeats)
    return float(counts.max(axis=1).mean())


def thousand_flows_on_sixteen_links() -> None:
    """Meta's case; 10,000 draws give three digits."""
    flows = iter(range(1000, 1010))  # the law is cached: each repeat asks a new one

    def ours() -> float:
        return expected_max_load(next(flows), 16)

    assert abs(ours() / draw(1000, 16, repeats=10_000) - 1) < 0.005
    print_ratio(
        "expected fullest of 16 links with 1,000 hashed flows",
        ours_s=median_s(ours),
        peer="10,000 draws",
        peer_s=median_s(lambda: draw(1000, 16, repeats=10_000)),
    )
