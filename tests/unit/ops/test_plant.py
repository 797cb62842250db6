from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.fabric.names import vertex_name
from netloom.ops.plant import Cable, Device, Plant, Port, plant_of, subnets
from netloom.spec.load import parse
from netloom.study.fabrics import build


def leaf_spine(*, leaves: int = 2, spines: int = 2, hosts: int = 2) -> Plant:
    """Two hosts a leaf, one cable from every leaf to every spine; cables count from 10."""
    num_hosts = leaves * hosts
    devices = [Device(name=f"nic:{i}", role="host", tier=0, num_ports=1) for i in range(num_hosts)]
    devices += [Device(name=f"leaf:{i}", role="switch", tier=1, num_ports=8) for i in range(leaves)]
    devices += [
        Device(name=f"spine:{i}", role="switch", tier=2, num_ports=8) for i in range(spines)
    ]
    ends = [(Port(h, 1), Port(num_hosts + h // hosts, 1 + h % hosts)) for h in range(num_hosts)] + [
        (Port(num_hosts + leaf, 1 + hosts + spine), Port(num_hosts + leaves + spine, 1 + leaf))
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    cables = [
        Cable(number=10 + i, lower=low, upper=up, rate_bps=400e9)
        for i, (low, up) in enumerate(ends)
    ]
    return Plant(devices=tuple(devices), cables=tuple(cables))


def scenario(nodes: int, topology: str) -> str:
    return f"""
cluster:
  nodes: {nodes}
  node: dgx-h100
  fabric: {{technology: infiniband-ndr, topology: {topology}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: 64}}}}
"""


def test_a_plant_has_every_scale_out_cable_of_its_fabric_and_no_other() -> None:
    fabric = build(
        parse(scenario(4, "{kind: fat-tree, tiers: 2, hosts_per_leaf: 8}"), name="x.yaml")
    )
    plant = plant_of(fabric)
    # 4 nodes of 8 NICs; leaves of 8 hosts and 8 uplinks; one spine of 64 ports takes all 32.
    assert (len(plant.hosts), len(plant.switches), len(plant.cables)) == (32, 5, 64)
    for cable in plant.cables:
        lower = vertex_name(fabric, int(fabric.link_source[2 * cable.number]))
        upper = vertex_name(fabric, int(fabric.link_target[2 * cable.number]))
        assert [plant.devices[port.device].name for port in cable.ends] == [lower, upper]
        assert cable.rate_bps == 400e9


def test_no_port_has_two_cables_and_hosts_come_first() -> None:
    plant = plant_of(build(parse(scenario(4, "{kind: rail-fat-tree}"), name="x.yaml")))
    ports = [port for cable in plant.cables for port in cable.ends]
    assert len(set(ports)) == len(ports)
    assert all(1 <= port.number <= plant.devices[port.device].num_ports for port in ports)
    for number, device in enumerate(plant.devices):
        down = [c.upper.number for c in plant.cables if c.upper.device == number]
        up = [c.lower.number for c in plant.cables if c.lower.device == number]
        assert device.role == "host" or not up or max(down) < min(up)


def test_rails_without_a_common_switch_are_subnets_of_their_own() -> None:
    plant = plant_of(build(parse(scenario(4, "{kind: rail-only}"), name="x.yaml")))
    # 8 rails, each one leaf of 4 hosts.
    found = subnets(plant)
    assert [len(devices) for devices in found] == [5] * 8
    assert sorted(device for devices in found for device in devices) == list(range(40))


def test_parts_are_found_by_the_names_the_fabric_uses() -> None:
    plant = leaf_spine()
    assert [c.number for c in plant.find("cable:14")] == [14]
    assert [c.number for c in plant.find("link:leaf:0-spine:1")] == [15]
    assert [c.number for c in plant.find("link:spine:1-leaf:0")] == [15]
    assert [c.number for c in plant.find("spine:1")] == [15, 17]
    ((cable, sender),) = plant.links("spine:1->leaf:0")
    assert (cable.number, sender) == (15, cable.upper)
    assert [sender for _, sender in plant.links("cable:15")] == list(cable.ends)
    assert plant.cable_name(cable) == "cable:15 (leaf:0[4] - spine:1[1])"


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("cable:9", "write cable:10 to cable:17"),
        ("cable:x", "write cable:10"),
        ("cable:99999999999999999999", "write cable:10"),
        ("link:leaf:0", "is not in this network|is not a link"),
        ("link:leaf:0-leaf:1", "no cable joins the two; leaf:0 has cables to nic:0, nic:1"),
        ("leaf:7", "leaf:0 to leaf:1"),
        ("leaf:0->leaf:1", "no cable joins"),
        ("", "is not in this network"),
    ],
)
def test_a_part_that_is_not_there_is_refused_with_what_is(part: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        leaf_spine().links(part)


@given(st.text(max_size=40))
def test_any_text_is_a_part_or_a_refusal(part: str) -> None:
    plant = leaf_spine()
    try:
        links = plant.links(part)
    except SpecError:
        return
    assert all(sender in cable.ends for cable, sender in links)


def test_a_plant_survives_its_file() -> None:
    plant = leaf_spine(leaves=3, spines=2)
    assert Plant.from_json(plant.to_json()) == plant  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "damaged",
    [{}, {"devices": [], "cables": [[1, 0, 1, 1, 1, 4e11]]}, {"devices": [["a"]], "cables": []}],
)
def test_a_damaged_plant_is_refused(damaged: dict[str, list[list[object]]]) -> None:
    with pytest.raises(SpecError, match="damaged"):
        Plant.from_json(damaged)
