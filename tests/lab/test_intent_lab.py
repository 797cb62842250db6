"""Real FRR changed by hand, behind netloom's back: routing against the design, and limits."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import LabUnderTest, infiniband_lab, need, roce_lab, wait_until

from netloom.app.heal.run import journal_of
from netloom.app.heal.site import LabSite
from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.labs import bring_down
from netloom.app.lab.store import LabFolder
from netloom.app.locate.lab_infiniband import observer
from netloom.cli.main import main
from netloom.drivers import ibdiags, ibsim, vty
from netloom.drivers.programs import run
from netloom.formats.infiniband import ibsim_topology
from netloom.ops.heal.log import in_force
from netloom.ops.lab import namespace_of
from netloom.ops.observe.cases import cases_in
from netloom.ops.underlay import underlay_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.lab

# 4 nodes of 2 GPUs on switches of 8 ports: 2 leaves of 4 hosts with 4 uplinks each.
SCENARIO = """
cluster:
  nodes: 4
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
catalog: own.toml
"""
OWN = """
[switches.Tomahawk-5]
modes = [{ count = 4, rate = "800Gbps" }, { count = 8, rate = "400Gbps" }]
[nodes.dgx-h100]
num_gpus = 2
num_nics = 2
"""
POLICY = """
heal:
  by_itself: [drain, reroute, ticket]
  most_capacity_away: 100%
  most_uplinks_away: 50%
  most_slowdown: 100%
  quiet: 0s
