"""Each rule finds its planted error, and nothing in what netloom renders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from deployments import build, render

from netloom.app.deploy.checking import Checks, check_deployment

if TYPE_CHECKING:
    from collections.abc import Callable


PURE = Checks(has_programs=False)
LEAF = "switches/leaf000/sonic/config_db.json"


def with_table(files: dict[str, str], change: Callable[[dict[str, Any]], object]) -> dict[str, str]:
    config = json.loads(files[LEAF])
    change(config)
    return {**files, LEAF: json.dumps(config)}


@pytest.mark.parametrize(
    "technology", ["infiniband-ndr", "rocev2-400g", "spectrum-x-400g", "tcp-400g"]
)
def test_what_is_rendered_breaks_no_rule(technology: str) -> None:
    intent = build(technology)
    assert check_deployment(intent, render(intent), PURE) == ()


def break_marks(config: dict[str, Any]) -> None:
    config["WRED_PROFILE"]["ROCE"]["green_max_threshold"] = "50000000"


def break_room(config: dict[str, Any]) -> None:
    config["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "1000"


def break_headroom(config: dict[str, Any]) -> None:
    config["CABLE_LENGTH"]["AZURE"]["Ethernet0"] = "300m"


def break_pauses(config: dict[str, Any]) -> None:
    for port in config["PORT_QOS_MAP"].values():
        port["pfc_enable"] = "4"


def break_priority(config: dict[str, Any]) -> None:
    config["DSCP_TO_TC_MAP"]["ROCE"]["26"] = "4"


def break_address(config: dict[str, Any]) -> None:
    config["LOOPBACK_INTERFACE"]["Loopback0|10.0.0.2/32"] = {}


def break_alpha(config: dict[str, Any]) -> None:
    for profile in config["BUFFER_PROFILE"].values():
        if "xoff" in profile:
            profile["dynamic_th"] = "-8"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (break_marks, "ECN marks everything from 50,000,000 bytes"),
        (break_alpha, "but pauses may begin at"),
        (break_room, "and the pool sets aside 1,000"),
        (break_headroom, "its cable of 300 m needs 226,"),
        (break_pauses, "pauses priorities"),
        (break_priority, "DSCP 26 has priority"),
        (break_address, "the address 10.0.0.2/32 is given 2 times"),
    ],
)
def test_a_planted_error_is_found(change: Callable[[dict[str, Any]], None], says: str) -> None:
    # Headroom of 300 m at 400 Gb/s: 18432 + 64 + 57920 + 2 x 300 x 5 x 50 = 226,416 bytes.
    intent = build("rocev2-400g")
    found = check_deployment(intent, with_table(render(intent), change), PURE)
    assert any(says in one.what and one.severity == "error" for one in found), found


def test_a_host_that_pauses_another_priority_is_named() -> None:
    intent = build("rocev2-400g")
    files = render(intent)
    path = "hosts/n0007/nics.sh"
    files[path] = files[path].replace("--pfc 0,0,0,1", "--pfc 0,0,1,0")
    (found,) = check_deployment(intent, files, PURE)
    assert found.where == path
    assert "pauses priorities [2]" in found.what


def test_neighbours_in_one_autonomous_system_are_found() -> None:
    intent = build("rocev2-400g")
    files = render(intent)
    asn = intent.router(len(intent.site.nics)).asn  # of leaf000
    spine = "switches/spine000/sonic/frr.conf"
    files[spine] = files[spine].replace("router bgp 4200000008", f"router bgp {asn}")
    (found,) = check_deployment(intent, files, PURE)
    assert "leaf000" in found.where
    assert "as is its neighbour spine000" in found.what


def test_a_missing_file_of_a_switch_is_an_error() -> None:
    intent = build("rocev2-400g")
    files = render(intent)
    del files["switches/leaf003/sonic/frr.conf"]
    (found,) = check_deployment(intent, files, PURE)
    assert found.where == "switches/leaf003/sonic/frr.conf"


def test_a_config_db_that_is_none_is_an_error_not_a_crash() -> None:
    intent = build("rocev2-400g")
    for text in ("", "[]", '{"PORT_QOS_MAP": 3}', "[" * 100_000):
        found = check_deployment(intent, {**render(intent), LEAF: text}, PURE)
        assert [one.where for one in found if one.severity == "error"] == [LEAF]


def test_tenants_that_share_a_key_are_found() -> None:
    intent = build("infiniband-ndr", tenants="[{name: a, nodes: 0-31}, {name: b, nodes: 32-63}]")
    files = render(intent)
    path = "opensm/0/partitions.conf"
    assert check_deployment(intent, files, PURE) == ()
    files[path] = files[path].replace("b=0x0002", "b=0x0001")
    (found,) = check_deployment(intent, files, PURE)
    assert "0x0001 is given 2 times" in found.what


def test_nodes_of_no_tenant_are_warned_of() -> None:
    intent = build("infiniband-ndr", tenants="[{name: a, nodes: 0-61}]")
    (found,) = check_deployment(intent, render(intent), PURE)
    assert found.severity == "warning"
    assert found.what.startswith("16 NIC ports")  # two nodes of 8


def test_pauses_on_a_torus_are_refused_as_a_circle() -> None:
    intent = build("rocev2-400g", topology="{kind: torus, dimensions: [4, 4, 1]}")
    found = check_deployment(intent, render(intent), PURE)
    assert ["circle" in one.what for one in found] == [True]


def test_rocev1_is_refused_on_a_routed_network() -> None:
    intent = build("rocev1-100g", nodes=4, node="dgx-1v")
    found = check_deployment(intent, render(intent), PURE)
    assert ["no IP header" in one.what for one in found] == [True]


def test_the_cells_of_a_scheduled_fabric_are_warned_of() -> None:
    intent = build("scheduled-400g", nodes=4)
    (found,) = check_deployment(intent, render(intent), PURE)
    assert (found.severity, "cells" in found.what) == ("warning", True)


def test_a_nic_whose_packets_do_not_fit_is_named() -> None:
    intent = build("rocev2-400g", nodes=4)
    files = render(intent)
    path = "hosts/n0001/nics.sh"
    files[path] = files[path].replace("mtu 9000", "mtu 9217", 1)
    (found,) = check_deployment(intent, files, PURE)
    assert found.where == path
    assert "switches take 9216" in found.what
