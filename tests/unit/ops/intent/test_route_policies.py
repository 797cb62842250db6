"""Policies on routes: the switch that has one is to blame, whoever lacks the ways."""

from __future__ import annotations

import functools
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import LabError
from netloom.fabric.build import build
from netloom.formats.frr.neighbours import parse_neighbours
from netloom.ops.locate.device_findings import device_findings
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.observation import Observation, whole
from netloom.ops.plant import plant_of
from netloom.ops.underlay import expected_ways, interface_name
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.locate.findings import Finding

RECORDED = Path(__file__).parents[3] / "data" / "watch" / "show_bgp_neighbors.json"


@functools.cache
def network() -> DesignedNetwork:
    """32 leaves of 8 hosts, each with 4 uplinks to either of two spines."""
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 8}
    cluster = Cluster.model_validate(
        {"nodes": 32, "fabric": {"technology": "rocev2-400g", "topology": topology}}
    )
    made = network_of(cluster, load_catalog())
    fabric = build(made.design, made.node, made.scale_up)
    return DesignedNetwork(
        fabric=fabric, plant=plant_of(fabric), rate_bps=lambda cable: cable.rate_bps
    )


def ports(one: str, other: str) -> list[str]:
    """Return the ports of a switch that lead to another."""
    made = network()
    both = [c for c in made.by_device[one] if other in made.devices_of(c)]
    return [made.far_end(cable, other) for cable in both]


def prefixes(leaf: str) -> set[str]:
    """Return the networks of the hosts of a leaf."""
    made = network()
    return {
        str(link.switch_address.network)
        for link in made.underlay.host_links
        if made.plant.devices[link.switch_port.device].name == leaf
    }


def found(
    is_lost: Callable[[str, str, str], bool], policies: tuple[str, ...] = ()
) -> tuple[Finding, ...]:
    """Return the findings where ways are lost: by switch, network and the port they leave by."""
    made, values = network(), dict[tuple[str, str], float]()
    ways = expected_ways(made.plant, made.underlay)
    at = {
        (port.device, interface_name(made.plant, port)): made.plant.port_name(port)
        for cable in made.plant.cables
        for port in cable.ends
    }
    for device, by_prefix in ways.items():
        name = made.plant.devices[device].name
        over = dict.fromkeys((at[device, i] for some in by_prefix.values() for i in some), 0)
        for prefix, interfaces in by_prefix.items():
            left = [at[device, i] for i in interfaces if not is_lost(name, prefix, at[device, i])]
            for port in left:
                over[port] += 1
            if len(left) < len(interfaces):
                values[f"{name} {prefix}", "route_ways"] = float(len(left))
        values |= {(port, "routes_over"): float(count) for port, count in over.items()}
        values |= {(port, "bgp_up"): 1.0 for port in over if "nic" not in str(made.at[port])}
        values[name, "rib_ways"] = values[name, "fib_ways"] = float(sum(over.values()))
    values |= {(one, "bgp_policy"): 1.0 for one in policies}
    heard = window_of(
        whole("x", t, [Observation(t, p, m, v) for (p, m), v in values.items()], cursor="")
        for t in (0.0, 1.0, 2.0)
    )
    return device_findings(made, heard)


def test_neighbours_tell_their_policies_as_frr_8_4_prints_them() -> None:
    rows = parse_neighbours(RECORDED.read_text(encoding="utf-8"))
    assert {one.name: one.policies for one in rows} == {
        "swp5": (("in", "route-map X"),),
        "swp6": (("in", "prefix-list P"), ("out", "route-map X")),
        "swp7": (("out", "filter-list A"),),
        "swp8": (),
    }
    # The list refuses one of 16 networks.
    assert [one.num_accepted for one in rows] == [16, 15, 16, 16]
    assert {(one.is_up, one.is_shut, one.asn, one.hold_s) for one in rows} == {
        (True, False, 4_200_000_000, 3.0)
    }


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader_of_neighbours(text: str) -> None:
    with suppress(LabError):
        parse_neighbours(text)


@pytest.mark.parametrize("text", ["[1]", '{"swp1": {"addressFamilyInfo": {"ipv4Unicast": 1}}}'])
def test_what_are_no_neighbours_is_refused(text: str) -> None:
    with pytest.raises(LabError, match="not understood"):
        parse_neighbours(text)


def test_a_spine_that_announces_less_to_a_leaf_is_blamed_and_not_the_leaf() -> None:
    port, far = ports("leaf:1", "spine:0")[0], ports("spine:0", "leaf:1")[0]

    def is_lost(name: str, _: str, over: str) -> bool:
        return name == "leaf:1" and over == port

    (one,) = found(is_lost, (f"{far} out route-map PRE",))
    assert (str(one.part), one.kind) == ("spine:0", Trouble.ROUTE_POLICY)
    assert f"route-map PRE on what it announces to leaf:1 at {far}" in one.evidence[0]
    assert one.magnitude == 31 * 8  # one way to each host of the 31 other leaves


def test_a_leaf_that_hides_its_hosts_from_a_spine_is_blamed_for_what_all_others_lack() -> None:
    """The spine has no route to offer, and 31 leaves have four ways less to each of 8 hosts."""
    own, through = prefixes("leaf:3"), set(ports("spine:0", "leaf:3"))

    def is_lost(name: str, prefix: str, over: str) -> bool:
        towards = network().far_end(network().at[over], name).partition("[")[0]
        return prefix in own and name != "leaf:3" and (over in through or towards == "spine:0")

    out = tuple(f"{port} out prefix-list P" for port in ports("leaf:3", "spine:0"))
    (one,) = found(is_lost, out)
    assert (str(one.part), one.kind) == ("leaf:3", Trouble.ROUTE_POLICY)
    assert one.magnitude == 4 * 8  # what the spine lacks: four cables, 8 hosts
    # Without a policy that is told, the spine alone is blamed: the leaves cannot have more.
    (one,) = found(is_lost)
    assert (str(one.part), one.kind) == ("spine:0", Trouble.MISSING_ROUTES)


def test_a_preference_for_one_uplink_is_put_to_the_port_that_has_it() -> None:
    """All ways but that over the preferred port are gone, and the policy stands at that."""
    kept = ports("leaf:2", "spine:1")[0]

    def is_lost(name: str, prefix: str, over: str) -> bool:
        return name == "leaf:2" and prefix not in prefixes("leaf:2") and over != kept

    (one,) = found(is_lost, (f"{kept} in route-map LP",))
    assert (str(one.part), one.kind) == ("leaf:2", Trouble.ROUTE_POLICY)
    assert f"takes from spine:1 at {kept}" in one.evidence[0]


def test_a_policy_that_takes_no_way_is_no_finding() -> None:
    port = ports("leaf:1", "spine:0")[0]
    assert found(lambda *_: False, (f"{port} in route-map X",)) == ()


def test_a_policy_elsewhere_is_not_blamed() -> None:
    port, other = ports("leaf:1", "spine:0")[0], ports("leaf:2", "spine:1")[0]

    def is_lost(name: str, _: str, over: str) -> bool:
        return name == "leaf:1" and over == port

    (one,) = found(is_lost, (f"{other} in route-map X",))
    assert (str(one.part), one.kind) == ("leaf:1", Trouble.MISSING_ROUTES)
