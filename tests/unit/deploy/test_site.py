"""Names, places and cables are those that people find at the machines."""

from __future__ import annotations

import pytest
from deployments import build

from netloom.fabric.cost.layout import LENGTHS_M
from netloom.formats.nvue.commands import port_name
from netloom.ops.plant import Port
from netloom.ops.site import peer_of


def test_every_port_of_a_nic_is_a_device_of_its_own() -> None:
    site = build("rocev2-400g", topology="{kind: multi-plane}").site
    # 8 NICs of 2 planes: 16 ports, and Linux numbers the devices through.
    names = [site.interface(host) for host in site.ports_of[0]]
    assert names == [f"mlx5_{index}" for index in range(16)]


def test_a_rack_of_trays_is_as_many_computers_as_trays() -> None:
    site = build("rocev2-400g", nodes=8, node="gb200-nvl72").site
    # 18 compute trays with 4 of the rack's 72 NICs each.
    assert len(site.computer_names) == 8 * 18
    assert {len(hosts) for hosts in site.ports_of} == {4}
    assert site.nics[71].computer == 17
    assert site.nics[72].computer == 18
    assert site.nics[72].node == 1


def test_a_split_cage_is_named_with_its_slot() -> None:
    site = build("rocev2-400g").site
    # Tomahawk-5 has 64 cages of 800 Gb/s; at 400 Gb/s two ports share one, so port 4 is the
    # second of cage 2.
    switch = len(site.nics)
    port = Port(switch, 4)
    assert site.cage(port).label == "1/2/2"
    assert port_name(site, port) == "swp2s1"


def test_two_ports_of_a_quantum_2_share_a_cage() -> None:
    site = build("infiniband-ndr").site
    assert site.cage(Port(len(site.nics), 64)).label == "1/32/2"


def test_an_unsplit_cage_is_named_alone() -> None:
    site = build("rocev2-800g", node="dgx-b300").site
    port = Port(len(site.nics), 7)
    assert site.cage(port).label == "1/7"
    assert port_name(site, port) == "swp7"


@pytest.mark.parametrize("technology", ["infiniband-ndr", "rocev2-400g"])
def test_a_cable_is_ordered_in_a_length_that_is_sold_and_reaches(technology: str) -> None:
    site = build(technology).site
    for cable in site.plant.cables:
        assert site.length_m(cable) in LENGTHS_M
        assert site.length_m(cable) >= site.places.cable_m[cable.number]


def test_no_two_things_stand_in_one_place() -> None:
    site = build("infiniband-ndr").site
    seats = {name: site.seat(number) for number, name in enumerate(site.hostnames)}
    assert len(set(seats.values())) == len(seats)


def test_uplinks_of_another_speed_have_cages_of_their_own() -> None:
    topology = "{kind: rail-fat-tree, uplink_rate: 800Gbps}"
    intent = build("rocev2-400g", topology=topology)
    site, leaf = intent.site, len(intent.site.nics)
    rates = {peer_of(c, leaf)[0]: c.rate_bps for c in site.cables_of[leaf]}
    assert set(rates.values()) == {400e9, 800e9}
    for port, rate_bps in rates.items():
        assert site.cage(port).num_slots == 800e9 / rate_bps
    places = {(site.cage(port).number, site.cage(port).slot) for port in rates}
    assert len(places) == len(rates)
    assert intent.quality is not None
    assert {rate_bps for rate_bps, _ in intent.quality.profiles} == {400e9, 800e9}
