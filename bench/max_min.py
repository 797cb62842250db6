"""The C++ max-min solver beside the same algorithm in numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bench.peers import median_s, print_ratio
from netloom.engines.native import max_min_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

Paths = list[list[int]]


def numpy_max_min(capacity_bps: NDArray[np.float64], paths: Paths) -> NDArray[np.float64]:
    """Progressive filling with one numpy pass over all links a round."""
    flow = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
    link = np.array([index for path in paths for index in path])
    left, rates = capacity_bps.copy(), np.full(len(paths), np.inf)
    while np.isinf(rates).any():
        growing = np.isinf(rates[flow])
        users = np.bincount(link[growing], minlength=len(left))
        share = np.divide(left, users, out=np.full(len(left), np.inf), where=users > 0)
        bottleneck = int(np.argmin(share))
        frozen = np.unique(flow[growing & (link == bottleneck)])
        rates[frozen] = share[bottleneck]
        left -= share[bottleneck] * np.bincount(
            link[growing & np.isin(flow, frozen)], minlength=len(left)
        )
    return rates


def random_permutation_of_256_hosts() -> None:
    """A permutation whose second hop is hashed."""
    rng = np.random.default_rng(7)
    paths = [[i, 256 + int(rng.integers(64)), 320 + i] for i in range(256)]
    capacity_bps = np.full(576, 4e11)
    assert np.allclose(max_min_rates(capacity_bps, paths), numpy_max_min(capacity_bps, paths))
    print_ratio(
        "max-min rates of 256 flows over 64 hashed uplinks",
        ours_s=median_s(lambda: max_min_rates(capacity_bps, paths)),
        peer="numpy",
        peer_s=median_s(lambda: numpy_max_min(capacity_bps, paths)),
    )
