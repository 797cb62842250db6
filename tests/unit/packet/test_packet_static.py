"""D-mod-k: a digit of the destination decides, up and down, parallel links included."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from wires import transfers, wiring

from netloom.engines.flow import FlowSettings, run_flows
from netloom.engines.packet import PacketSettings, Transport, run_packets

BARE = Transport(header_bytes=0, gap_bytes=0, least_bytes=0, ack_bytes=0)


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


@pytest.mark.parametrize("rails", [False, True], ids=["in order", "by rails"])
@pytest.mark.parametrize("grouped", [False, True], ids=["round the spines", "cable by cable"])
@pytest.mark.parametrize("shift", [1, 3, 4, 5, 8, 13])
def test_no_shift_meets_itself_on_a_full_tree(shift: int, *, rails: bool, grouped: bool) -> None:
    # Zahavi 2012: four leaves of four hosts, two cables to each of two spines. Whatever the order
    # in which cables are laid, and whether host h hangs on leaf h // 4 or h % 4, no cable between
    # switches carries two of the sixteen flows to destinations that stand so far off in the tree.
    leaf = [16 + (host % 4 if rails else host // 4) for host in range(16)]
    turns = [(spine, cable) for cable in range(2) for spine in range(2)]
    spines = [spine for spine, _ in (sorted(turns) if grouped else turns)]
    trunks = [(16 + number, 20 + spine) for number in range(4) for spine in spines]
    tree = wiring(16, [*enumerate(leaf), *trunks])
    along = sorted(range(16), key=lambda host: (leaf[host], host))
    pairs = [(host, along[(place + shift) % 16]) for place, host in enumerate(along)]
    asked = transfers(pairs, 1000)
    for found in (
        run_packets(tree, asked, PacketSettings(balance="d-mod-k", transport=BARE)),
        run_flows(tree, asked, FlowSettings(balance="static")),
    ):
        assert found.link_bytes.max() == 1000


def test_source_routes_reach_every_cable() -> None:
    # Two cables from each of two leaves to each of two spines: four ways, which four values tell
    # apart. Half of the cables down were out of reach while one digit chose the spine and them.
    spines = [(2 + leaf, 4 + spine) for leaf in range(2) for _ in range(2) for spine in range(2)]
    tree = wiring(2, [(0, 2), (1, 3), *spines])
    settings = PacketSettings(
        balance="source",
        spray="oblivious",
        num_paths=4,
        transport=replace(BARE, recovery="selective"),
    )
    found = run_packets(tree, transfers([(0, 1)], 4096 * 400), settings)
    between = found.link_bytes[4:]
    data = between[between > 0]
    assert len(data) == 8  # four up, four down
    assert data.max() < 1.5 * data.min()


@given(
    of_leaf=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 3)),
    of_spine=st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 3)),
    shift=st.integers(1, 30),
)
def test_flows_and_packets_take_the_same_links(
    of_leaf: tuple[int, int, int], of_spine: tuple[int, int, int], shift: int
) -> None:
    # Two pods of leaves and spines under cores, with parallel cables at both heights.
    (leaves, hosts, cables), (spines, cores, trunks) = of_leaf, of_spine
    ends = 2 * leaves * hosts
    leaf = [ends + number for number in range(2 * leaves)]
    spine = [leaf[-1] + 1 + number for number in range(2 * spines)]
    core = [spine[-1] + 1 + number for number in range(cores)]
    tree = wiring(
        ends,
        [(host, leaf[host // hosts]) for host in range(ends)]
        + [
            (leaf[pod * leaves + i], spine[pod * spines + j])
            for pod in range(2)
            for i in range(leaves)
            for j in range(spines)
            for _ in range(cables)
        ]
        + [(one, top) for one in spine for top in core for _ in range(trunks)],
    )
    pairs = [(host, (host + shift) % ends) for host in range(ends) if shift % ends]
    assume(pairs)
    asked = transfers(pairs, [1000 + host for host, _ in pairs])
    packets = run_packets(tree, asked, PacketSettings(balance="d-mod-k", transport=BARE))
    flows = run_flows(tree, asked, FlowSettings(balance="static"))
    assert flows.link_bytes.tolist() == packets.link_bytes.tolist()
