"""One value of a good deployment is changed, whichever it is: the check must notice."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from deployments import build, render
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.app.deploy.checking import Checks, check_deployment

PURE = Checks(has_programs=False)
TENANTS = "[{name: red, nodes: '0,2'}, {name: blue, nodes: '1'}]"
# Whatever is changed in these tables by one value decides over loss, pauses, marks or tenants.
# Left out is what another value may well replace: weights of schedulers, how long a watchdog
# waits, where a pause ends again, and the reserve and share of traffic that may be lost.
TABLES = (
    "PORT_QOS_MAP",
    "DSCP_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "WRED_PROFILE",
    "BUFFER_PG",
    "BUFFER_QUEUE",
    "VRF",
)
HARMLESS = frozenset({"fallback"})


def leaves(config: dict[str, Any], prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, value in config.items():
        if isinstance(value, dict):
            found += leaves(value, (*prefix, key))
        elif key not in HARMLESS:
            found.append((*prefix, key))
    return found


@cache
def good(system: str = "sonic") -> tuple[Any, dict[str, str]]:
    intent = build("rocev2-400g", nodes=4, tenants=TENANTS, system=system)
    return intent, render(intent)


def errors(files: dict[str, str], system: str = "sonic") -> list[str]:
    intent, _ = good(system)
    found = check_deployment(intent, files, PURE)
    return [one.what for one in found if one.severity == "error"]


@pytest.mark.parametrize("system", ["sonic", "cumulus", "eos", "frr"])
def test_the_good_deployment_has_no_errors(system: str) -> None:
    assert errors(good(system)[1], system) == []


def other(value: str, number: int) -> str:
    """Return another value of the same sort."""
    if value.isdigit():
        # A step of 16 or more, so that sizes in bytes change by what matters and small numbers
        # leave their range of 0 to 7; which of the two is the strategy's.
        return str(int(value) + number) if int(value) > 63 else str((int(value) + number) % 8)
    return {"true": "false", "ecn_all": "ecn_none"}.get(value, "")


def is_seen(path: tuple[str, ...]) -> bool:
    """Return whether a change of a value matters at all.

    Classes that no packet has, and groups and queues of those, may be anywhere but with RoCE.
    """
    table, *rest = path
    unused = {str(n) for n in range(8)} - {"3"}
    if table in {"TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"}:
        return rest[-1] not in unused
    if rest[-1] == "green_drop_probability":
        return False  # any share between 0 and 100 % marks; which one is a matter of tuning
    if table == "DSCP_TO_TC_MAP":
        return rest[-1] in {"26", "48"}
    if table == "BUFFER_PG":
        return rest[0].endswith("|3")
    return table in TABLES


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_changed_value_of_a_switch_is_noticed(data: st.DataObject) -> None:
    _, files = good()
    path = data.draw(st.sampled_from(sorted(p for p in files if p.endswith("config_db.json"))))
    config = json.loads(files[path])
    where = data.draw(st.sampled_from([leaf for leaf in leaves(config) if is_seen(leaf)]))
    row = config
    for key in where[:-1]:
        row = row[key]
    old = row[where[-1]]
    if where[0] == "TC_TO_PRIORITY_GROUP_MAP":
        row[where[-1]] = "0" if old == "3" else "3"
    elif where[0] == "WRED_PROFILE" and where[-1].endswith("threshold"):
        row[where[-1]] = str(int(old) * data.draw(st.sampled_from([0, 100])))
    elif old in config.get("BUFFER_PROFILE", {}):
        row[where[-1]] = data.draw(st.sampled_from(["ingress_lossy_profile"]))
    elif where[-1].endswith("_map"):
        del row[where[-1]]  # without a map, all goes to group and queue 0
    else:
        row[where[-1]] = other(old, data.draw(st.integers(1, 7)))
    assert errors({**files, path: json.dumps(config)}), (path, where, old, row.get(where[-1]))


@pytest.mark.parametrize(
    ("table", "key", "field", "value"),
    [
        ("PORT", "Ethernet0", "speed", "200000"),
        ("PORT", "Ethernet0", "mtu", "1500"),
        ("CABLE_LENGTH", "AZURE", "Ethernet0", "1m"),
        ("CABLE_LENGTH", "AZURE", "Ethernet0", "900m"),
        ("BUFFER_POOL", "ingress_lossless_pool", "size", "999999999"),
        ("BUFFER_POOL", "ingress_lossless_pool", "size", "1000000"),
        ("BUFFER_POOL", "ingress_lossless_pool", "xoff", "0"),
        ("BUFFER_PROFILE", "egress_lossless_profile", "static_th", "100000"),
        ("WRED_PROFILE", "ROCE", "green_drop_probability", "0"),
        ("PORT_QOS_MAP", "Ethernet0", "pfc_enable", ""),
        ("PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable", ""),
    ],
)
def test_a_bad_value_of_a_switch_is_noticed(table: str, key: str, field: str, value: str) -> None:
    _, files = good()
    path = "switches/leaf000/sonic/config_db.json"
    config = json.loads(files[path])
    config[table][key][field] = value
    assert errors({**files, path: json.dumps(config)})


@pytest.mark.parametrize("table", ["BUFFER_PG", "BUFFER_QUEUE", "QUEUE", "PFC_WD", "PORT"])
def test_a_port_that_was_forgotten_is_noticed(table: str) -> None:
    _, files = good()
    path = "switches/leaf000/sonic/config_db.json"
    config = json.loads(files[path])
    rows = config[table]
    for key in [key for key in rows if key in {"Ethernet0", "Ethernet0|3"}]:
        del rows[key]
    assert errors({**files, path: json.dumps(config)})


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_changed_number_of_a_host_is_noticed(data: st.DataObject) -> None:
    _, files = good()
    path = data.draw(st.sampled_from(sorted(p for p in files if p.endswith("nics.sh"))))
    lines = files[path].splitlines()
    places = [n for n, line in enumerate(lines) if re.search("mlnx_qos|roce|traffic_class", line)]
    place = data.draw(st.sampled_from(places))
    if data.draw(st.booleans()):
        lines[place] = ":"
        assert errors({**files, path: "\n".join(lines)}), "a line less"
        return
    # The first number that is a setting: not that in a device's name, nor the 2 of dscp2prio.
    numbers = [m for m in re.finditer(r"(?<![\w.])\d+(?![\w.])", lines[place]) if m[0] != "802"]
    if not numbers:
        return
    number = data.draw(st.sampled_from(numbers))
    new = "1" if number[0] == "0" else "0"
    if "roce_" in lines[place] and "/enable/" in lines[place] and number.start() < 8:
        new = "0"
    if "tc/1/" in lines[place] and number.start() > 8:
        return  # the port of the device
    lines[place] = lines[place][: number.start()] + new + lines[place][number.end() :]
    assert errors({**files, path: "\n".join(lines)}), lines[place]


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_changed_line_of_a_tenant_is_noticed(data: st.DataObject) -> None:
    _, files = good()
    paths = sorted(p for p in files if p.endswith("frr.conf") and "Vrf" in files[p])
    path = data.draw(st.sampled_from(paths))
    lines = files[path].splitlines()
    places = [n for n, line in enumerate(lines) if re.search("route-target|vni 1|network", line)]
    place = data.draw(st.sampled_from(places))
    swaps = {"10001": "10002", "10002": "10001", "10.128": "10.129", "10.0.0": "10.0.9"}
    changed = lines[place]
    for old, new in swaps.items():
        if old in changed:
            changed = changed.replace(old, new)
            break
    lines[place] = data.draw(st.sampled_from([changed, "!"]))
    if "10.0." in lines[place] or (
        lines[place] == "!" and "/32" in files[path].splitlines()[place]
    ):
        return  # the loopback, which is no tenant's
    assert errors({**files, path: "\n".join([*lines, ""])}), (path, place)


def test_traffic_that_joins_the_paused_priority_is_noticed() -> None:
    _, files = good()
    path = "switches/leaf000/sonic/config_db.json"
    config = json.loads(files[path])
    config["DSCP_TO_TC_MAP"]["ROCE"]["0"] = "3"
    found = errors({**files, path: json.dumps(config)})
    assert found == ["DSCP 0 is paused with RDMA, and no NIC sends RDMA with it"]


@pytest.mark.parametrize(("system", "name"), [("eos", "eos.conf"), ("cumulus", "nvue.sh")])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_line_less_or_of_another_tenant_is_noticed_in_text(
    system: str, name: str, data: st.DataObject
) -> None:
    _, files = good(system)
    path = f"switches/leaf000/{name}"
    lines = files[path].splitlines()
    # Whatever names a VRF's ports, numbers, targets and networks, or switches a port off.
    telling = re.compile(
        r"^ +(vrf Vrf|vxlan vrf|route-target|network 10\.128|shutdown)|^nv set "
        r"(interface (?!eth0)\S+ (ip vrf|link state)"
        r"|vrf Vrf\S+ (evpn vni|router bgp route-.* route-target)"
        r"|vrf Vrf\S+ .* network)"
    )
    place = data.draw(st.sampled_from([n for n, line in enumerate(lines) if telling.match(line)]))
    swapped = lines[place]
    for old, new in (("Vrfred", "Vrfblue"), ("Vrfblue", "Vrfred"), ("10001", "10002")):
        if old in swapped:
            swapped = swapped.replace(old, new)
            break
    changed = data.draw(st.sampled_from([swapped, "!" if name == "eos.conf" else ":"]))
    if changed == lines[place]:
        return
    lines[place] = changed
    assert errors({**files, path: "\n".join([*lines, ""])}, system), (
        place,
        files[path].splitlines()[place],
    )


def test_a_host_network_outside_of_its_vrf_is_noticed() -> None:
    _, files = good()
    path = "switches/leaf000/sonic/frr.conf"
    text = files[path].replace(
        "  network 10.0.0.1/32\n", "  network 10.0.0.1/32\n  network 10.128.0.0/31\n"
    )
    assert any("all tenants reach it" in one for one in errors({**files, path: text}))


def test_a_port_in_another_vrf_and_one_that_is_on_are_noticed() -> None:
    _, files = good()
    path = "switches/leaf000/sonic/config_db.json"
    config = json.loads(files[path])
    vrfs = {row["vrf_name"] for row in config["INTERFACE"].values() if "vrf_name" in row}
    assert vrfs == {"Vrfred", "Vrfblue"}
    for row in config["INTERFACE"].values():
        if row.get("vrf_name") == "Vrfred":
            row["vrf_name"] = "Vrfblue"
    assert any(
        "its tenant's is Vrfred" in one for one in errors({**files, path: json.dumps(config)})
    )
    config = json.loads(files[path])
    for row in config["PORT"].values():
        row["admin_status"] = "up"
    assert any("no tenant's" in one for one in errors({**files, path: json.dumps(config)}))


@pytest.mark.parametrize(("key", "value"), [("wred_green_enable", "false"), ("ecn", "ecn_none")])
def test_marks_that_are_off_on_every_switch_are_noticed(key: str, value: str) -> None:
    _, files = good()
    changed = dict(files)
    for path in (path for path in files if path.endswith("config_db.json")):
        config = json.loads(files[path])
        config["WRED_PROFILE"]["ROCE"][key] = value
        changed[path] = json.dumps(config)
    found = errors(changed)
    says = "reacts to marks on priority 3, and queue 3 has none"
    assert any(says in what for what in found), found
