from __future__ import annotations

from ipaddress import IPv4Interface

import pytest

from netloom.errors import InfeasibleError
from netloom.ops.plant import Cable, Device, Plant, Port, plant_of
from netloom.ops.underlay import FIRST_ASN, expected_ways, interface_name, underlay_of
from netloom.spec.load import parse
from netloom.study.fabrics import build


def plant(topology: str, nodes: int = 4) -> Plant:
    text = f"""
cluster:
  nodes: {nodes}
  node: dgx-h100
  fabric: {{technology: rocev2-400g, topology: {topology}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: 64}}}}
"""
    return plant_of(build(parse(text, name="x.yaml")))


def test_the_spines_of_a_clos_share_a_system_and_leaves_have_their_own() -> None:
    found = plant("{kind: fat-tree, tiers: 2, hosts_per_leaf: 8}")
    asns = {router.name: router.asn for router in underlay_of(found).routers}
    leaves = [asn for name, asn in asns.items() if name.startswith("leaf")]
    spines = {asn for name, asn in asns.items() if name.startswith("spine")}
    assert len(set(leaves)) == len(leaves) == 4
    assert len(spines) == 1
    assert not spines & set(leaves)
    assert min(asns.values()) == FIRST_ASN


def test_pods_of_three_tiers_share_a_system_within_a_pod_only() -> None:
    # Two pods: leaf a, spine a; leaf b, spine b; both spines to one core.
    names = [("leaf:0", 1), ("leaf:1", 1), ("spine:0", 2), ("spine:1", 2), ("core:0", 3)]
    devices = tuple(Device(name=n, role="switch", tier=t, num_ports=4) for n, t in names)
    ends = [((0, 1), (2, 1)), ((1, 1), (3, 1)), ((2, 2), (4, 1)), ((3, 2), (4, 2))]
    cables = tuple(
        Cable(number=i, lower=Port(*low), upper=Port(*up), rate_bps=1.0)
        for i, (low, up) in enumerate(ends)
    )
    asns = [r.asn for r in underlay_of(Plant(devices=devices, cables=cables)).routers]
    assert len(set(asns)) == 5


def test_switches_with_cables_among_themselves_have_systems_of_their_own() -> None:
    found = underlay_of(plant("{kind: torus, dimensions: [2, 2]}"))
    asns = [router.asn for router in found.routers]
    assert len(set(asns)) == len(asns) == 4


def test_every_host_has_a_point_to_point_network_that_its_switch_announces() -> None:
    found = plant("{kind: rail-fat-tree}")
    underlay = underlay_of(found)
    assert len(underlay.host_links) == len(found.hosts)
    first = underlay.host_links[0]
    assert first.host_address == IPv4Interface("10.128.0.1/31")
    assert first.switch_address == IPv4Interface("10.128.0.0/31")
    assert interface_name(found, first.switch_port) == f"swp{first.switch_port.number}"
    announced = [network for router in underlay.routers for network in router.networks]
    assert len(set(announced)) == len(announced) == len(found.hosts)


def test_a_leaf_uses_every_uplink_to_another_leaf_and_one_port_to_its_own_host() -> None:
    found = plant("{kind: fat-tree, tiers: 2, hosts_per_leaf: 8}")
    underlay = underlay_of(found)
    leaf = underlay.routers[0]
    ways = expected_ways(found, underlay)[leaf.device]
    assert len(ways) == 32  # one prefix a host
    own = {str(network) for network in leaf.networks}
    assert {len(interfaces) for prefix, interfaces in ways.items() if prefix in own} == {1}
    # 8 hosts and no oversubscription: 8 uplinks, swp9 to swp16.
    uplinks = tuple(sorted(f"swp{port}" for port in range(9, 17)))
    assert {i for prefix, i in ways.items() if prefix not in own} == {uplinks}


def test_more_switches_than_addresses_are_refused() -> None:
    devices = tuple(
        Device(name=f"leaf:{i}", role="switch", tier=1, num_ports=1) for i in range(65_536)
    )
    with pytest.raises(InfeasibleError, match="more than addresses"):
        underlay_of(Plant(devices=devices, cables=()))
