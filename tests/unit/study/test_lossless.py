from __future__ import annotations

import pytest

from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster, FabricSpec
from netloom.study.lossless import Lossless, lossless
from netloom.study.networks import network_of


def of(technology: str, *, longest_m: float) -> Lossless:
    cluster = Cluster(nodes=128, fabric=FabricSpec(technology=technology))
    return lossless(network_of(cluster, load_catalog()), longest_m=longest_m)


def test_credits_reach_262_metres_at_400_gigabits() -> None:
    """2,048 blocks x 64 B x 8 / (400 Gb/s x 2 x 5 ns/m) = 262.1 m."""
    near = of("infiniband-ndr", longest_m=100.0)
    assert near.reach_m == pytest.approx(262.1, abs=0.1)
    assert near.validity.inside


def test_a_cable_beyond_the_credits_is_doubted() -> None:
    far = of("infiniband-ndr", longest_m=1000.0)
    assert "up to 262 m" in far.validity.doubts[0]


def test_pauses_need_126_kilobytes_for_100_metres_at_400_gigabits() -> None:
    """2 x 9,216 + 64 + 57,920 + 2 x 100 m x 5 ns x 50 GB/s = 126,416 B; 128 ports of them."""
    near = of("rocev2-400g", longest_m=100.0)
    assert near.headroom_bytes == pytest.approx(126_416)
    assert near.headroom_share == pytest.approx(128 * 126_416 / 165e6)
    assert near.validity.inside


def test_headroom_that_no_buffer_holds_is_doubted() -> None:
    far = of("rocev2-400g", longest_m=10_000.0)
    assert "times the switch's buffer" in far.validity.doubts[0]


def test_a_lossy_network_needs_neither() -> None:
    assert of("tcp-400g", longest_m=100.0).to_json()["headroom_bytes"] is None
