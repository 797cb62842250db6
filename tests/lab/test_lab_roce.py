"""Real FRR in namespaces: packets are lost, slowed and led astray as the faults say."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest
from labs_under_test import roce_lab, wait_until

from netloom.app.lab.roce import end_of
from netloom.drivers import frr, netns
from netloom.drivers.programs import run
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import expected_ways, underlay_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labs_under_test import LabUnderTest

pytestmark = pytest.mark.lab

# 8 hosts on leaves of 2; leaves of 4 ports have 2 uplinks, one to each of 2 spines.
HOSTS, SWITCHES, CABLES = 8, 6, 16
# Counts until it is told that all are sent, then until a second brings no more.
RECEIVER: Final = """
import select, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
s.bind(("0.0.0.0", 4791))
print("ready", flush=True)
n, waited = 0, [s, sys.stdin]
while ready := select.select(waited, [], [], None if sys.stdin in waited else 1.0)[0]:
    if s in ready:
        s.recv(9000)
        n += 1
    elif sys.stdin in ready:
        waited = [s]
print(n)
"""
SENDER: Final = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[2])):
    s.sendto(bytes(int(sys.argv[3])), (sys.argv[1], 4791))
    time.sleep(0.001)
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with roce_lab(tmp_path_factory.mktemp("roce")) as made:
        yield made


@pytest.fixture
def lab(shared: LabUnderTest) -> Iterator[LabUnderTest]:
    assert wait_until(lambda: _converged(shared))
    yield shared
    shared.fault("clear")


def _space(lab: LabUnderTest, device: str) -> str:
    return namespace_of(lab.place.mark, device)


def _converged(lab: LabUnderTest) -> bool:
    """Return whether every switch forwards over all of its shortest ways."""
    plant = lab.place.read_plant()
    underlay = underlay_of(plant)
    wanted = expected_ways(plant, underlay)
    for router in underlay.routers:
        held = {r.prefix: r.interfaces for r in frr.fib(_space(lab, router.name))}
        if any(held.get(prefix) != ways for prefix, ways in wanted[router.device].items()):
            return False
    return True


def received(lab: LabUnderTest, *, count: int = 200, size_bytes: int = 100) -> int:
    """Return how many datagrams of nic:0 reach nic:7, on the last leaf."""
    address = str(underlay_of(lab.place.read_plant()).host_links[7].host_address.ip)
    into = netns.exec_argv(_space(lab, "nic:7"), [sys.executable, "-c", RECEIVER])
    with subprocess.Popen(  # noqa: S603  (our own arguments)
        into, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as receiver:
        assert receiver.stdin is not None
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        numbers = [address, str(count), str(size_bytes)]
        run(netns.exec_argv(_space(lab, "nic:0"), [sys.executable, "-c", SENDER, *numbers]))
        receiver.stdin.close()
        return int(receiver.stdout.readline())


def test_a_lab_comes_up_whole_and_carries_packets(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wait_until(lambda: lab.status(capsys)["sessions"]["up"] == 2 * 8)
    status = lab.status(capsys)
    assert status["hosts"] == {"up": HOSTS, "of": HOSTS}
    assert status["switches"] == {"up": SWITCHES, "of": SWITCHES}
    assert status["cables"] == {"up": CABLES, "of": CABLES}
    assert (status["divergent"], status["doubts"]) == ([], [])
    assert wait_until(lambda: received(lab) == 200)


def test_a_silent_drop_takes_packets_while_the_link_stays_up(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.fault("silent-drop", "leaf:3->nic:7")
    assert received(lab) == 0
    assert lab.status(capsys)["cables"]["up"] == CABLES
    lab.fault("clear")
    # The kernel asks for the neighbour's address again only after a while.
    assert wait_until(lambda: received(lab) >= 200)


def test_large_packets_only_can_be_lost(lab: LabUnderTest) -> None:
    lab.fault("silent-drop", "leaf:3->nic:7", "--larger-than", "1000")
    assert wait_until(lambda: received(lab, size_bytes=100) == 200)
    assert received(lab, size_bytes=2000) == 0


def test_an_error_rate_loses_its_share(lab: LabUnderTest) -> None:
    lab.fault("error-rate", "leaf:3->nic:7", "--share", "0.3")
    # 1,000 packets, each lost with 0.3: 700 arrive, give or take 14.5; five of those are 72.
    assert received(lab, count=1000) == pytest.approx(700, abs=72)


def test_a_silent_drop_in_the_fabric_is_routed_around(lab: LabUnderTest) -> None:
    leaf = _space(lab, "leaf:3")
    up = [peer.name for peer in frr.peers(leaf)]
    lab.fault("silent-drop", "link:leaf:3-spine:0")

    def ways() -> set[tuple[str, ...]]:
        return {route.interfaces for route in frr.fib(leaf) if route.protocol == "bgp"}

    # BFD misses three packets of 300 ms, and BGP drops the session.
    assert len(up) == 2
    assert wait_until(lambda: len(ways()) == 1 and len(next(iter(ways()))) == 1)
    assert wait_until(lambda: received(lab) == 200)


def test_a_slow_link_sends_at_its_share(lab: LabUnderTest) -> None:
    plant = lab.place.read_plant()
    (cable,) = plant.find("nic:7")

    def rate() -> str:
        end = end_of(lab.place, plant, cable.upper)
        return run(["tc", "-n", end.namespace, "qdisc", "show", "dev", end.interface])

    assert "rate 100Mbit" in rate()
    lab.fault("slow-link", "nic:7", "--factor", "4")
    assert "rate 25Mbit" in rate()
    lab.fault("clear")
    assert "rate 100Mbit" in rate()


def test_an_unlinked_cable_and_a_dead_switch_overlap(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.fault("unlink", "link:leaf:0-spine:1")
    lab.fault("dead-switch", "spine:1")
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES - 4)
    number = lab.place.read().faults[-1].number
    lab.fault("clear", str(number))
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES - 1)
    lab.fault("relink", "link:leaf:0-spine:1")
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES)


def test_swapped_host_cables_leave_both_hosts_without_their_network(lab: LabUnderTest) -> None:
    plant = lab.place.read_plant()
    one, other = plant.find("nic:5")[0], plant.find("nic:7")[0]
    lab.fault("miswire", f"cable:{one.number}", f"cable:{other.number}")
    assert received(lab) == 0
    lab.fault("clear")
    assert wait_until(lambda: received(lab) == 200)


def test_a_flap_leaves_kernel_and_frr_agreeing(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.fault("flap", "link:leaf:3-spine:0", "--count", "2")
    assert wait_until(lambda: _converged(lab))
    assert wait_until(lambda: lab.status(capsys)["divergent"] == [])


@pytest.mark.parametrize("kind", ["symbol-errors", "dead-sm"])
def test_faults_of_infiniband_are_refused(
    lab: LabUnderTest, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.run("fault", kind, "nic:0") == 2
    assert "needs an InfiniBand lab" in capsys.readouterr().err


def test_the_configuration_is_one_that_vtysh_accepts(lab: LabUnderTest) -> None:
    frr.check_configuration(frr.CONFIGURATION / _space(lab, "leaf:0") / "frr.conf")
