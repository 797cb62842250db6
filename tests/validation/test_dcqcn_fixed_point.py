"""DCQCN against the fixed point of its authors' fluid model.

Zhu et al., SIGCOMM 2015, section 5.1 (recalled): N flows share C; each is marked with probability p
a packet. A flow of rate r = C / N hears of a mark with probability m = 1 - (1 - p)^(tau r) in the
tau = 50 us between CNPs, alpha settles at 1 - (1 - p)^(tau' r), tau' = 55 us, and increases come by
bytes B and by time T, after F recoveries additive ones. Rates at rest:

    target:   (target - r) m / tau      = R_AI r (sum of (1 - p)^(F X) e(X))
    current:  r alpha m / (2 tau)       = (target - r) / 2 r (sum of e(X))
    with e(X) = p / ((1 - p)^-X - 1), X = B and T r packets,

so that alpha m^2 = tau^2 R_AI r (sum of (1 - p)^(F X) e(X)) (sum of e(X)).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log1p

import numpy as np
import pytest

from netloom.engines.packet import Ecn, PacketSettings, Transport, run_packets
from netloom.study.validate_fct_setups import network_of
from netloom.workload import patterns
from netloom.workload.dag import Label, to_transfers

pytestmark = pytest.mark.validation

US = 1_000_000
PAYLOAD_BYTES, WIRE_BYTES = 1000, 1082
LINE_PPS = 40e9 / 8 / WIRE_BYTES
STEP_PPS = LINE_PPS / 1000  # R_AI: 40 Mb/s
CNP_S, ALPHA_S, COUNTER_PACKETS, RECOVERIES = 50e-6, 55e-6, 10_000, 5
PMAX = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Incast:
    """Flows without end into a port of 40 Gb/s, and what its switch and senders wait for."""

    num_flows: int
    timer_us: int

    def imbalance(self, p: float) -> float:
        """Return by how much cuts outweigh increases when *p* of all packets are marked."""
        rate_pps = LINE_PPS / self.num_flows
        kept = log1p(-p)
        heard, alpha = (-expm1(span_s * rate_pps * kept) for span_s in (CNP_S, ALPHA_S))
        counts = (COUNTER_PACKETS, self.timer_us * 1e-6 * rate_pps)
        often = [p / expm1(-count * kept) for count in counts]
        additive = [
            exp(RECOVERIES * count * kept) * each for count, each in zip(counts, often, strict=True)
        ]
        return alpha * heard**2 - CNP_S**2 * STEP_PPS * rate_pps * sum(additive) * sum(often)

    def expected(self) -> float:
        """Return the share of packets that is marked at the fixed point, by bisection."""
        low, high = 1e-6, 0.05
        for _ in range(60):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self.imbalance(middle) > 0 else (middle, high)
        return low

    def simulated(self) -> float:
        """Return the share of packets that is marked from 100 to 200 ms."""
        star = network_of("dcqcn-21")
        dag = patterns.incast(np.arange(1, self.num_flows + 1), 0, 2_000_000_000)
        rng = np.random.default_rng(1)
        transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
        settings = PacketSettings(
            congestion_control="dcqcn",
            parameters={"increase_period_ps": self.timer_us * US},
            ecn=Ecn(kmin_bytes=5_000, kmax_bytes=200_000, pmax=PMAX, at_rate_bps=0),
            transport=Transport(
                payload_bytes=PAYLOAD_BYTES, cnp_interval_ps=round(CNP_S * 1e6) * US
            ),
        )
        first, last = (
            run_packets(star, transfers, settings, seed=1, until_ps=until * 1000 * US).counters
            for until in (100, 200)
        )
        arrived = last["delivered_packets"] - first["delivered_packets"]
        return (last["marks"] - first["marks"]) / arrived


# Where marks are far enough below Pmax that the queue never passes Kmax. Expected and seen, in
# percent: 0.0841 and 0.078, 0.204 and 0.196, 0.0235 and 0.025, 0.0557 and 0.058, 0.173 and 0.196.
@pytest.mark.parametrize(
    "incast",
    [
        Incast(num_flows=2, timer_us=55),
        Incast(num_flows=4, timer_us=55),
        Incast(num_flows=2, timer_us=300),
        Incast(num_flows=4, timer_us=300),
        Incast(num_flows=10, timer_us=300),
    ],
)
def test_few_flows_settle_at_the_fluid_models_share_of_marks(incast: Incast) -> None:
    assert incast.simulated() == pytest.approx(incast.expected(), rel=0.15)


def test_twenty_flows_have_no_fixed_point_below_the_largest_share_of_marks() -> None:
    # 1.55 % would have to be marked, and beyond 1 % (200 KB) the switch marks everything.
    incast = Incast(num_flows=20, timer_us=55)
    assert incast.expected() == pytest.approx(0.0155, rel=0.01)
    assert incast.expected() > PMAX
    assert incast.simulated() > incast.expected()
