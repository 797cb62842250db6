"""Receivers that pull, in networks whose uplinks are fewer than their hosts could fill."""

from __future__ import annotations

from dataclasses import replace

import pytest
from wires import leaf_spine, star, transfers, wiring

from netloom.engines.packet import (
    Ecn,
    PacketSettings,
    ReceiverThrottle,
    SwitchSettings,
    Transport,
    run_packets,
    settings_for,
)
from netloom.fabric.taper import taper_of
from netloom.parts.load import load_catalog

US = 1_000_000
RCCC = PacketSettings(
    flow_control="trimming",
    spray="mixed",
    ecn=Ecn(kmin_bytes=8 * 4150, kmax_bytes=30 * 4150, pmax=1.0, at_rate_bps=0, to_endpoints=False),
    switch=SwitchSettings(buffer_bytes=1 << 40, queue_bytes=38 * 4150, reserve_bytes=0),
    transport=Transport(
        recovery="pulled",
        payload_bytes=4086,
        header_bytes=64,
        gap_bytes=0,
        ack_bytes=64,
        ack_every_bytes=16_384,
        timeout_ps=1_000 * US,
        first_window_lapses=True,
        pull_bytes=4 * 4086,
        pull_share=0.99,
        restraint=ReceiverThrottle(),
    ),
)


@pytest.mark.parametrize(
    ("spines", "taper"),
    # 16 hosts a leaf, an uplink to each spine.
    [(16, 1.0), (8, 2.0), (4, 4.0), (3, 16 / 3), (32, 1.0)],
)
def test_a_taper_is_what_hosts_can_send_over_what_uplinks_carry(spines: int, taper: float) -> None:
    assert taper_of(leaf_spine(2, 16, spines)) == pytest.approx(taper)


def test_tapers_of_tiers_multiply() -> None:
    # Two hosts a switch and one uplink; two such switches a pod and one uplink: 2 x 2.
    pods = [(0, 8), (1, 8), (2, 9), (3, 9), (4, 10), (5, 10), (6, 11), (7, 11)]
    up = [(8, 12), (9, 12), (10, 13), (11, 13), (12, 14), (13, 14)]
    assert taper_of(wiring(8, pods + up)) == pytest.approx(4.0)


def test_one_switch_has_no_taper() -> None:
    assert taper_of(star(4)) == 1.0


def test_receivers_that_restrain_themselves_save_most_repetitions_in_a_taper() -> None:
    # Each of 64 hosts sends 490 packets to another leaf, 16 hosts over 4 uplinks: four times 490
    # packets of 332 ns, 651 us. Without restraint receivers ask for all of their ports, and of
    # every four packets three are trimmed and asked for again.
    tree = leaf_spine(4, 16, 4)
    moved = transfers([(i, (i + 16) % 64) for i in range(64)], 490 * 4086)
    greedy = replace(RCCC, transport=replace(RCCC.transport, restraint=None))
    restrained, unrestrained = (run_packets(tree, moved, one) for one in (RCCC, greedy))
    assert unrestrained.counters["retransmissions"] > 64 * 490
    assert restrained.counters["retransmissions"] < 0.2 * 64 * 490
    assert 651 < restrained.finish_ps.max() / US < 1.2 * 651


def test_without_a_taper_restraint_changes_nothing() -> None:
    tree = leaf_spine(4, 8, 8)
    moved = transfers([(i, (i + 8) % 32) for i in range(32)], 100 * 4086)
    greedy = replace(RCCC, transport=replace(RCCC.transport, restraint=None))
    assert (
        run_packets(tree, moved, RCCC).finish_ps == run_packets(tree, moved, greedy).finish_ps
    ).all()


def test_a_receiver_keeps_to_nine_tenths_of_its_fair_share_at_least() -> None:
    # One flow over an uplink that it shares with nobody: trims and marks there are none, and it
    # takes no longer than without restraint; a restraint that takes every packet for marked holds
    # it to 0.9 of a quarter of the port.
    tree = leaf_spine(2, 4, 1)
    moved = transfers([(0, 4)], 2_000 * 4086)
    alone = run_packets(tree, moved, RCCC)
    assert alone.finish_ps[0] / US == pytest.approx(2_000 * 0.332 / 0.99, rel=0.05)
    tight = replace(RCCC.transport, restraint=ReceiverThrottle(marked_share=-10, period_ps=1 * US))
    held = run_packets(tree, moved, replace(RCCC, transport=tight))
    assert held.finish_ps[0] / US == pytest.approx(2_000 * 0.332 / (0.99 * 0.9 / 4), rel=0.05)


def test_rccc_restrains_itself_and_ndp_does_not() -> None:
    uet = load_catalog().technology("uet-400g")
    asked = settings_for(uet, transport="rccc").transport
    assert asked.restraint == ReceiverThrottle()
    assert settings_for(uet, transport="ndp").transport.restraint is None


def test_senders_with_windows_do_without_restraint_and_without_quick_adapt() -> None:
    uet = load_catalog().technology("uet-400g")
    both = settings_for(uet, transport="rccc", congestion_control="nscc")
    assert both.transport.restraint is None
    assert both.parameters == {"adapt_below": 0.0}
    assert not settings_for(uet).parameters


def test_a_sender_with_many_receivers_asks_each_for_its_share() -> None:
    # Hosts 1 and 2 send to host 0, and host 2 to nine others as well: a tenth of its port is all
    # that host 0 can get from it, and the other nine tenths are host 1's. 490 packets of 332 ns at
    # 0.99 x 0.9 of the port take 183 us, and a window of 21 packets that host 2 is granted first,
    # turn by turn, 21 x 0.332.
    fleet = star(12)
    pairs = [(1, 0), (2, 0), *((2, host) for host in range(3, 12))]
    took_us = run_packets(fleet, transfers(pairs, 490 * 4086), RCCC).finish_ps / US
    assert took_us[0] == pytest.approx(183 + 7, rel=0.08)
    # All of host 2's together: 10 x 490 packets.
    assert took_us.max() == pytest.approx(4_900 * 0.332, rel=0.03)
