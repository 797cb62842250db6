from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from netloom.drivers.frr import render_configuration
from netloom.errors import LabError
from netloom.formats.frr.state import parse_fib, parse_peers, parse_routes
from netloom.ops.underlay import BgpRouter

# FRR 8.4.4 and iproute2 6.1 on leaf:0 of 4 leaves with 4 hosts each and 2 cables to one spine.
RECORDED = Path(__file__).parents[2] / "data" / "lab"
ROUTER = BgpRouter(
    device=4,
    name="leaf:0",
    asn=4_200_000_000,
    loopback=IPv4Address("10.0.0.1"),
    peers=("swp5", "swp6"),
    networks=(IPv4Network("10.128.0.0/31"),),
)


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def test_kernel_and_zebra_agree_on_a_healthy_leaf() -> None:
    believed = {r.prefix: r.interfaces for r in parse_routes(recorded("show_ip_route.json"))}
    real = {r.prefix: r.interfaces for r in parse_fib(recorded("ip_route.json"))}
    # The kernel keeps the loopback in another table; all else is the same.
    assert {prefix: believed[prefix] for prefix in real} == real
    assert set(believed) - set(real) == {"10.0.0.1/32"}
    # 16 hosts and 4 other switches.
    assert len(real) == 16 + 4
    # Hosts 0 to 3 are its own; the others are reached over both uplinks.
    assert real["10.128.0.2/31"] == ("swp2",)
    assert real["10.128.0.8/31"] == ("swp5", "swp6")


def test_a_path_without_carrier_does_not_count() -> None:
    text = """[{"dst": "10.128.0.8/31", "protocol": "bgp", "flags": [], "nexthops": [
      {"dev": "swp5", "flags": []}, {"dev": "swp6", "flags": ["dead", "linkdown"]}]}]"""
    (route,) = parse_fib(text)
    assert route.interfaces == ("swp5",)


def test_peers_have_their_state() -> None:
    peers = parse_peers(recorded("show_bgp_summary.json"))
    assert [peer.name for peer in peers] == ["swp5", "swp6"]
    assert all(peer.is_up and peer.num_prefixes > 0 for peer in peers)


def test_no_routes_are_a_good_answer() -> None:
    assert parse_routes("{}") == ()
    assert parse_fib("[]") == ()
    assert parse_peers("{}") == ()


@pytest.mark.parametrize("text", ["x", "[1]", '{"a": 1}', '{"10.0.0.0/8": [{"selected": true}]}'])
def test_what_zebra_never_prints_is_refused(text: str) -> None:
    with pytest.raises(LabError, match="not understood"):
        parse_routes(text)


def test_the_configuration_peers_on_every_uplink_and_announces_every_host() -> None:
    lines = render_configuration(ROUTER).splitlines()
    for peer in ROUTER.peers:
        assert f" neighbor {peer} interface peer-group fabric" in lines
        assert f"interface {peer}" in lines
    assert "  network 10.128.0.0/31" in lines
    assert "router bgp 4200000000" in lines
    assert "no zebra nexthop kernel enable" in lines
