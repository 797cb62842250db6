"""Real FRR changed by hand, behind netloom's back: routing against the design, and limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
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
from netloom.drivers.netns import exec_argv
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

    def congested(self, capsys: pytest.CaptureFixture[str]) -> str:
        """Return the link that most flows find congested."""
        capsys.readouterr()
        assert main(["locate", *self.arguments(), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["result"]["congestion"]
        return str(told[0]["part"]) if told else ""

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


@pytest.mark.parametrize(
    ("device", "change", "undo", "found"),
    [
        (
            "leaf:0",
            ["addr", "del", "10.128.0.0/31", "dev", "swp1"],
            ["addr", "add", "10.128.0.0/31", "dev", "swp1"],
            ("leaf:0", "missing address"),
        ),
        (
            "nic:5",
            ["addr", "add", "10.128.0.1/32", "dev", "lo"],
            ["addr", "del", "10.128.0.1/32", "dev", "lo"],
            ("nic:5", "duplicate address"),
        ),
        (
            "leaf:0",
            ["route", "add", "10.128.0.13/32", "dev", "swp1"],
            ["route", "del", "10.128.0.13/32"],
            ("leaf:0", "foreign route"),
        ),
        (
            "leaf:0",
            ["rule", "add", "from", "10.128.0.1", "to", "10.128.0.13", "blackhole"],
            ["rule", "del", "from", "10.128.0.1", "to", "10.128.0.13", "blackhole"],
            ("leaf:0", "blackhole route"),
        ),
        (
            "leaf:0",
            ["link", "set", "swp5", "mtu", "1400"],
            ["link", "set", "swp5", "mtu", "9000"],
            ("cable:24", "wrong MTU"),
        ),
    ],
)
def test_one_wrong_address_route_or_setting_is_one_finding(
    hands: HandMadeFaults,
    capsys: pytest.CaptureFixture[str],
    device: str,
    change: list[str],
    undo: list[str],
    found: tuple[str, str],
) -> None:
    run(["ip", "-n", hands.space(device), *change])
    try:
        assert wait_until(lambda: hands.found(capsys) == [found])
    finally:
        run(["ip", "-n", hands.space(device), *undo])


def test_an_interface_that_has_another_name_is_a_missing_port_and_nothing_else(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def rename(old: str, new: str) -> None:
        for change in (["set", old, "down"], ["set", old, "name", new], ["set", new, "up"]):
            run(["ip", "-n", hands.space("leaf:0"), "link", *change])

    rename("swp5", "port5")
    try:
        missing = [("cable:24", "missing port")]
        assert wait_until(lambda: hands.found(capsys) == missing)
        store = tmp_path / "s.db"
        assert wait_until(lambda: hands.watched(capsys, store) == missing)
    finally:
        rename("port5", "swp5")


def test_a_network_that_is_not_announced_is_missed_at_its_leaf_alone(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str]
) -> None:
    routers = {r.name: r for r in underlay_of(hands.lab.place.read_plant()).routers}
    begin = [f"router bgp {routers['leaf:0'].asn}", "address-family ipv4 unicast"]
    network = "network 10.128.0.0/31"
    vty.configure(hands.space("leaf:0"), "bgpd", [*begin, f"no {network}"])
    try:
        assert wait_until(lambda: hands.found(capsys) == [("leaf:0", "missing routes")])
    finally:
        vty.configure(hands.space("leaf:0"), "bgpd", [*begin, network])


@pytest.mark.parametrize(
    ("device", "lines", "policy"),
    [
        (
            "spine:0",
            ["route-map FAR permit 10", "set as-path prepend 65001 65001", "exit"],
            "neighbor swp1 route-map FAR out",
        ),
        (
            "leaf:1",
            ["route-map NEAR permit 10", "set local-preference 200", "exit"],
            "neighbor swp5 route-map NEAR in",
        ),
    ],
)
def test_a_route_policy_is_found_at_the_switch_that_has_it(
    hands: HandMadeFaults,
    capsys: pytest.CaptureFixture[str],
    device: str,
    lines: list[str],
    policy: str,
) -> None:
    routers = {r.name: r for r in underlay_of(hands.lab.place.read_plant()).routers}
    begin = [f"router bgp {routers[device].asn}", "address-family ipv4 unicast"]
    vty.configure(hands.space(device), "bgpd", [*lines, *begin, policy])
    try:
        assert wait_until(lambda: hands.found(capsys) == [(device, "route policy")])
    finally:
        vty.configure(hands.space(device), "bgpd", [*begin, f"no {policy}"])


BLAST = """
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(4):
        sender.sendto(bytes(1400), (sys.argv[1], 9))
    time.sleep(0.001)
"""


def test_a_port_to_which_more_is_sent_than_it_carries_is_congested_and_no_fault(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # Three hosts of the other leaf send up to 45 Mbit/s each to one that takes 100 Mbit/s.
    blast = [sys.executable, "-c", BLAST, "10.128.0.1"]
    with ExitStack() as stack:
        for host in ("nic:4", "nic:5", "nic:6"):
            one = subprocess.Popen(exec_argv(hands.space(host), blast))  # noqa: S603
            stack.callback(one.wait)
            stack.callback(one.kill)
        assert hands.congested(capsys) == "cable:16 (leaf:0->nic:0)"
        assert hands.found(capsys) == []
        assert hands.watched(capsys, tmp_path / "s.db", rounds=3) == []
        # Beside it a cable that drops packets is found all the same.
        hands.lab.fault("silent-drop", "cable:21", "--share", "0.2")
        assert hands.found(capsys) == [("nic:5", "loss")]
        # And so is one behind the full queue itself.
        hands.lab.fault("clear")
        hands.lab.fault("silent-drop", "leaf:0->nic:0", "--share", "0.5")
        assert wait_until(lambda: hands.found(capsys) == [("cable:16", "loss")])
        assert hands.congested(capsys) == "cable:16 (leaf:0->nic:0)"


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


@pytest.mark.parametrize("daemon", ["zebra", "bfdd"])
def test_a_frozen_daemon_is_found_at_its_switch_alone(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], daemon: str
) -> None:
    program = hands.lab.place.read().program(f"{daemon} leaf:1")
    assert program is not None
    os.kill(program.pid, signal.SIGSTOP)
    try:
        # A look that meets sessions as they time out sees what is lost meanwhile, too.
        wanted = [("leaf:1", "silent routing daemon")]
        assert wait_until(lambda: hands.found(capsys) == wanted)
    finally:
        os.kill(program.pid, signal.SIGCONT)


def test_bfd_turned_off_at_one_switch_is_found_there_alone(
    hands: HandMadeFaults, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    routers = {r.name: r for r in underlay_of(hands.lab.place.read_plant()).routers}
    begin, on = f"router bgp {routers['leaf:0'].asn}", "neighbor fabric bfd"
    vty.configure(hands.space("leaf:0"), "bgpd", [begin, f"no {on}"])
    try:
        assert wait_until(lambda: hands.found(capsys) == [("leaf:0", "no BFD")])
        wanted = [("leaf:0", "no BFD")]
        assert wait_until(lambda: hands.watched(capsys, tmp_path / "s.db", rounds=2) == wanted)
    finally:
        vty.configure(hands.space("leaf:0"), "bgpd", [begin, on, f"{on} profile fabric"])


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
