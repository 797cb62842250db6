"""sFlow datagrams over a real socket."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from devices_under_test import free_port, inventory, watched
from labs_under_test import write_scenario

from netloom.drivers.devices.sflow import listen
from netloom.errors import LabError, SpecError
from netloom.formats.sflow.datagram import parse_datagram
from netloom.ops.observe.devices import DeviceAccess, DeviceReport, PortValue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def datagram(agent: str = "10.0.0.11", *, is_expanded: bool = False, errors: int = 7) -> bytes:
    """Return a datagram as the specification lays it out: a flow sample, then counters."""
    row = struct.pack(
        ">IIQIIQIIIIIIQIIIIII",
        *(12, 6, 400_000_000_000, 1, 3),
        *(1000, 10, 2, 1, 5, errors, 0xFFFF_FFFF),
        *(2000, 20, 0xFFFF_FFFF, 0xFFFF_FFFF, 6, 0, 0),
    )
    record = struct.pack(">II", 1, len(row)) + row
    other = struct.pack(">II", 2, 4) + b"abcd"  # ethernet_counters, cut short
    source = struct.pack(">II", 0, 12) if is_expanded else struct.pack(">I", 12)
    body = struct.pack(">I", 9) + source + struct.pack(">I", 2) + other + record
    flow = struct.pack(">II", 1, 3) + b"xyz\0"
    counters = struct.pack(">II", 4 if is_expanded else 2, len(body)) + body
    head = struct.pack(">II", 5, 1) + socket.inet_aton(agent) + struct.pack(">IIII", 0, 1, 99, 2)
    return head + flow + counters


WANTED = {
    PortValue("ifindex12", "admin_up", 1),
    PortValue("ifindex12", "link_up", 1),
    PortValue("ifindex12", "rate_bps", 400e9),
    PortValue("ifindex12", "received_bytes", 1000),
    PortValue("ifindex12", "receive_discards", 5),
    PortValue("ifindex12", "receive_errors", 7),
    PortValue("ifindex12", "received_packets", 13),
    PortValue("ifindex12", "sent_bytes", 2000),
    PortValue("ifindex12", "send_discards", 6),
    PortValue("ifindex12", "send_errors", 0),
    PortValue("ifindex12", "sent_packets", 20),  # the other two are not known
}


@pytest.mark.parametrize("is_expanded", [False, True])
def test_counters_of_interfaces_are_read(*, is_expanded: bool) -> None:
    found = parse_datagram(datagram(is_expanded=is_expanded))
    assert found.agent == "10.0.0.11"
    assert set(found.values) == WANTED


def test_a_datagram_that_is_cut_is_refused() -> None:
    whole = datagram()
    for size in range(0, len(whole), 3):
        with pytest.raises(LabError):
            parse_datagram(whole[:size])


def heard(look: Callable[[], DeviceReport]) -> DeviceReport:
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        try:
            return look()
        except LabError:
            time.sleep(0.02)
    return look()


def test_switches_share_a_socket_and_strangers_are_passed_over() -> None:
    port = free_port(socket.SOCK_DGRAM)
    with ExitStack() as closing, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        looks = [
            listen(DeviceAccess(name="x", address=f"{agent}@127.0.0.1:{port}"), closing)
            for agent in ("10.0.0.11", "10.0.0.12")
        ]
        for data in (b"hello", datagram("10.9.9.9"), datagram("10.0.0.12")):
            sender.sendto(data, ("127.0.0.1", port))
        assert set(heard(looks[1]).values) == WANTED
        with pytest.raises(LabError, match=r"10\.0\.0\.11"):
            looks[0]()
        sender.sendto(datagram("10.0.0.11", errors=8), ("127.0.0.1", port))
        assert PortValue("ifindex12", "receive_errors", 8) in heard(looks[0]).values
    with ExitStack() as closing:  # the socket is free again
        listen(DeviceAccess(name="x", address=f"10.0.0.11@127.0.0.1:{port}"), closing)


@pytest.mark.parametrize("address", ["@127.0.0.1:6343", "10.0.0.11@127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with ExitStack() as closing, pytest.raises(SpecError):
        listen(DeviceAccess(name="x", address=address), closing)


def test_a_switch_that_sends_nothing_is_a_failing_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = write_scenario(tmp_path, "rocev2-400g", nodes=1)
    address = f"10.0.0.11@127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    device = {"name": "leaf0", "kind": "sflow", "address": address, "ports": {"ifindex12": 1}}
    status, report, log = watched(scenario, inventory(tmp_path, [device]), capsys)
    assert (status, report["failing"]) == (1, ["sflow leaf0"])
    assert "no counters from sFlow agent 10.0.0.11" in log
