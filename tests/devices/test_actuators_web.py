"""EOS, NVUE and UFM changed over a real socket, and killed at every request.

Not recorded from a device: see ``web_switches``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from web_switches import WebSwitch, web_switch

from netloom.app.heal.fleet_actuator import change_device
from netloom.drivers.writers.eos import EosWriter
from netloom.drivers.writers.infiniband import UfmWriter
from netloom.drivers.writers.nvue import NvueWriter
from netloom.errors import LabError
from netloom.ops.heal.devices import SettingChange
from netloom.ops.observe.devices import DeviceAccess, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.heal.devices import DeviceWriter

GUID = "b8cef60300a1b2c3"
EOS = {"Ethernet2/1": "connected", "maintenance": "active"}
NVUE = {"swp2": "up"}
PORTS = {"eapi": "Ethernet2/1", "nvue": "swp2"}
DOWN = {"eapi": "disabled", "nvue": "down"}
UP = {"eapi": "connected", "nvue": "up"}


def access(address: str, name: str = "leaf02") -> DeviceAccess:
    return DeviceAccess(name=name, address=address, user="admin", secret=Secret("s3cret"))


@pytest.fixture(params=["eapi", "nvue"])
def switch(request: pytest.FixtureRequest) -> Iterator[tuple[str, WebSwitch, DeviceWriter]]:
    with web_switch(EOS if request.param == "eapi" else NVUE) as (one, address):
        kind = EosWriter if request.param == "eapi" else NvueWriter
        yield request.param, one, kind(access=access(address))


def test_a_port_is_shut_on_trial_read_back_kept_and_opened_again(
    switch: tuple[str, WebSwitch, DeviceWriter],
) -> None:
    kind, device, writer = switch
    shut = SettingChange(kind="port", label=PORTS[kind])
    assert writer.state(shut) == "in-use"
    writer.apply(shut, "netloom-1")
    assert device.settings[shut.label] == DOWN[kind]
    assert writer.state(shut) == "out-of-use"
    assert writer.state(shut, "netloom-1") == "unconfirmed"
    writer.confirm(shut, "netloom-1")
    assert writer.state(shut, "netloom-1") == "out-of-use"
    device.run_out()
    assert device.settings[shut.label] == DOWN[kind]  # it was confirmed
    change_device(writer, shut.with_use(in_use=True), "netloom-2")
    assert device.settings[shut.label] == UP[kind]


def test_what_is_not_confirmed_goes_back(switch: tuple[str, WebSwitch, DeviceWriter]) -> None:
    kind, device, writer = switch
    shut = SettingChange(kind="port", label=PORTS[kind])
    writer.apply(shut, "netloom-1")
    device.run_out()
    assert writer.state(shut, "netloom-1") == "in-use"
    writer.apply(shut, "netloom-2")
    writer.abandon(shut, "netloom-2")
    assert device.settings[shut.label] == UP[kind]


def test_what_the_switch_refuses_changes_nothing(
    switch: tuple[str, WebSwitch, DeviceWriter],
) -> None:
    kind, device, writer = switch
    device.refuses = "shutdown" if kind == "eapi" else "ays_fail"
    with pytest.raises(LabError):
        change_device(writer, SettingChange(kind="port", label=PORTS[kind]), "netloom-1")
    assert device.settings[PORTS[kind]] == UP[kind]
    with pytest.raises(LabError):
        writer.state(SettingChange(kind="port", label="Ethernet999/1; reload"))


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_request_a_switch_has_the_old_or_the_new(
    switch: tuple[str, WebSwitch, DeviceWriter], when: str
) -> None:
    kind, device, writer = switch
    shut = SettingChange(kind="port", label=PORTS[kind])
    request, num_killed = 0, 0
    while True:
        request += 1
        name = f"netloom-{when}-{request}"
        device.killer.arm(when, request)
        child = os.fork()
        if child == 0:
            try:
                change_device(writer, shut, name)
            finally:
                os._exit(0)
        device.killer.pid = child
        _, status = os.waitpid(child, 0)
        device.killer.arm("", 0)
        assert device.settings[shut.label] in (UP[kind], DOWN[kind])
        told = writer.state(shut, name)
        assert (told == "in-use") == (device.settings[shut.label] == UP[kind])
        writer.abandon(shut, name)
        if told == "unconfirmed":  # left alone, it is as before; so it is when it is given up
            assert device.settings[shut.label] == UP[kind]
        if device.settings[shut.label] != UP[kind]:
            change_device(writer, shut.with_use(in_use=True), f"{name}-undo")
        assert device.settings[shut.label] == UP[kind]
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            break
        num_killed += 1
    assert num_killed >= (3 if kind == "eapi" else 7)


def test_a_switch_is_taken_out_of_traffic_and_back() -> None:
    with web_switch(EOS) as (device, address):
        writer = EosWriter(access=access(address))
        drain = SettingChange(kind="switch")
        change_device(writer, drain, "netloom-1")
        assert device.settings["maintenance"] == "underMaintenance"
        assert writer.state(drain) == "out-of-use"
        change_device(writer, drain.with_use(in_use=True), "netloom-2")
        assert device.settings["maintenance"] == "active"


def test_ufm_isolates_a_port_and_takes_it_back() -> None:
    with web_switch({}) as (device, address):
        writer = UfmWriter(access=access(address, name=f"0x{GUID.upper()}"))
        shut = SettingChange(kind="port", label="7")
        assert writer.state(shut) == "in-use"
        change_device(writer, shut, "netloom-1")
        assert device.settings == {f"{GUID}_7": "UNHEALTHY"}
        assert writer.state(shut) == "out-of-use"
        change_device(writer, shut.with_use(in_use=True), "netloom-2")
        assert writer.state(shut) == "in-use"
        with pytest.raises(LabError, match="no GUID"):
            UfmWriter(access=access(address)).state(shut)


def test_requests_are_shown_exactly_and_without_secrets() -> None:
    leaf = access("https://leaf02")
    shut = SettingChange(kind="port", label="Ethernet2/1")
    first, second = EosWriter(access=leaf).plan(shut, "netloom-1")
    assert first.startswith("leaf02: POST https://leaf02/command-api ")
    assert '"configure session netloom-1", "interface Ethernet2/1", "shutdown"' in first
    assert '"commit timer 00:02:00"' in first
    assert '"configure session netloom-1 commit"' in second
    lines = NvueWriter(access=leaf).plan(SettingChange(kind="port", label="swp2"), "x")
    assert lines[0] == "leaf02: POST https://leaf02/nvue_v1/revision {}"
    assert lines[1].endswith('swp2?rev=REVISION {"link": {"state": {"down": {}}}}')
    assert "s3cret" not in "".join((first, second, *lines))
