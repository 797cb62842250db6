"""Real OpenSM and infiniband-diags on ibsim: every fault is seen, and gone when cleared."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from labs_under_test import infiniband_lab, wait_until

from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of
from netloom.drivers import ibdiags, ibpaths, opensm
from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labs_under_test import LabUnderTest

    from netloom.ops.plant import Cable

pytestmark = pytest.mark.lab

# 16 hosts on leaves of 4; leaves of 8 ports have 4 uplinks, 2 to each of 2 spines.
HOSTS, SWITCHES, CABLES = 16, 6, 32


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with infiniband_lab(tmp_path_factory.mktemp("ib")) as made:
        yield made


@pytest.fixture
def lab(
    shared: LabUnderTest, client: ibdiags.Client, capsys: pytest.CaptureFixture[str]
) -> Iterator[LabUnderTest]:
    """The lab once what was done to it before has settled."""

    def settled() -> bool:
        status = shared.status(capsys)
        engines = {one["engine"] for one in status["managers"] if one["state"] == "master"}
        return engines == {"updn"} and status["cables"]["up"] == CABLES and answers(client)

    assert wait_until(settled)
    yield shared
    shared.fault("clear")


def answers(client: ibdiags.Client) -> bool:
    """Return whether every switch can be asked by its LID."""
    try:
        lids = {row.lid for row in ibdiags.ports(client) if row.kind == "SW"}
        return len([ibdiags.table(client, lid) for lid in lids]) == SWITCHES
    except LabError:
        return False


@pytest.fixture
def client(shared: LabUnderTest) -> ibdiags.Client:
    """The view from a host without a subnet manager."""
    place = shared.place
    (network,) = subnets_of(place, place.read(), place.read_plant())
    return client_of(place, network, host="nic:2")


@pytest.fixture
def cable(shared: LabUnderTest) -> Cable:
    """A cable between leaf:3 and a spine."""
    return shared.place.read_plant().find("leaf:3")[-1]


def test_a_lab_comes_up_whole_with_the_engine_asked_for(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    status = lab.status(capsys)
    assert status["hosts"] == {"up": HOSTS, "of": HOSTS}
    assert status["switches"] == {"up": SWITCHES, "of": SWITCHES}
    assert status["cables"] == {"up": CABLES, "of": CABLES}
    (master,) = status["managers"]
    assert status["masters"] == [master["name"]]
    assert (master["engine"], master["fell_back"]) == ("updn", False)


def test_an_unlinked_cable_is_routed_around_and_comes_back(
    lab: LabUnderTest, client: ibdiags.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ibdiags.ports(client)
    lid = next(row.lid for row in rows if row.name == "leaf:3")

    def ports_used() -> set[int]:
        return set(ibdiags.table(client, lid).ports.values())

    # OpenSM keeps routes that still work, so that after a while not every uplink need have one.
    plant = lab.place.read_plant()
    used = ports_used()
    cut = next(c for c in plant.find("leaf:3") if c.lower.number > 4 and c.lower.number in used)
    lab.fault("unlink", f"cable:{cut.number}")
    assert wait_until(lambda: answers(client) and cut.lower.number not in ports_used())
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES - 1)
    lab.fault("relink", f"cable:{cut.number}")
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES)


def test_symbol_errors_are_counted_at_both_ends(
    lab: LabUnderTest, cable: Cable, client: ibdiags.Client
) -> None:
    lab.fault("symbol-errors", f"cable:{cable.number}", "--count", "1234")
    plant = lab.place.read_plant()
    ends = {(plant.devices[p.device].name, p.number) for p in cable.ends}

    def counted() -> set[tuple[str, int]]:
        rows = ibdiags.errors(client)
        return {(r.name, r.port) for r in rows if r.counters.get("SymbolErrorCounter") == 1234}

    # On a busy machine ibqueryerrors gives up on ports that answer late.
    assert wait_until(lambda: counted() == ends)
    lab.fault("clear")
    assert wait_until(lambda: not counted())
    assert not any("SymbolErrorCounter" in row.counters for row in ibdiags.errors(client))


def test_a_slow_link_could_be_faster(
    lab: LabUnderTest, cable: Cable, client: ibdiags.Client
) -> None:
    def slow() -> set[tuple[str, int]]:
        return {
            (row.name, row.port) for row in ibdiags.links(client) if "53.125 Gbps" in row.could_be
        }

    lab.fault("slow-link", f"cable:{cable.number}", "--factor", "2")
    plant = lab.place.read_plant()
    ends = {(plant.devices[p.device].name, p.number) for p in cable.ends}
    assert wait_until(lambda: slow() == ends)
    lab.fault("clear")
    assert wait_until(lambda: not slow())


def test_a_miswired_cable_has_another_peer(lab: LabUnderTest, client: ibdiags.Client) -> None:
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
    assert wait_until(lambda: peer_of_leaf_2() == crossed)
    lab.fault("clear")
    assert wait_until(lambda: peer_of_leaf_2() == as_built)


def test_a_dead_leaf_takes_its_hosts_along(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    def up() -> tuple[int, int, int]:
        status = lab.status(capsys)
        return status["hosts"]["up"], status["switches"]["up"], status["cables"]["up"]

    lab.fault("dead-switch", "leaf:3")
    assert wait_until(lambda: up() == (HOSTS - 4, SWITCHES - 1, CABLES - 8))
    lab.fault("clear")
    assert wait_until(lambda: up() == (HOSTS, SWITCHES, CABLES))


def test_a_cable_that_loses_datagrams_counts_errors(
    lab: LabUnderTest, client: ibdiags.Client
) -> None:
    lab.fault("error-rate", "nic:13", "--share", "0.5")

    def received_errors() -> int:
        rows = [row for row in ibdiags.errors(client) if row.name in {"nic:13", "leaf:3"}]
        return sum(row.counters.get("PortRcvErrors", 0) for row in rows)

    assert wait_until(lambda: received_errors() > 0)


def test_a_silent_drop_darkens_a_cable_that_its_ends_and_opensm_believe_in(
    lab: LabUnderTest, cable: Cable, client: ibdiags.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    (manager,) = subnets_of(lab.place, lab.place.read(), lab.place.read_plant())[0].managers
    before = opensm.read_log(manager).num_sweeps
    lab.fault("silent-drop", f"cable:{cable.number}")
    # ibnetdiscover gets no answer over it.
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES - 1)
    leaf = [row for row in ibdiags.links(client) if row.name == "leaf:3"]
    assert {row.state for row in leaf if row.port == cable.lower.number} == {"Active"}
    assert opensm.read_log(manager).num_sweeps == before
    lab.fault("clear")
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[LabUnderTest]:
    """A lab with a manager on nic:0 and one that stands by on nic:8, two leaves further on."""
    with infiniband_lab(tmp_path, "--managers", "2") as made:
        yield made


def manager_states(lab: LabUnderTest, capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [one["state"] for one in lab.status(capsys)["managers"]]


def test_a_standby_takes_over_from_a_dead_manager(
    two: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    assert manager_states(two, capsys) == ["master", "standby"]
    two.fault("dead-sm")
    assert wait_until(lambda: manager_states(two, capsys) == ["dead", "master"])
    two.fault("clear")
    assert wait_until(lambda: sorted(manager_states(two, capsys)) == ["master", "standby"])


def all_paths_arrive(client: ibdiags.Client, hosts: tuple[str, ...]) -> bool:
    """Return whether forwarding tables lead from every host to every other."""
    try:
        lids = {row.name: row.lid for row in ibdiags.ports(client)}
        return all(
            ibpaths.trace(client, lids[one], lids[other]) for one, other in permutations(hosts, 2)
        )
    except (LabError, KeyError):
        return False


def test_a_standby_that_took_over_routes_around_a_dead_spine_and_back(
    two: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    # Eight cables go at once, twice, while the managers are spread over the leaves.
    (network,) = subnets_of(two.place, two.place.read(), two.place.read_plant())
    client = client_of(two.place, network, host="nic:5")
    hosts = ("nic:1", "nic:6", "nic:9", "nic:14")  # one on each leaf
    two.fault("dead-sm")
    assert wait_until(lambda: manager_states(two, capsys) == ["dead", "master"])
    two.fault("dead-switch", "spine:0")
    assert wait_until(lambda: all_paths_arrive(client, hosts))
    assert wait_until(lambda: two.status(capsys)["cables"]["up"] == CABLES - 8)
    two.fault("clear")  # the switch, and the manager that was dead
    assert wait_until(lambda: sorted(manager_states(two, capsys)) == ["master", "standby"])
    assert wait_until(lambda: two.status(capsys)["cables"]["up"] == CABLES)
    assert wait_until(lambda: all_paths_arrive(client, hosts))
    two.fault("dead-switch", "spine:1")
    assert wait_until(lambda: all_paths_arrive(client, hosts))


def test_a_manager_whose_leaf_was_dead_is_seen_again(
    two: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    # ibsim forgets that a manager runs at a port that is linked again; two would be master.
    two.fault("dead-switch", "leaf:0")
    assert wait_until(lambda: manager_states(two, capsys)[1] == "master")
    two.fault("clear")
    assert wait_until(lambda: sorted(manager_states(two, capsys)) == ["master", "standby"])
    assert wait_until(lambda: two.status(capsys)["hosts"]["up"] == HOSTS)


def test_a_killed_lone_manager_is_started_again(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.fault("dead-sm")
    assert lab.status(capsys)["masters"] == [""]
    lab.fault("clear")
    assert wait_until(lambda: lab.status(capsys)["masters"] == ["opensm-0.0"])


def test_a_flap_is_over_when_it_is_over(
    lab: LabUnderTest, cable: Cable, client: ibdiags.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.fault("flap", f"cable:{cable.number}", "--count", "2")
    assert lab.status(capsys)["faults"] == []
    assert wait_until(lambda: lab.status(capsys)["cables"]["up"] == CABLES)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("silent-drop", "leaf:0", "--share", "0.5"), "counts what it loses"),
        (("silent-drop", "leaf:0->spine:0"), "both directions"),
        (("error-rate", "leaf:0", "--larger-than", "100"), "needs a RoCE lab"),
        (("unlink", "leaf:9"), "leaf:0 to leaf:3"),
        (("clear", "99"), "no fault 99"),
        (("relink", "leaf:0"), "no such unlink"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_status_2(
    lab: LabUnderTest, arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.run("fault", *arguments) == 2
    assert says in capsys.readouterr().err
    assert lab.status(capsys)["faults"] == []
