"""Switches by gNMI: a real server on a socket, watched by stream and by Get."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from devices_under_test import certified, inventory, watched
from gnmi_under_test import BGP, IF, GnmiDevice, pb, serving, switch_leaves
from labs_under_test import write_scenario

from netloom.drivers.devices import gnmi
from netloom.errors import LabError, NetloomError, SpecError
from netloom.ops.observe.devices import DeviceAccess, PortValue, Secret, SeenNeighbour

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from netloom.ops.observe.devices import DeviceReport

STATE = f"{IF.format('Ethernet1/1')}/state/oper-status"


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def access(port: int, **more: Any) -> DeviceAccess:
    return DeviceAccess(name="leaf0", address=f"http://127.0.0.1:{port}", **more)


def eventually(report: Callable[[], DeviceReport], wanted: PortValue) -> None:
    """Wait until a report has a value; failures on the way are of a stream that comes back."""
    deadline_s = time.monotonic() + 20
    last: object = None
    while time.monotonic() < deadline_s:
        try:
            last = set(report().values)
        except LabError as error:
            last = error
        else:
            if wanted in last:
                return
        time.sleep(0.02)
    pytest.fail(f"{wanted} not in {last}")


def until_it_fails(report: Callable[[], DeviceReport]) -> None:
    while True:
        report()
        time.sleep(0.01)


def test_what_openconfig_says_becomes_observations(closing: ExitStack) -> None:
    with serving(GnmiDevice(switch_leaves())) as port:
        report = gnmi.subscribe(access(port), closing, sample_s=0.1)()
    port_1 = {one for one in report.values if one.port == "Ethernet1/1"}
    assert port_1 == {
        PortValue("Ethernet1/1", "link_up", 1),
        PortValue("Ethernet1/1", "admin_up", 1),
        PortValue("Ethernet1/1", "mtu_bytes", 9214),
        PortValue("Ethernet1/1", "rate_bps", 400e9),
        PortValue("Ethernet1/1", "received_bytes", 1000),
        PortValue("Ethernet1/1", "sent_bytes", 2000),
        PortValue("Ethernet1/1", "received_packets", 12),
        PortValue("Ethernet1/1", "receive_errors", 4),
        PortValue("Ethernet1/1", "send_discards", 6),
        PortValue("Ethernet1/1", "pause_frames_received", 7),
        PortValue("Ethernet1/1", "bgp_up", 0),
        PortValue("Ethernet1/1", "optic_receive_power_dbm", -1.25, "lane:1"),
        PortValue("Ethernet1/1", "optic_bias_a", 6.75e-3, "lane:1"),
        PortValue("Ethernet1/1", "optic_temperature_c", 40.5),
        PortValue("Ethernet1/1", "pre_fec_error_rate", 1e-9),
        PortValue("Ethernet1/1", "queue_packets", 70, "queue:3"),
        PortValue("Ethernet1/1", "queue_drops", 8, "queue:3"),
    }
    # What is down has no rate, whatever it could run at; a fan is no optic.
    down = {one.metric: one.value for one in report.values if one.port == "Ethernet2/1"}
    assert (down["link_up"], "rate_bps" in down) == (0, False)
    assert {one.port for one in report.values} == {"Ethernet1/1", "Ethernet2/1"}
    assert report.neighbours == [SeenNeighbour("Ethernet1/1", "spine1", "Ethernet3/1")]


def test_states_come_when_they_change_and_counters_by_the_clock(closing: ExitStack) -> None:
    device = GnmiDevice(switch_leaves())
    with serving(device) as port:
        report = gnmi.subscribe(access(port), closing, sample_s=0.3)
        assert PortValue("Ethernet1/1", "link_up", 1) in report().values
        device.change(STATE, "DOWN")
        eventually(report, PortValue("Ethernet1/1", "link_up", 0))
        device.change(BGP, "ESTABLISHED")
        eventually(report, PortValue("Ethernet1/1", "bgp_up", 1))
        device.leaves[f"{IF.format('Ethernet1/1')}/state/counters"] = {"in-errors": "99"}
        eventually(report, PortValue("Ethernet1/1", "receive_errors", 99))
    modes = device.modes[0]
    assert modes["interfaces/interface/state/oper-status"] == "ON_CHANGE"
    assert modes["interfaces/interface/state/counters"] == "SAMPLE"


def test_a_stream_that_breaks_is_told_and_comes_back(closing: ExitStack) -> None:
    device = GnmiDevice(switch_leaves())
    with serving(device) as port:
        report = gnmi.subscribe(access(port), closing, sample_s=0.2)
        report()
        device.drop()
        with pytest.raises(LabError, match="UNAVAILABLE"):
            until_it_fails(report)
        device.leaves[STATE] = "DOWN"
        eventually(report, PortValue("Ethernet1/1", "link_up", 0))
    assert len(device.modes) == 2


def test_a_device_that_falls_silent_says_nothing_of_now(closing: ExitStack) -> None:
    device = GnmiDevice({STATE: "UP"})  # nothing that is sampled: no message comes again
    with serving(device) as port:
        report = gnmi.subscribe(access(port), closing, sample_s=0.1)
        report()
        with pytest.raises(LabError, match="silent"):
            until_it_fails(report)


@pytest.mark.parametrize("refused", [{"qos", "components"}, {"lldp", "network-instances"}])
def test_what_a_device_does_not_have_costs_nothing_else(
    closing: ExitStack, refused: set[str]
) -> None:
    device = GnmiDevice(switch_leaves())
    device.refused = refused
    with serving(device) as port:
        report = gnmi.subscribe(access(port), closing, sample_s=0.2)()
    assert PortValue("Ethernet1/1", "receive_errors", 4) in report.values
    asked = {name.split("/")[0] for name in device.modes[0]}
    assert asked == {"interfaces", "components", "qos", "lldp", "network-instances"} - refused
    assert (report.neighbours is None) == ("lldp" in refused)


def test_a_device_without_on_change_is_sampled(closing: ExitStack) -> None:
    device = GnmiDevice(switch_leaves())
    device.on_change_refused = True
    with serving(device) as port:
        report = gnmi.subscribe(access(port), closing, sample_s=0.2)
        report()
        device.leaves[STATE] = "DOWN"
        eventually(report, PortValue("Ethernet1/1", "link_up", 0))
    assert set(device.modes[0].values()) == {"SAMPLE"}


def test_typed_values_say_the_same_as_json(closing: ExitStack) -> None:
    device = GnmiDevice(switch_leaves())
    device.encodings = [pb.PROTO]
    with serving(device) as port:
        found = set(gnmi.subscribe(access(port), closing, sample_s=0.1)().values)
    assert PortValue("Ethernet1/1", "mtu_bytes", 9214) in found
    assert PortValue("Ethernet1/1", "link_up", 1) in found


def test_a_switch_is_watched_by_tls_with_a_password_by_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = write_scenario(tmp_path, "rocev2-400g", nodes=1)
    device = GnmiDevice(switch_leaves())
    device.login = ("reader", "s3cret")
    with serving(device, keys=certified(tmp_path)) as port:
        line = {"name": "leaf0", "kind": "gnmi", "address": f"127.0.0.1:{port}", "part": "leaf:0"}
        fleet = inventory(
            tmp_path, [line | {"labels": "eos"}], certificate="cert.pem",
            credentials={"user": "reader", "env": "GNMI_PASSWORD"},
        )  # fmt: skip
        monkeypatch.setenv("GNMI_PASSWORD", "s3cret")
        status, report, _log = watched(scenario, fleet, capsys)
        assert (status, report["failing"]) == (0, [])
        monkeypatch.setenv("GNMI_PASSWORD", "wr0ng-one")
        status, report, log = watched(scenario, fleet, capsys)
        assert (status, report["failing"]) == (1, ["gnmi leaf0"])
        assert "UNAUTHENTICATED" in log
        assert "wr0ng-one" not in log
        fleet = inventory(tmp_path, [line], credentials={})  # certified by nobody we know
        status, _report, log = watched(scenario, fleet, capsys)
    assert (status, "UNAVAILABLE" in log) == (1, True)


@pytest.mark.parametrize(
    ("address", "said"),
    [("http://10.0.0.1:9339", "in the clear"), ("", "no address"), ("leaf0:99999", "no address")],
)
def test_what_must_not_be_is_refused(closing: ExitStack, address: str, said: str) -> None:
    wrong = DeviceAccess(name="leaf0", address=address, secret=Secret("s3cret"))
    with pytest.raises(SpecError, match=said) as caught:
        gnmi.subscribe(wrong, closing)
    assert "s3cret" not in str(caught.value)


def test_a_device_that_is_not_there_fails_within_its_deadline(closing: ExitStack) -> None:
    with serving(GnmiDevice({})) as port:
        pass
    begun_s = time.monotonic()
    with pytest.raises(NetloomError, match="UNAVAILABLE"):
        gnmi.subscribe(access(port, deadline_s=5.0), closing)()
    assert time.monotonic() - begun_s < 5


def test_databases_of_sonic_come_by_get() -> None:
    device = GnmiDevice({})
    device.tables = {
        ("CONFIG_DB", "PORT"): {"Ethernet0": {"alias": "etp1", "admin_status": "up"}},
        ("CONFIG_DB", "INTERFACE"): {"Ethernet0|10.0.0.0/31": {}, "Ethernet0": {}},
        ("APPL_DB", "PORT_TABLE"): {"Ethernet0": {"oper_status": "up", "mtu": "9100"}},
        ("APPL_DB", "LLDP_ENTRY_TABLE"): {
            "Ethernet0": {"lldp_rem_sys_name": "spine1", "lldp_rem_port_id": "etp3"}
        },
        ("COUNTERS_DB", "COUNTERS/Ethernet*"): {
            "Ethernet0": {"SAI_PORT_STAT_IF_IN_ERRORS": "4", "SAI_PORT_STAT_PFC_3_RX_PKTS": "31"}
        },
        ("COUNTERS_DB", "COUNTERS/Ethernet*/Queues"): {
            "Ethernet0:3": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "8"}
        },
        ("STATE_DB", "NEIGH_STATE_TABLE"): {"10.0.0.1": {"state": "Established"}},
    }
    with serving(device) as port:
        report = gnmi.look_at_sonic(access(port))
        del device.tables["APPL_DB", "PORT_TABLE"]
        with pytest.raises(LabError, match="NOT_FOUND"):
            gnmi.look_at_sonic(access(port))
    assert set(report.values) == {
        PortValue("Ethernet0", "link_up", 1),
        PortValue("Ethernet0", "mtu_bytes", 9100),
        PortValue("Ethernet0", "receive_errors", 4),
        PortValue("Ethernet0", "pause_frames_received", 31, "priority:3"),
        PortValue("Ethernet0", "queue_drops", 8, "queue:3"),
        PortValue("Ethernet0", "bgp_up", 1),
    }
    assert report.neighbours == [SeenNeighbour("Ethernet0", "spine1", "etp3")]
