"""Forwarding tables of a subnet manager as routes."""

from __future__ import annotations

import numpy as np
import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.fabric.explicit import routed_by
from netloom.fabric.wiring.built import wiring_of
from netloom.formats.infiniband.forwarding import parse_routes
from netloom.parts.load import load_catalog
from netloom.study.fabrics import build
from netloom.study.networks import network_of
from netloom.study.simulate.run import case_of, run_case

CATALOG = load_catalog()
DUMP = """Unicast lids [0-6] of switch Lid 2 guid 0x0002c90000100001 ('leaf:0'):
0x0001 001 # Channel Adapter portguid 0x0002c90000000011: 'nic:0'
0x0003 002 : (Channel Adapter portguid 0x0002c90000000021: 'nic:1 HCA-1')
0x0002 000 # Switch portguid 0x0002c90000100001: 'leaf:0'
3 lids dumped
"""
SCENARIO = nl.load(
    {
        "cluster": {
            "gpus": 64,
            "node": "dgx-h100",
            "fabric": {
                "technology": "infiniband-ndr",
                "topology": {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16},
            },
        },
        "traffic": [{"kind": "incast", "target": 0, "first": 32, "fan_in": 8, "size": "1MB"}],
    }
)


def tables(*, last_port: bool) -> dict[str, dict[str, int]]:
    """Return tables in which every leaf sends all that is not its own over one spine."""
    network = network_of(SCENARIO.cluster, CATALOG)
    fabric = build(SCENARIO, CATALOG)
    wiring = wiring_of(fabric, network, SCENARIO.cluster.fabric.floor, scale_up=False)
    found: dict[str, dict[str, int]] = {}
    for vertex in range(wiring.num_endpoints, wiring.num_vertices):
        leaving = np.flatnonzero(wiring.link_source == vertex)
        ends = wiring.link_target[leaving]
        ports = {}
        for host in range(64):
            direct = np.flatnonzero(ends == host)
            below = np.flatnonzero(ends == 64 + host // 16)  # leaves come behind the 64 GPUs
            up = np.flatnonzero(ends >= 64 + 4)
            way = next(some for some in (direct, below, up) if len(some))
            ports[f"nic:{host}"] = int(way[-1 if last_port else 0]) + 1
        found[wiring.name[vertex]] = ports
    return found


def test_a_dump_gives_ports_by_name_and_no_switches() -> None:
    assert parse_routes(DUMP) == {"leaf:0": {"nic:0": 1, "nic:1": 2}}


@pytest.mark.parametrize("way", ["first", "last"])
def test_every_packet_takes_the_port_of_its_table(way: str) -> None:
    routes = tables(last_port=way == "last")
    case = case_of(SCENARIO, CATALOG, routes=routes)
    found = run_case(case)
    used = {str(row["link"]) for row in found.links().rows() if row["carried_bytes"]}
    uplinks = [name for name in used if name.startswith("leaf:2->spine")]
    assert len(uplinks) == 1
    free = run_case(case_of(SCENARIO, CATALOG))
    assert free.first.span_s <= found.first.span_s * 1.01


def test_tables_that_do_not_fit_are_refused() -> None:
    fabric = build(SCENARIO, CATALOG)
    network = network_of(SCENARIO.cluster, CATALOG)
    wiring = wiring_of(fabric, network, SCENARIO.cluster.fabric.floor, scale_up=False)
    whole = tables(last_port=False)
    for broken, message in (
        ({"leaf:0": whole["leaf:0"]}, "there is no table for leaf:1"),
        (whole | {"torus:9": {}}, "'torus:9' is no switch of this network"),
        (whole | {"leaf:0": {"nic:99": 1}}, "'nic:99' is no NIC port"),
        (whole | {"leaf:0": {"nic:0": 999}}, "port 999 to nic:0; it has 1 to"),
    ):
        with pytest.raises(SpecError, match=message):
            routed_by(broken, wiring, fabric)
