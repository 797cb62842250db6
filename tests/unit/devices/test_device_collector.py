"""Devices are asked side by side; one that hangs or fails is left alone and hurts no other."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.watch.devices.collector import DeviceCollector
from netloom.app.watch.devices.health import RestPolicy
from netloom.app.watch.devices.poller import Poller
from netloom.errors import LabError
from netloom.ops.observe.devices import DeviceReport, PortValue, printable
from netloom.ops.observe.naming import Naming, parse_scheme
from netloom.ops.observe.port_names import PortNames

if TYPE_CHECKING:
    from collections.abc import Callable

SONIC = PortNames(name="leaf01", part="leaf:0", scheme=parse_scheme("sonic:8"))


def device(
    look: Callable[[], DeviceReport], poller: Poller, name: str = "x", deadline_s: float = 5.0
) -> DeviceCollector:
    return DeviceCollector(
        source=f"fake {name}", look=look, names=SONIC, deadline_s=deadline_s, poller=poller
    )


def report(*values: PortValue) -> DeviceReport:
    return DeviceReport(values=values)


def test_ports_are_called_as_in_the_design() -> None:
    def look() -> DeviceReport:
        return DeviceReport(
            values=(
                PortValue("Ethernet8", "link_up", 1.0),
                PortValue("Ethernet8", "queue_depth_bytes", 7.0, "queue:3"),
                PortValue("PortChannel1", "link_up", 1.0),
                PortValue("bad\x1b[2J\n", "link_up", 1.0),
                PortValue("", "temperature_c", 40.0),
                PortValue("Ethernet0", "receive_errors", float("nan")),
            )
        )

    reading = device(look, Poller()).read(100.0, "")
    assert reading.is_whole
    assert {(one.part, one.value) for one in reading.observations} == {
        ("leaf:0[2]", 1.0),
        ("leaf:0[2]/queue:3", 7.0),
        ("leaf:0/PortChannel1", 1.0),
        ("leaf:0/bad?[2J?", 1.0),
        ("leaf:0", 40.0),
    }


def test_ports_that_a_file_names_go_before_those_of_the_scheme() -> None:
    names = PortNames(
        name="node01",
        ports={"eth2": "nic:5", "eth3": "nic:6[1]", "eth4": 9},
        naming=Naming(devices={"node01": "host"}, ports={("node01", "etp1"): 3}),
        scheme=parse_scheme("sonic:8"),
    )
    labels = ("eth2", "eth3", "eth4", "etp1", "Ethernet0")
    assert [names.of(label) for label in labels] == [
        "nic:5[1]",
        "nic:6[1]",
        "host[9]",
        "host[3]",
        "host[1]",
    ]
    assert names.of("lo") == "host/lo"
    assert names.port("lo") is None


def test_all_that_are_due_are_asked_at_once() -> None:
    barrier = threading.Barrier(8, timeout=10)  # breaks unless all eight look at the same time

    def look() -> DeviceReport:
        barrier.wait()
        return report(PortValue("Ethernet0", "link_up", 1.0))

    poller = Poller()
    members = [device(look, poller, str(n)) for n in range(8)]
    for round_s in (10.0, 20.0):
        readings = [one.read(round_s + n / 100, "") for n, one in enumerate(members)]
        assert [one.error for one in readings] == [""] * 8


def test_one_that_hangs_is_given_up_and_asked_once_at_a_time() -> None:
    go, num_asked = threading.Event(), 0

    def hangs() -> DeviceReport:
        nonlocal num_asked
        num_asked += 1
        if num_asked == 1:
            go.wait(30)
            return report(PortValue("Ethernet0", "link_up", 0.0))
        return report(PortValue("Ethernet0", "link_up", 1.0))

    poller = Poller()
    slow = device(hangs, poller, "slow", deadline_s=0.1)
    quick = device(lambda: report(PortValue("Ethernet0", "link_up", 1.0)), poller, "quick")
    begun_s = time.monotonic()
    assert "no whole answer within 0.1 s" in slow.read(100.0, "").error
    assert time.monotonic() - begun_s < 10
    assert not quick.read(100.1, "").error
    assert slow.health.state == "failing"
    assert "no whole answer" in slow.read(200.0, "").error  # its rest is over, its look is not
    assert num_asked == 1
    go.set()
    now_s, reading = 1000.0, slow.read(1000.0, "")
    while reading.error and now_s < 100_000:
        time.sleep(0.01)
        now_s += 1000
        reading = slow.read(now_s, "")
    # The late answer said 0: it is of the past, and was thrown away.
    assert [one.value for one in reading.observations] == [1.0]
    assert (slow.health.state, slow.health.num_failures) == ("up", 0)


def test_one_that_fails_rests_longer_each_time_and_then_is_asked_again() -> None:
    asked: list[float] = []
    now_s = 0.0

    def fails() -> DeviceReport:
        asked.append(now_s)
        message = "refused\x1b]0;title\x07"
        raise LabError(message)

    one = device(fails, Poller())
    for tick in range(2000):
        now_s = float(tick)
        reading = one.read(now_s, "")
        assert reading.error
        assert reading.error.isprintable()
    gaps = [after - before for before, after in pairwise(asked)]
    assert gaps == sorted(gaps)
    assert gaps[0] <= 5
    assert 0.75 * 300 <= gaps[-1] <= 301
    assert len(asked) < 15


@given(st.text(max_size=20), st.integers(min_value=1, max_value=10_000))
def test_a_rest_is_never_longer_than_allowed(name: str, num_failures: int) -> None:
    policy = RestPolicy(first_s=2.0, most_s=60.0)
    longest_s = min(60.0, 2.0 * 2.0 ** min(num_failures - 1, 30))
    assert 0.75 * longest_s <= policy.rest_s(name, num_failures) <= longest_s


def test_a_bug_in_a_driver_is_a_failed_source_and_not_the_end_of_the_watch() -> None:
    def broken() -> DeviceReport:
        values: dict[str, float] = {}
        return report(PortValue("Ethernet0", "link_up", values["gone"]))

    one = device(broken, Poller())
    assert "KeyError" in one.read(1.0, "").error


def test_an_answer_that_is_not_whole_is_kept_and_said() -> None:
    def partial() -> DeviceReport:
        values = (PortValue("Ethernet0", "link_up", 1.0),)
        return DeviceReport(values=values, missing="STATE_DB did not answer")

    one = device(partial, Poller())
    reading = one.read(1.0, "")
    assert (reading.is_whole, reading.error) == (False, "STATE_DB did not answer")
    assert len(reading.observations) == 1
    assert one.health.state == "partial"


@given(st.text())
def test_what_is_printed_moves_no_cursor(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) <= 80


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\u202e", "\x00"])
def test_control_characters_are_replaced(text: str) -> None:
    assert "?" in printable(text)
