"""What infiniband-diags 44 printed on ibsim 0.10: 4 leaves of 4 hosts, 1 spine, 2 cables each.

Cable 55 (leaf:3[6] - spine:0[8]) was unlinked, symbol errors counted on cable 50
(leaf:1[5] - spine:0[3]), cable 52 (leaf:2[5] - spine:0[5]) slowed to EDR, and cable 33
(nic:1[1] - leaf:0[2]) to FDR.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from netloom.errors import LabError
from netloom.formats.infiniband.diags import (
    parse_counters,
    parse_errors,
    parse_forwarding,
    parse_links,
    parse_manager,
    parse_ports,
    parse_topology,
)

RECORDED = Path(__file__).parents[2] / "data" / "lab"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def test_ports_have_their_peers_and_free_ones_have_none() -> None:
    rows = parse_ports(recorded("ibnetdiscover_p.txt"))
    # 16 adapters of one port, 5 switches of 64; 24 cables less one.
    assert len(rows) == 16 + 5 * 64
    assert sum(row.peer_guid is not None for row in rows) == 2 * 23
    (row,) = (row for row in rows if row.name == "spine:0" and row.port == 3)
    assert (row.kind, row.width, row.peer_name, row.peer_port) == ("SW", "4x", "leaf:1", 5)
    (cut,) = (row for row in rows if row.name == "spine:0" and row.port == 8)
    assert cut.peer_name is None


def test_a_topology_names_every_node_and_cable() -> None:
    nodes = parse_topology(recorded("ibnetdiscover.txt"))
    assert len(nodes) == 21
    assert sum(len(node.ports) for node in nodes) == 2 * 23
    (spine,) = (node for node in nodes if node.name == "spine:0")
    assert (spine.num_ports, spine.lid, spine.id[:2]) == (64, 10, "S-")
    assert [port.rate for port in spine.ports if port.port in (3, 5)] == ["4xHDR", "4xEDR"]
    (nic,) = (node for node in nodes if node.name == "nic:1")
    assert nic.lid is None
    assert (nic.ports[0].peer_name, nic.ports[0].rate) == ("leaf:0", "4xFDR")


def test_links_that_could_be_faster_say_so() -> None:
    rows = parse_links(recorded("iblinkinfo_l.txt"))
    assert len(rows) == 336
    slow = {(row.name, row.port, row.lane_gbps) for row in rows if "53.125 Gbps" in row.could_be}
    assert slow == {
        ("leaf:2", 5, 25.78125),
        ("spine:0", 5, 25.78125),
        ("leaf:0", 2, 14.0625),
        ("nic:1", 1, 14.0625),
    }
    (cut,) = (row for row in rows if row.name == "leaf:3" and row.port == 6)
    assert (cut.state, cut.physical_state, cut.peer_name, cut.lane_gbps) == (
        "Down",
        "Polling",
        "",
        None,
    )


def test_counters_are_whole_numbers_by_name() -> None:
    counters = parse_counters(recorded("perfquery.txt"))
    assert counters["SymbolErrorCounter"] == 1234
    assert counters["LinkDownedCounter"] == 0
    assert "PortMulticastRcvPkts" in parse_counters(recorded("perfquery_x.txt"))


def test_errors_are_per_port_and_sums_are_left_out() -> None:
    found = {
        (row.name, row.port): row.counters for row in parse_errors(recorded("ibqueryerrors.txt"))
    }
    assert found["leaf:1", 5] == {"SymbolErrorCounter": 1234}
    assert found["spine:0", 3] == {"SymbolErrorCounter": 1234}
    assert found["leaf:3", 6]["LinkDownedCounter"] == 1
    assert found["nic:1", 1] == {"LinkDownedCounter": 1}
    assert parse_errors("## Summary: 5 nodes checked, 0 bad nodes found\n") == ()


def test_the_manager_has_its_place_and_state() -> None:
    manager = parse_manager(recorded("sminfo.txt"))
    assert (manager.lid, manager.priority, manager.state) == (1, 1, "master")


def test_forwarding_tables_of_ibroute_and_of_a_dump() -> None:
    (table,) = parse_forwarding(recorded("ibroute.txt"))
    assert (table.lid, table.name, len(table.ports)) == (10, "spine:0", 21)
    assert table.ports[10] == 0  # itself
    dumped = parse_forwarding(recorded("opensm_lfts.dump.txt"))
    assert [one.name for one in dumped] == ["leaf:0", "spine:0"]
    assert dumped[0].ports == {1: 1, 2: 0, 5: 2}


@pytest.mark.parametrize(
    "parse",
    [parse_counters, parse_errors, parse_forwarding, parse_links, parse_manager, parse_ports],
)
def test_an_error_message_is_no_empty_answer(parse: object) -> None:
    assert callable(parse)
    with pytest.raises(LabError, match="not understood"):
        parse("ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 10)\n")