"""


@dataclass(frozen=True)
class HandMadeFaults:
    """A lab, and hands that netloom knows nothing of."""

    lab: LabUnderTest
    folder: Path

    def space(self, device: str) -> str:
        return namespace_of(self.lab.place.mark, device)

    def arguments(self) -> list[str]:
        place = self.lab.place
        scenario = self.folder / "roce.yaml"
        return [str(scenario), "--lab", place.name, "--dir", str(place.path.parent)]

    def found(self, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
        capsys.readouterr()
        assert main(["locate", *self.arguments(), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["result"]["findings"]
        return sorted((one["part"].partition(" ")[0], one["kind"]) for one in told)

    def watched(
        self, capsys: pytest.CaptureFixture[str], store: Path, rounds: int = 1
    ) -> list[tuple[str, str]]:
        for _ in range(rounds):
            capsys.readouterr()
            assert (
                main(["watch", *self.arguments(), "--once", "--store", str(store), "--json"]) == 0
            )
        told = json.loads(capsys.readouterr().out)["result"]["findings"]
        return sorted((one["part"].partition(" ")[0], one["kind"]) for one in told)

    def healed(self, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, list[Any]]:
        (self.folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
        capsys.readouterr()
        policy = ["--policy", str(self.folder / "policy.yaml")]
        status = main(["heal", *self.arguments(), *policy, *more, "--json"])
        return status, json.loads(capsys.readouterr().out)["result"]["plans"]

    def session(self, device: str, interface: str, word: str = "") -> None:
        """Shut a BGP session at one end, or open it again with ``no``."""
        routers = {r.name: r for r in underlay_of(self.lab.place.read_plant()).routers}
        lines = [
            f"router bgp {routers[device].asn}",
            f"{word} neighbor {interface} shutdown".strip(),
        ]
        vty.configure(self.space(device), "bgpd", lines)

    @contextmanager
    def shut(self, device: str, *interfaces: str) -> Iterator[None]:
        for interface in interfaces:
            self.session(device, interface)
        try:
            yield
        finally:
            for interface in interfaces:
                self.session(device, interface, "no")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandMadeFaults]:
    need("roce")
    folder = tmp_path_factory.mktemp("intent")
    (folder / "own.toml").write_text(OWN, encoding="utf-8")
    (folder / "roce.yaml").write_text(SCENARIO, encoding="utf-8")
    labs = folder / "labs"
    assert main(["lab", "up", str(folder / "roce.yaml"), "--name", "it", "--dir", str(labs)]) == 0
    place = LabFolder.of("it", labs)
    try:
        yield HandMadeFaults(LabUnderTest(place), folder)
    finally:
        bring_down(place)


@pytest.fixture
def hands(made: HandMadeFaults, capsys: pytest.CaptureFixture[str]) -> Iterator[HandMadeFaults]:
    assert wait_until(lambda: made.found(capsys) == [])
    yield made
    made.lab.fault("clear")


def test_a_blackhole_route_on_one_leaf_is_found_with_its_prefix(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # 10.128.0.13 is the seventh host, on the other leaf; its own network is the /31.
    route = ["route", "add", "blackhole", "10.128.0.13/32"]
    run(["ip", "-n", hands.space("leaf:0"), *route])
    try:
        assert hands.found(capsys) == [("leaf:0", "blackhole route")]
        assert hands.watched(capsys, tmp_path / "s.db") == [("leaf:0", "blackhole route")]
    finally:
        run(["ip", "-n", hands.space("leaf:0"), "route", "del", *route[2:]])


@pytest.mark.parametrize(
    ("rule", "kind"), [("ip ecn set not-ect", "ECN cleared"), ("ip dscp set cs0", "DSCP changed")]
)
def test_a_switch_that_rewrites_packets_and_loses_none_is_found(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], rule: str, kind: str
) -> None:
    nft = ["ip", "netns", "exec", hands.space("leaf:1"), "nft"]
    run([*nft, "add", "table", "inet", "person"])
    try:
        run([*nft, "add chain inet person f { type filter hook forward priority 0; }"])
        run([*nft, f"add rule inet person f {rule}"])
        assert hands.found(capsys) == [("leaf:1", kind)]
    finally:
        run([*nft, "delete", "table", "inet", "person"])


def test_a_session_shut_at_one_end_is_found_at_the_first_look(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (cable, *_) = hands.lab.place.read_plant().find("link:leaf:0-spine:0")
    wanted = [(f"cable:{cable.number}", "session down")]
    with hands.shut("leaf:0", "swp5"):
        assert wait_until(lambda: hands.found(capsys) == wanted)
        assert hands.watched(capsys, tmp_path / "s.db", rounds=2) == wanted


@pytest.mark.parametrize(
    ("shut", "verdict", "status"), [(("swp5",), "run", 0), (("swp5", "swp6"), "refuse", 1)]
)
def test_what_a_person_shut_counts_toward_the_limit_on_uplinks(
    hands: HandMadeFaults,
    capsys: pytest.CaptureFixture[str],
    shut: tuple[str, ...],
    verdict: str,
    status: int,
) -> None:
    # At most half of 4 uplinks: one and the one that is drained are half, two and that are more.
    *_, last = hands.lab.place.read_plant().find("link:leaf:0-spine:0")
    with hands.shut("leaf:0", *shut):
        # Full packets only: every session stays up.
        hands.lab.fault("silent-drop", f"cable:{last.number}", "--larger-than", "1000")
        wanted = (f"cable:{last.number}", "large-packet loss")
        assert wait_until(lambda: wanted in hands.found(capsys))
        done, plans = hands.healed(capsys)
        lossy = [one for one in plans if one["finding"]["kind"] == "large-packet loss"]
        assert [(one["verdict"], done) for one in lossy] == [(verdict, status)]
        if verdict == "refuse":
            assert "75% of its uplinks" in lossy[0]["reasons"][0]
        else:
            assert lossy[0]["outcome"]["result"] == "healed"
            number = last_act(hands)
            assert main(["heal", *hands.arguments(), "--undo", str(number)]) == 0


def last_act(hands: HandMadeFaults) -> int:
    """Return the number of the drain that is in force."""
    (act,) = (
        e.act
        for e in in_force(journal_of(LabSite(place=hands.lab.place)).entries())
        if e.verb == "drain"
    )
    return act


def test_an_address_that_another_host_has_is_found(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # The second host's address, on the sixth.
    twice = ["10.128.0.3/32", "dev", "eth0"]
    run(["ip", "-n", hands.space("nic:5"), "addr", "add", *twice])
    try:
        assert hands.found(capsys) == [("nic:5", "duplicate address")]
        assert hands.watched(capsys, tmp_path / "s.db") == [("nic:5", "duplicate address")]
    finally:
        run(["ip", "-n", hands.space("nic:5"), "addr", "del", *twice])


def test_guids_and_lids_that_two_hosts_have_and_whom_a_dead_leaf_hurts_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with infiniband_lab(tmp_path) as lab:
        place, plant = lab.place, lab.place.read_plant()
        (network,) = subnets_of(place, place.read(), plant)
        where = [str(tmp_path / "infiniband-ndr.yaml"), "--lab", place.name]
        where += ["--dir", str(place.path.parent)]

        def located() -> list[tuple[str, str, int]]:
            capsys.readouterr()
            main(["locate", *where, "--json"])
            told = json.loads(capsys.readouterr().out)["result"]["findings"]
            return [(one["part"], one["kind"], len(one["hurts"]["gpus"])) for one in told]

        assert wait_until(lambda: located() == [])
        own, other = (ibsim_topology.guid_of(plant.number(name)) for name in ("nic:5", "nic:4"))
        ibsim.command(network.simulator, f'Guid "nic:5" {other:#x}')
        assert wait_until(lambda: located() == [("nic:5", "duplicate GUID", 2)])
        store = tmp_path / "s.db"
        assert main(["watch", *where, "--once", "--store", str(store)]) == 0
        kinds = [(case.label, case.kind) for case in cases_in(store, start_s=0)]
        assert kinds == [("nic:5", "duplicate GUID")]
        ibsim.command(network.simulator, f'Guid "nic:5" {own:#x}')
        assert wait_until(lambda: located() == [])
        lab.fault("dead-switch", "leaf:1")  # which four hosts hang on
        assert wait_until(lambda: ("leaf:1", "silent device", 4) in located())
        lab.fault("clear")
        assert wait_until(lambda: located() == [])
        lab.fault("dead-sm")  # a manager would give it another at once
        (lid,) = {
            row.lid
            for row in ibdiags.ports(observer(place, place.read(), network))
            if row.name == "nic:4"
        }
        ibsim.command(network.simulator, f'Baselid "nic:5"[1] {lid}')
        assert wait_until(lambda: ("nic:5", "duplicate LID", 2) in located())


def located(
    where: list[str], capsys: pytest.CaptureFixture[str], command: str = "locate"
) -> list[tuple[str, str]]:
    """Return parts and kinds that ``locate`` or ``heal`` finds."""
    capsys.readouterr()
    main([command, *where, "--json"])
    told = json.loads(capsys.readouterr().out)["result"]
    findings = told["findings"] if command == "locate" else [p["finding"] for p in told["plans"]]
    return [(one["part"], one["kind"]) for one in findings]


def is_located(
    where: list[str],
    capsys: pytest.CaptureFixture[str],
    wanted: list[tuple[str, str]],
    command: str = "locate",
) -> bool:
    return located(where, capsys, command) == wanted


def where_is(lab: LabUnderTest, folder: Path) -> list[str]:
    place = lab.place
    scenario = str(folder / "rocev2-400g.yaml")
    return [scenario, "--lab", place.name, "--dir", str(place.path.parent)]


def test_the_direction_of_a_one_way_drop_is_named_though_no_session_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with roce_lab(tmp_path) as lab:
        where = where_is(lab, tmp_path)
        for one, other in (("leaf:2", "spine:1"), ("spine:0", "leaf:3")):
            lab.fault("silent-drop", f"{one}->{other}")
            (cable,) = lab.place.read_plant().find(f"link:{one}-{other}")
            wanted = [(f"cable:{cable.number} ({one}->{other})", "loss")]
            assert wait_until(partial(is_located, where, capsys, wanted))
            lab.fault("clear")
            assert wait_until(partial(is_located, where, capsys, []))


def test_a_dead_bgpd_is_found_by_watch_and_heal_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with roce_lab(tmp_path) as lab:
        program = lab.place.read().program("bgpd spine:1")
        assert program is not None
        store, where = tmp_path / "s.db", where_is(lab, tmp_path)
        os.kill(program.pid, signal.SIGKILL)

        def watched() -> bool:
            main(["watch", *where, "--once", "--store", str(store)])
            cases = [c for c in cases_in(store, start_s=0) if c.closed_s is None]
            return [(c.label, c.kind) for c in cases] == [("spine:1", "silent device")]

        assert wait_until(watched)
        silent = [("spine:1", "silent device")]
        for more in ([], ["--store", str(store)]):
            asked = [*where, *more]
            assert wait_until(partial(is_located, asked, capsys, silent, "heal"))
