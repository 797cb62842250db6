"""Real OpenSM and infiniband-diags on ibsim: every fault is seen, and gone when cleared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.adapters import ibdiags
from netloom.adapters.lab.infiniband import subnets_of
from netloom.adapters.lab.infiniband_faults import client_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

pytestmark = pytest.mark.lab

# 16 hosts on leaves of 4; leaves of 8 ports have 4 uplinks, 2 to each of 2 spines.
HOSTS, SWITCHES, CABLES = 16, 6, 32


@pytest.fixture
def lab(infiniband_lab: Any) -> Iterator[Any]:
    yield infiniband_lab
    infiniband_lab.fault("clear")


@pytest.fixture
def client(infiniband_lab: Any) -> ibdiags.Client:
    """The view from a host without a subnet manager."""
    place = infiniband_lab.place
    (network,) = subnets_of(place, place.read(), place.read_plant())
    return client_of(place, network, host="nic:2")


@pytest.fixture
def cable(infiniband_lab: Any) -> Any:
    """A cable between leaf:3 and a spine."""
    return infiniband_lab.place.read_plant().find("leaf:3")[-1]


def test_a_lab_comes_up_whole_with_the_engine_asked_for(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    status = lab.status(capsys)
    assert status["hosts"] == {"up": HOSTS, "of": HOSTS}
    assert status["switches"] == {"up": SWITCHES, "of": SWITCHES}
    assert status["cables"] == {"up": CABLES, "of": CABLES}
    assert [manager["state"] for manager in status["managers"]] == ["master", "standby"]
    assert status["managers"][0]["engine"] == "updn"
    assert not status["managers"][0]["fell_back"]


def test_an_unlinked_cable_is_routed_around_and_comes_back(
    lab: Any, cable: Any, client: ibdiags.Client, until: Callable[..., bool]
) -> None:
    def ports_used() -> set[int]:
        rows = ibdiags.ports(client)
        lid = next(row.lid for row in rows if row.name == "leaf:3")
        return set(ibdiags.table(client, lid).ports.values())

    assert cable.lower.number in ports_used()
    lab.fault("unlink", f"cable:{cable.number}")
    assert until(lambda: cable.lower.number not in ports_used())
    lab.fault("relink", f"cable:{cable.number}")
    assert until(lambda: cable.lower.number in ports_used())


def test_symbol_errors_are_counted_at_both_ends(
    lab: Any, cable: Any, client: ibdiags.Client
) -> None:
    lab.fault("symbol-errors", f"cable:{cable.number}", "--count", "1234")
    found = {
        (row.name, row.port)
        for row in ibdiags.errors(client)
        if row.counters.get("SymbolErrorCounter") == 1234
    }
    plant = lab.place.read_plant()
    assert found == {(plant.devices[p.device].name, p.number) for p in cable.ends}
    lab.fault("clear")
    assert not any("SymbolErrorCounter" in row.counters for row in ibdiags.errors(client))


def test_a_slow_link_could_be_faster(
    lab: Any, cable: Any, client: ibdiags.Client, until: Callable[..., bool]
) -> None:
    def slow() -> set[tuple[str, int]]:
        return {
            (row.name, row.port) for row in ibdiags.links(client) if "53.125 Gbps" in row.could_be
        }

    lab.fault("slow-link", f"cable:{cable.number}", "--factor", "2")
    assert until(lambda: ("leaf:3", cable.lower.number) in slow())
    assert len(slow()) == 2
    lab.fault("clear")
    assert until(lambda: not slow())


def test_a_miswired_cable_has_another_peer(
    lab: Any, client: ibdiags.Client, until: Callable[..., bool]
) -> None:
    plant = lab.place.read_plant()
    one, other = plant.find("leaf:2")[-1], plant.find("leaf:3")[-1]

    def peer_of_leaf_2() -> tuple[str | None, int | None]:
        rows = ibdiags.ports(client)
        row = next(r for r in rows if (r.name, r.port) == ("leaf:2", one.lower.number))
        return row.peer_name, row.peer_port

    as_built = (plant.devices[one.upper.device].name, one.upper.number)
    crossed = (plant.devices[other.upper.device].name, other.upper.number)
    assert peer_of_leaf_2() == as_built
    lab.fault("miswire", f"cable:{one.number}", f"cable:{other.number}")
    assert until(lambda: peer_of_leaf_2() == crossed)
    lab.fault("clear")
    assert until(lambda: peer_of_leaf_2() == as_built)


def test_a_dead_leaf_takes_its_hosts_along(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lab.fault("dead-switch", "leaf:3")
    status = lab.status(capsys)
    assert status["hosts"]["up"] == HOSTS - 4
    assert status["switches"]["up"] == SWITCHES - 1
    assert status["cables"]["up"] == CABLES - 8
    lab.fault("clear")
    assert lab.status(capsys)["cables"]["up"] == CABLES


def test_a_cable_that_loses_datagrams_counts_errors(
    lab: Any, client: ibdiags.Client, until: Callable[..., bool]
) -> None:
    lab.fault("error-rate", "nic:13", "--share", "0.5")

    def received_errors() -> int:
        rows = [row for row in ibdiags.errors(client) if row.name in {"nic:13", "leaf:3"}]
        return sum(row.counters.get("PortRcvErrors", 0) for row in rows)

    assert until(lambda: received_errors() > 0)


def test_a_standby_takes_over_from_a_dead_manager(
    lab: Any, capsys: pytest.CaptureFixture[str], until: Callable[..., bool]
) -> None:
    lab.fault("dead-sm")
    assert until(lambda: lab.status(capsys)["masters"] == ["opensm-0.1"])
    lab.fault("clear")

    def states() -> list[str]:
        return sorted(one["state"] for one in lab.status(capsys)["managers"])

    assert until(lambda: states() == ["master", "standby"]), states()


def test_a_flap_is_over_when_it_is_over(
    lab: Any, cable: Any, client: ibdiags.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.fault("flap", f"cable:{cable.number}", "--count", "2")
    status = lab.status(capsys)
    assert (status["cables"]["up"], status["faults"]) == (CABLES, [])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("silent-drop", "leaf:0"), "needs a RoCE lab"),
        (("unlink", "leaf:9"), "leaf:0 to leaf:3"),
        (("clear", "99"), "no fault 99"),
        (("relink", "leaf:0"), "no such unlink"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_status_2(
    lab: Any, arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.run("fault", *arguments) == 2
    assert says in capsys.readouterr().err
    assert lab.status(capsys)["faults"] == []
