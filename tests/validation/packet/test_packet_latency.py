"""Small messages over three switches and 60 m: the budget of the analytic engine, in packets.

The seeds are 2 us for InfiniBand, 5 us for RoCEv2 and 50 us for TCP in the kernel, "typical
deployed" numbers (RDMA and latency notes; components derived to add up to them).
"""

from __future__ import annotations

import numpy as np
import pytest
from wires import transfers, wiring

from netloom.engines.packet import run_packets, settings_for
from netloom.fabric.wire.latency import one_way_s
from netloom.parts.load import load_catalog

pytestmark = pytest.mark.validation

CABLE_M = 15.0


@pytest.mark.parametrize(
    ("name", "seed_s"),
    [("infiniband-ndr", 2e-6), ("rocev2-400g", 5e-6), ("tcp-400g", 50e-6)],
)
def test_256_bytes_take_what_the_budget_adds_up_to(name: str, seed_s: float) -> None:
    technology = load_catalog().technology(name)
    chain = wiring(
        2,
        [(0, 2), (2, 3), (3, 4), (4, 1)],
        rate_bps=technology.rate_bps,
        delay_ps=round(CABLE_M * 5_000),
        forward_ps=round(technology.latency.switch_s * 1e12),
    )
    settings = settings_for(technology, connections=1)
    delivery = run_packets(chain, transfers([(0, 1)], 256, priority=3), settings)
    took_s = float(delivery.tables["arrivals"]["arrive_ps"][0] - delivery.start_ps[0]) * 1e-12
    budget_s = one_way_s(
        technology,
        num_hops=3,
        cable_m=4 * CABLE_M,
        message_bytes=256,
        rate_bps=technology.rate_bps,
    )
    assert took_s == pytest.approx(budget_s, rel=0.01)
    assert took_s == pytest.approx(seed_s, rel=0.1)
    assert np.array_equal(delivery.finish_ps >= 0, [True])
