"""How unevenly routed ECMP flows fall on links, against balls thrown into bins.

Gangidi et al., "RDMA over Ethernet for Distributed AI Training at Meta Scale" (SIGCOMM 2024)
report a maximum over mean of more than 1.2 for 1,000 flows on 16 links. The exact expectation
for independent uniform choices, 1.224, and those for other counts were obtained by Monte Carlo
independently of netloom's router; here every choice is made by the hash of a routed flow.
"""

from __future__ import annotations

import numpy as np
import pytest
import small

from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Flows

pytestmark = pytest.mark.validation

EXPECTED = [
    # flows, links, maximum over mean, trials (enough for a standard error under 0.7 %)
    (1000, 16, 1.224, 300),
    (256, 16, 1.47, 500),
    (64, 16, 1.98, 1000),
    (16, 16, 3.08, 2000),
    (8, 8, 2.61, 2000),
]


def imbalance(num_flows: int, num_links: int, num_trials: int) -> float:
    """Return the mean over trials of (flows on the fullest up-link) / (flows a link)."""
    fabric = small.leaf_spine(2, num_links, 32)
    rng = np.random.default_rng(num_flows)
    total = num_flows * num_trials
    flows = Flows(
        source=rng.integers(0, 32, total),
        target=rng.integers(32, 64, total),
        source_port=rng.integers(0xC000, 0x10000, total).astype(np.uint16),
    )
    paths = ecmp.paths(tables(fabric), flows)
    # GPU, NIC, leaf, spine: the third link of each path leads to the spine.
    spine = fabric.link_target[paths.links[paths.offsets[:-1] + 2]] - fabric.num_vertices
    trial = np.repeat(np.arange(num_trials), num_flows)
    counts = np.bincount(trial * num_links + spine % num_links, minlength=num_trials * num_links)
    fullest = counts.reshape(num_trials, num_links).max(axis=1)
    return float(fullest.mean() / (num_flows / num_links))


@pytest.mark.parametrize(("num_flows", "num_links", "expected", "num_trials"), EXPECTED)
def test_the_fullest_link_carries_as_much_as_chance_says(
    num_flows: int, num_links: int, expected: float, num_trials: int
) -> None:
    assert imbalance(num_flows, num_links, num_trials) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("num_flows", "busy"), [(8, 0.656), (128, 0.634)])
def test_as_many_flows_as_links_leave_a_third_of_the_links_idle(
    num_flows: int, busy: float
) -> None:
    # 1 - (1 - 1/n)^n: 0.6564 for 8 and 0.6335 for 128.
    fabric = small.leaf_spine(2, num_flows, 32)
    rng = np.random.default_rng(num_flows)
    total = 400 * num_flows
    flows = Flows(
        source=rng.integers(0, 32, total),
        target=rng.integers(32, 64, total),
        source_port=rng.integers(0xC000, 0x10000, total).astype(np.uint16),
    )
    paths = ecmp.paths(tables(fabric), flows)
    link = paths.links[paths.offsets[:-1] + 2].reshape(400, num_flows)
    share = np.mean([len(np.unique(row)) / num_flows for row in link])
    assert share == pytest.approx(busy, rel=0.02)
