"""Which device an act is for, what it calls the port, and what is sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.heal.fleet_devices import open_devices
from netloom.app.watch.devices.inventory import open_inventory
from netloom.drivers.writers.sonic import SonicWriter
from netloom.errors import LabError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.devices import (
    ChangedSetting,
    SettingChange,
    parse_settings,
    render_settings,
)
from netloom.ops.heal.plan import Act
from netloom.ops.observe.devices import DeviceAccess
from netloom.ops.observe.naming import Naming
from netloom.ops.plant import Cable, Device, Plant, Port

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.app.heal.fleet_devices import FleetDevices

# One host under a leaf, one spine above it; the leaf's port 3 leads up to the spine's port 1.
PLANT = Plant(
    devices=(
        Device(name="nic:0", role="host", tier=0, num_ports=1),
        Device(name="leaf:0", role="switch", tier=1, num_ports=4),
        Device(name="spine:0", role="switch", tier=2, num_ports=4),
    ),
    cables=(
        Cable(number=0, lower=Port(0, 1), upper=Port(1, 1), rate_bps=1.0),
        Cable(number=1, lower=Port(1, 3), upper=Port(2, 1), rate_bps=1.0),
    ),
)


PATCH = '[{"op":"add","path":"/PORT/Ethernet16/admin_status","value":"down"}]'


def fleet(folder: Path, *devices: dict[str, Any]) -> FleetDevices:
    path = folder / "fleet.json"
    path.write_text(json.dumps({"devices": devices}), encoding="utf-8")
    return open_devices(path, PLANT, Naming())


def device(kind: str, part: str, address: str = "ssh://admin@leaf01", **more: Any) -> Any:
    return {"name": part, "part": part, "kind": kind, "address": address, "write": True, **more}


def changed(found: FleetDevices, verb: Any, part: str) -> list[tuple[str, str, str]]:
    act = Act(verb=verb, part=PartId.parse(part))
    return [(one.name, change.kind, change.label) for one, change in found.changes_of(act)]


def test_a_cable_is_taken_out_of_use_at_every_end_that_may_be_changed(tmp_path: Path) -> None:
    found = fleet(
        tmp_path, device("sonic-ssh", "leaf:0"), device("eapi", "spine:0", "https://spine01")
    )
    # SONiC's port 3 has lanes 16 to 23. EOS' port may be Ethernet1 or Ethernet1/1: no guess.
    assert changed(found, "drain", "cable:1") == [("leaf:0", "port", "Ethernet16")]
    found.seen["spine:0[1]"] = "Ethernet1/1"
    assert changed(found, "drain", "cable:1")[0] == ("spine:0", "port", "Ethernet1/1")
    assert changed(found, "drain", "spine:0") == [("spine:0", "switch", "")]
    assert changed(found, "cordon", "node:0") == []


def test_what_a_device_told_of_its_ports_goes_before_its_scheme(tmp_path: Path) -> None:
    found = fleet(tmp_path, device("eapi", "spine:0", "https://spine01"))
    found.seen["spine:0[1]"] = "Ethernet1"
    assert changed(found, "shut", "cable:1") == [("spine:0", "port", "Ethernet1")]
    listed = fleet(tmp_path, device("eapi", "spine:0", "https://spine01", ports={"Ethernet9/1": 1}))
    listed.seen["spine:0[1]"] = "Ethernet1"
    assert changed(listed, "shut", "cable:1") == [("spine:0", "port", "Ethernet9/1")]


def test_a_session_is_shut_where_that_can_be_and_else_the_port(tmp_path: Path) -> None:
    found = fleet(tmp_path, device("frr", "leaf:0"), device("sonic-ssh", "leaf:0"))
    assert changed(found, "drain", "cable:1") == [("leaf:0", "session", "swp3")]
    assert changed(found, "shut", "cable:1") == [("leaf:0", "port", "Ethernet16")]


def test_nodes_go_by_a_list_or_by_their_numbers(tmp_path: Path) -> None:
    listed = device("slurm", "head", "local", ports={"a17": "node:3"})
    found = fleet(tmp_path, {**listed, "part": None})
    assert changed(found, "cordon", "node:3") == [("head", "node", "a17")]
    assert changed(found, "cordon", "node:4") == []
    (one,) = found.devices
    assert found.node_of(one, "a17") == PartId.node(3)
    numbered = fleet(tmp_path, device("slurm", "head", "local", labels="gpu{node}"))
    assert changed(numbered, "cordon", "node:4") == [("head", "node", "gpu4")]
    (one,) = numbered.devices
    assert numbered.node_of(one, "gpu12") == PartId.node(12)
    assert [numbered.node_of(one, name) for name in ("gpu", "cpu12", "gpux")] == [None] * 3


def test_devices_are_read_only_unless_the_inventory_says_otherwise(tmp_path: Path) -> None:
    assert fleet(tmp_path, {**device("sonic-ssh", "leaf:0"), "write": False}).devices == ()
    with pytest.raises(SpecError, match="changes no device"):
        fleet(tmp_path, device("snmp", "leaf:0", "10.0.0.1"))


def test_a_line_that_only_writes_is_asked_nothing_by_a_watch(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    rows = [device("sonic-ssh", "leaf:0")]
    path.write_text(json.dumps({"devices": rows}), encoding="utf-8")

    class Context:
        naming = Naming()

        class designed:  # noqa: N801
            plant = PLANT

    opened = open_inventory(path, Context())  # type: ignore[arg-type]
    assert [one.source for one in opened.collectors] == ["wiring"]


def test_the_requests_of_sonic_are_those_that_a_person_would_type() -> None:
    writer = SonicWriter(access=DeviceAccess(name="leaf01", address="ssh://admin@leaf01"))
    shown = writer.plan(SettingChange(kind="port", label="Ethernet16"), "netloom-1")
    head = "leaf01: ssh -o BatchMode=yes -o ConnectTimeout=5 -l admin leaf01 -- "
    assert [line.removeprefix(head) for line in shown] == [
        "'sudo -n config checkpoint netloom-1'",
        "'sudo -n systemd-run --unit=netloom-1 --on-active=120s config rollback netloom-1'",
        f"'sudo -n config apply-patch /dev/stdin' <<< '{PATCH}'",
        "'sudo -n systemctl stop netloom-1.timer'",
        "'sudo -n config delete-checkpoint netloom-1'",
    ]
    with pytest.raises(LabError):
        writer.plan(SettingChange(kind="port", label="Ethernet16/../../x"), "netloom-1")


SETTINGS = st.builds(
    ChangedSetting,
    device=st.text(max_size=20),
    kind=st.text(max_size=20),
    change=st.builds(
        SettingChange,
        kind=st.sampled_from(["port", "session", "switch", "node"]),
        label=st.text(max_size=20),
        in_use=st.booleans(),
    ),
    was_in_use=st.booleans(),
)


@given(st.from_regex(r"[a-z0-9][a-z0-9-]{0,40}", fullmatch=True), st.lists(SETTINGS, max_size=4))
def test_what_undoing_needs_is_read_as_it_was_written(
    name: str, settings: list[ChangedSetting]
) -> None:
    assert parse_settings(render_settings(name, settings)) == (name, tuple(settings))


@given(
    st.text(max_size=80)
    | st.sampled_from(
        ['{"name": "a", "settings": [{"what": "port"}]}', '{"name": "; reboot", "settings": []}']
    )
)
def test_a_damaged_token_is_an_error_and_no_crash(text: str) -> None:
    with pytest.raises(LabError):
        parse_settings(text)
