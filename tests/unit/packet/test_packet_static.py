"""D-mod-k: a digit of the destination decides, up and down, parallel links included."""

from __future__ import annotations

from wires import transfers, wiring

from netloom.engines.packet import PacketSettings, run_packets


def test_parallel_links_to_one_spine_are_shared_both_ways() -> None:
    # Two leaves of four hosts, each with four cables to one spine: hosts 0-3 send to 4-7, whose
    # numbers modulo four are all different, so that every flow has links of its own.
    hosts = [(host, 8 + host // 4) for host in range(8)]
    trunks = [(8 + leaf, 10) for leaf in range(2) for _ in range(4)]
    tree = wiring(8, hosts + trunks)
    settings = PacketSettings(balance="d-mod-k")
    together = run_packets(tree, transfers([(i, 4 + i) for i in range(4)], 1_000_000), settings)
    alone = run_packets(tree, transfers([(0, 4)], 1_000_000), settings)
    assert together.finish_ps.max() == alone.finish_ps.max()
