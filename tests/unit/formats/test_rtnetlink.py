"""The kernel's answers as bytes against what iproute2 6.1 makes of the same, of Linux's own veth.

Recorded in a namespace with two token buckets, a route over two ways of which one has no carrier,
next-hop objects, a blackhole, metrics, and rules by hand.
"""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.formats.frr.state import parse_fib
from netloom.formats.linux import rtnetlink

RECORDED = Path(__file__).parents[2] / "data" / "watch" / "rtnetlink.json"
TOLD: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
NAMES = {int(number): name for number, name in TOLD["names"].items()}


def answer(name: str) -> bytes:
    return bytes.fromhex(TOLD[name])


def test_interfaces_are_as_ip_tells_them() -> None:
    links = {link.name: link for link in rtnetlink.parse_links(answer("links"))}
    rows = {row["ifname"]: row for row in TOLD["ip"]["link"] if row["ifname"] != "lo"}
    assert links.keys() == rows.keys()
    for name, row in rows.items():
        one, rx, tx = links[name], row["stats64"]["rx"], row["stats64"]["tx"]
        assert one.number == row["ifindex"]
        assert one.is_up == ({"UP", "LOWER_UP"} <= set(row["flags"]))
        assert (one.peer, one.peer_namespace) == (row["link_index"], row["link_netnsid"])
        assert one.mtu_bytes == row["mtu"]
        assert one.counters == {
            "received_packets": rx["packets"],
            "received_bytes": rx["bytes"],
            "receive_errors": rx["errors"],
            "receive_discards": rx["dropped"],
            "sent_packets": tx["packets"],
            "sent_bytes": tx["bytes"],
            "send_errors": tx["errors"],
            "send_discards": tx["dropped"],
            "link_downs": tx["carrier_changes"] // 2,
        }
    assert (links["v0"].is_up, links["v1"].is_up) == (False, True)  # the other end was shut


def test_addresses_are_as_ip_tells_them_but_for_the_loopback() -> None:
    told = [
        f"{one['local']}/{one['prefixlen']}"
        for row in TOLD["ip"]["addr"]
        for one in row["addr_info"]
    ]
    assert told[0] == "127.0.0.1/8"
    assert [str(one) for one in rtnetlink.parse_addresses(answer("addresses"))] == told[1:]


def test_routes_are_as_ip_tells_them() -> None:
    found = rtnetlink.parse_routes(answer("routes"), NAMES)
    wanted = parse_fib(json.dumps(TOLD["ip"]["route"]))
    assert [(r.prefix, r.interfaces, r.is_refused) for r in found] == [
        (r.prefix, r.interfaces, r.is_refused) for r in wanted
    ]
    # Of two ways one has no carrier; of two metrics the less counts; table 77 is not main.
    ways = {r.prefix: r.interfaces for r in found}
    assert (ways["10.9.0.0/24"], ways["10.50.0.0/24"]) == (("v1",), ("v1",))
    assert ways["10.7.0.0/24"] == ("v1",)
    assert "10.8.0.0/24" not in ways


def test_rules_by_hand_are_told_and_those_of_every_kernel_are_not() -> None:
    found = [(str(one.network), one.is_refused) for one in rtnetlink.parse_rules(answer("rules"))]
    assert found == [
        ("10.128.0.6/32", False),  # of priority 0, as the kernel's own for local addresses
        ("10.128.0.9/32", True),
        ("10.128.0.8/31", False),
        ("0.0.0.0/0", False),
    ]
    assert len(TOLD["ip"]["rule"]) == len(found) + 3


def test_next_hop_objects_without_a_way_are_counted() -> None:
    rows = TOLD["ip"]["nexthop"]
    lost = sum(bool({"dead", "linkdown"} & set(row["flags"])) for row in rows)
    assert rtnetlink.parse_unusable(answer("next_hops")) == lost


def test_queues_count_and_token_buckets_tell_their_rate() -> None:
    found = {NAMES[number]: one for number, one in rtnetlink.parse_queues(answer("queues")).items()}
    for row in TOLD["tc"]:
        one = found[row["dev"]]
        assert (one.sent_bytes, one.sent_packets) == (row["bytes"], row["packets"])
        assert (one.dropped_packets, one.waiting_bytes) == (row["drops"], row["backlog"])
    # 100 Mbit/s; and 40 Gbit/s, which 32 bits of bytes a second cannot hold.
    assert (found["v0"].rate_bps, found["v1"].rate_bps) == (100e6, 40e9)
    assert found["v2"].rate_bps is None


def test_a_flow_leaves_by_one_interface_and_one_that_is_refused_by_none() -> None:
    # 10.50.0.1 by the one of two ways that has carrier; 10.9.0.13 is a blackhole.
    assert NAMES[rtnetlink.parse_way(answer("way"))] == "v1"
    assert rtnetlink.parse_way(answer("refused")) == 0


def test_a_namespace_has_a_number_where_a_cable_leads_into_it() -> None:
    (number,) = (row["nsid"] for row in TOLD["ip"]["ids"] if row["name"] == "lab_c")
    assert rtnetlink.parse_namespace(answer("namespace c")) == number
    assert rtnetlink.parse_namespace(answer("namespace a")) is None  # itself


def test_a_question_has_the_five_tuple_in_network_order() -> None:
    flow = rtnetlink.UdpFlow(
        source=IPv4Address("10.3.0.7"),
        target=IPv4Address("10.50.0.1"),
        source_port=0xC001,
        target_port=4791,
        interface="v2",
    )
    data = rtnetlink.ask_way(flow, 4)
    assert bytes([10, 50, 0, 1]) in data
    assert bytes([10, 3, 0, 7]) in data
    assert (b"\xc0\x01" in data, (4791).to_bytes(2, "big") in data) == (True, True)
    assert int.from_bytes(data[:4], "little") == len(data)


@pytest.mark.parametrize(
    "name", ["links", "addresses", "routes", "rules", "next_hops", "queues", "way", "namespace c"]
)
@given(junk=st.binary(max_size=200), cut=st.integers(0, 400))
def test_bytes_of_any_kind_are_read_to_an_end(name: str, junk: bytes, cut: int) -> None:
    data = answer(name)[:cut] + junk
    rtnetlink.is_end(data)
    rtnetlink.parse_links(data)
    rtnetlink.parse_addresses(data)
    rtnetlink.parse_routes(data, NAMES)
    rtnetlink.parse_rules(data)
    rtnetlink.parse_unusable(data)
    rtnetlink.parse_queues(data)
    rtnetlink.parse_way(data)
    rtnetlink.parse_namespace(data)
