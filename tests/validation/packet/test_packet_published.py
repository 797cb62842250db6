"""The packet engine against results that other simulators published.

Ultra Ethernet's: ultraethernet/uet-htsim @40ccb05, results/experiment2_out.txt (incast of 1 MiB at
400 Gb/s, links of 1 us, queues of 100 packets, marks from 25 to 75, packets of 4086 + 64 bytes; by
the rules of @146f800, nscc-unscaled) and
validate_outputs/validate_uec_sender.out (@2658277; 100 Gb/s, round trip of 12 us; what its runs
logged, and for one path the threshold that they stay under).
NDP's: Handley et al., SIGCOMM 2017 (recalled).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from wires import leaf_spine, transfers

from bench.fat_tree import fat_tree
from bench.packet import permutation
from netloom.engines.packet import Ecn, PacketSettings, SwitchSettings, Transport, run_packets

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery

pytestmark = pytest.mark.validation

PACKET_BYTES = 4150


def uec(scheme: str, *, queue_packets: int, num_paths: int = 128) -> PacketSettings:
    """UET with a version of NSCC at the sender, or with RCCC at the receiver."""
    queue = queue_packets * PACKET_BYTES
    pulled = scheme == "rccc"
    return PacketSettings(
        flow_control="trimming",
        spray="mixed" if num_paths > 1 else "fixed",
        num_paths=num_paths,
        congestion_control="none" if pulled else scheme,
        ecn=Ecn(
            kmin_bytes=queue // 4,
            kmax_bytes=queue * 3 // 4,
            pmax=1.0,
            at_rate_bps=0,
            to_endpoints=not pulled,
        ),
        switch=SwitchSettings(queue_bytes=queue, buffer_bytes=1 << 40),
        transport=Transport(
            recovery="pulled" if pulled else "selective",
            payload_bytes=4086,
            header_bytes=64,
            gap_bytes=0,
            ack_bytes=64,
            timeout_ps=100_000_000,
            ack_every_bytes=16_384,
            first_window_lapses=True,
            pull_bytes=4 * 4086,
            pull_share=0.99,
        ),
    )


def incast(scheme: str, fan_in: int) -> Delivery:
    work = transfers([(16 + i * 64 // fan_in, 0) for i in range(fan_in)], 1 << 20)
    tree = leaf_spine(5, 16, 16, rate_bps=400e9)
    return run_packets(tree, work, uec(scheme, queue_packets=100))


@pytest.mark.parametrize(
    ("fan_in", "published_us", "again"), [(2, 50.86, 5), (8, 179.5, 649), (32, 694.0, 3188)]
)
def test_an_incast_by_receiver_credits(fan_in: int, published_us: float, again: int) -> None:
    delivery = incast("rccc", fan_in)
    got_us = delivery.finish_ps.max() / 1e6
    closed_us = fan_in * 257 * PACKET_BYTES * 8 / 400e3 + 8  # all packets and a round trip
    assert got_us == pytest.approx(closed_us, rel=0.01)
    assert got_us == pytest.approx(published_us, rel=0.002)
    assert delivery.counters["retransmissions"] == pytest.approx(again, rel=0.04, abs=3)


@pytest.mark.parametrize(
    ("fan_in", "published_us", "bound"), [(2, 50.99, 0.01), (8, 215.3, 0.05), (32, 736.3, 0.05)]
)
def test_an_incast_by_sender_windows(fan_in: int, published_us: float, bound: float) -> None:
    got_us = incast("nscc-unscaled", fan_in).finish_ps.max() / 1e6
    assert got_us == pytest.approx(published_us, rel=bound)


def test_one_flow_of_two_megabytes_takes_what_uet_htsim_logged() -> None:
    tree = fat_tree(4, rate_bps=100e9, delay_ps=1_000_000)
    delivery = run_packets(tree, transfers([(0, 15)], 2_000_000), uec("nscc", queue_packets=36))
    assert delivery.finish_ps[0] / 1e6 == pytest.approx(176.2, abs=0.05)


@pytest.mark.parametrize(("num_paths", "least_us", "most_us"), [(128, 190, 216), (1, 700, 1300)])
def test_a_permutation_of_1024_hosts_sprayed_and_not(
    num_paths: int, least_us: float, most_us: float
) -> None:
    tree = fat_tree(16, rate_bps=100e9, delay_ps=1_000_000)
    settings = uec("nscc", queue_packets=36, num_paths=num_paths)
    delivery = run_packets(tree, permutation(1024, 2_000_000), settings)
    assert least_us < delivery.finish_ps.max() / 1e6 < most_us


def test_fifteen_senders_take_what_uet_htsim_logged() -> None:
    tree = fat_tree(16, rate_bps=100e9, delay_ps=1_000_000)
    work = transfers([(i * 64 + 5, 1023) for i in range(15)], 2_000_000)
    delivery = run_packets(tree, work, uec("nscc", queue_packets=36))
    assert delivery.finish_ps.max() / 1e6 == pytest.approx(2478.53, rel=0.01)


def test_ndp_fills_a_fat_tree_of_432_hosts() -> None:
    # 10 Gb/s, 9 KB packets, queues of 8, a first window of 30, source routes in turn: at least 92 %
    # of the wire.
    tree = fat_tree(12, rate_bps=10e9, delay_ps=1_000_000)
    settings = PacketSettings(
        flow_control="trimming",
        balance="source",
        spray="oblivious",
        num_paths=4096,
        switch=SwitchSettings(queue_bytes=8 * 9000, buffer_bytes=1 << 40),
        transport=Transport(
            recovery="pulled",
            payload_bytes=8936,
            header_bytes=64,
            gap_bytes=0,
            ack_bytes=64,
            first_window_bytes=30 * 8936,
            pull_bytes=8936,
            timeout_ps=5_000_000_000,
        ),
    )
    delivery = run_packets(tree, permutation(432, 8_936_000), settings)
    ideal_ps = 1000 * 9000 * 8 / 10e9 * 1e12
    share = ideal_ps / delivery.finish_ps.astype(np.float64)
    assert share.mean() > 0.92
