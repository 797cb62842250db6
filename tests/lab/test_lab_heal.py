"""Real OpenSM and real FRR, broken and healed: found, acted on, verified, and put back."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest
from labs_under_test import LabUnderTest, need, wait_until

from netloom.app.heal.lab_infiniband import InfinibandHands
from netloom.app.heal.lab_roce import EthernetHands
from netloom.app.heal.run import HealOrder, HealTarget, able, heal, journal_of, release
from netloom.app.heal.site import LabSite
from netloom.app.heal.target import step_of
from netloom.app.heal.tickets import TicketQueue
from netloom.app.lab.infiniband import end, subnets_of
from netloom.app.lab.labs import bring_down
from netloom.app.lab.store import LabFolder
from netloom.app.locate.lab import clock_s, observe
from netloom.app.locate.lab_roce import route_counts
from netloom.cli.main import main
from netloom.drivers import frr, ibsim, opensm
from netloom.drivers.programs import Running, run
from netloom.fabric.part_id import PartId
from netloom.formats.infiniband import ibsim_topology
from netloom.ops.heal.act import carry_out
from netloom.ops.heal.effect import trial_of
from netloom.ops.heal.log import in_force
from netloom.ops.heal.plan import plans_of
from netloom.ops.lab import namespace_of
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import Finding
from netloom.ops.underlay import underlay_of
from netloom.spec.heal import parse_policy
from netloom.spec.load import load
from netloom.study.inputs import catalog_of
from netloom.study.whatif.failure import bench_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from netloom.app.heal.run import HealReport, HealStep
    from netloom.fabric.graph import Fabric
    from netloom.ops.underlay import BgpRouter
    from netloom.parts.parts import Technology
    from netloom.spec.heal import HealPolicy

pytestmark = pytest.mark.lab

INFINIBAND = """
cluster:
  nodes: {nodes}
  node: dgx-h100
  fabric: {{technology: infiniband-ndr, topology: {{kind: fat-tree, tiers: 2}}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: 1024}}}}
"""
# 4 nodes of 2 GPUs on leaves of 8 ports: 8 hosts, 2 leaves, a spine or more.
SMALL = INFINIBAND.format(nodes=4) + "catalog: own.toml\n"
# 4 nodes of 2 GPUs on leaves of 4 ports: 8 hosts, 4 leaves, 2 spines, one cable between each.
ROCE = """
cluster:
  nodes: 4
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
catalog: own.toml
"""
OWN = """
[switches.QM9700]
modes = [{ count = 8, rate = "400Gbps" }, { count = 16, rate = "200Gbps" }]
[switches.Tomahawk-5]
modes = [{ count = 2, rate = "800Gbps" }, { count = 4, rate = "400Gbps" }]
[nodes.dgx-h100]
num_gpus = 2
num_nics = 2
"""
POLICY = """
heal:
  by_itself: [drain, reroute, rebalance, fail-over, repair-fib, ticket]
  most_capacity_away: 30%
  quiet: 0s
"""
ACTS = parse_policy(POLICY, name="policy")
WATCHED = ("nic:3", "nic:500", "nic:600", "nic:1000")
MEMBERS_A_LINE = 64  # OpenSM 3.3.23 cuts longer lines off and then falls back to one partition


@dataclass(frozen=True)
class Bench:
    """A lab with the design that it was made from."""

    lab: LabUnderTest
    fabric: Fabric
    technology: Technology
    step_s: Callable[[Fabric], float] | None

    def heal(self, policy: HealPolicy = ACTS, *, watched: tuple[str, ...] = ()) -> HealReport:
        intended = HealTarget(fabric=self.fabric, technology=self.technology, step_s=self.step_s)
        order = HealOrder(policy=policy, watched=watched)
        return heal(LabSite(place=self.lab.place), intended, order)

    def look_s(self) -> float:
        """Return how long a look at the lab takes now, on a machine that may be busy."""
        begin_s = time.monotonic()
        observe(self.lab.place, self.fabric, self.technology)
        return time.monotonic() - begin_s

    def clean(self) -> bool:
        sight = observe(self.lab.place, self.fabric, self.technology)
        return not (sight.findings or sight.disputes or sight.doubts)


def bench_in(folder: Path, name: str, text: str, *options: str) -> Bench:
    (folder / "own.toml").write_text(OWN, encoding="utf-8")
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    labs = folder / "labs"
    assert main(["lab", "up", str(path), "--name", name, "--dir", str(labs), *options]) == 0
    scenario = load(path)
    job = bench_of(scenario, catalog_of(scenario))
    lab = LabUnderTest(LabFolder.of(name, labs))
    return Bench(lab, job.fabric, job.network.technology, step_of(job))


def only(done: HealReport) -> HealStep:
    (step,) = done.steps
    return step


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """1,024 hosts on 32 leaves and 16 spines, in two tenants of 512."""
    need("infiniband")
    bench = bench_in(tmp_path_factory.mktemp("heal-ib"), "heal-ib", INFINIBAND.format(nodes=128))
    place = bench.lab.place
    try:
        plant = place.read_plant()
        (network,) = subnets_of(place, place.read(), plant)
        lines = ["Default=0x7fff, ipoib : ALL=limited, SELF=full, ALL_SWITCHES=full ;"]
        for first in range(0, 1024, MEMBERS_A_LINE):
            key = 1 + first // 512
            ports = range(first, first + MEMBERS_A_LINE)
            guids = ", ".join(f"{ibsim_topology.port_guid_of(plant, port):#018x}" for port in ports)
            lines.append(f"tenant{key}={key:#06x}, ipoib, defmember=full : {guids} ;")
        text = "\n".join(lines) + "\n"
        (network.managers[0].folder / "partitions.conf").write_text(text, encoding="ascii")
        program = place.read().program("opensm-0.0")
        assert program is not None
        os.kill(program.pid, signal.SIGHUP)
        assert wait_until(lambda: tenant_isolation(bench)["keys of nic:3"] == "0x7fff 0x8001")
        yield bench
    finally:
        bring_down(place)


def tenant_isolation(bench: Bench) -> dict[str, str]:
    desk = TicketQueue(folder=bench.lab.place.path, policy=ACTS)
    return dict(
        InfinibandHands(place=bench.lab.place, desk=desk, watched=WATCHED).tenant_isolation()
    )


@pytest.fixture
def infiniband(large: Bench) -> Iterator[Bench]:
    yield large
    large.lab.fault("clear")
    assert wait_until(large.clean)


def spine_cable(bench: Bench) -> int:
    return bench.lab.place.read_plant().find("leaf:29")[-1].number


def assert_tenants_apart(step: HealStep) -> None:
    """Four key tables and six paths: inside a tenant there is one, between the two there is none.

    nic:3 and nic:500 are of the first tenant, nic:600 and nic:1000 of the second.
    """
    assert step.outcome is not None
    assert "tenants are kept apart as before: 10 things compared" in step.outcome.says


def test_the_tenants_of_the_lab_are_apart(large: Bench) -> None:
    found = tenant_isolation(large)
    paths = {key.removeprefix("path "): value for key, value in found.items() if "path" in key}
    assert paths.pop("nic:3 - nic:500") == "0x8001"
    assert paths.pop("nic:600 - nic:1000") == "0x8002"
    assert set(paths.values()) == {"none"}
    assert len(paths) == 4


def test_an_unlinked_spine_cable_is_found_and_paths_verified_within_10_s_or_8_looks(
    infiniband: Bench,
) -> None:
    number = spine_cable(infiniband)
    look_s = infiniband.look_s()
    begin_s = time.monotonic()
    infiniband.lab.fault("unlink", f"cable:{number}")
    step = only(infiniband.heal(watched=WATCHED))
    took_s = time.monotonic() - begin_s
    assert step.plan.finding.kind == Trouble.MISSING
    assert step.plan.finding.part.whole == PartId.cable(number)
    assert step.outcome is not None
    assert step.outcome.result == "healed"
    assert f"no forwarding table leads into cable:{number}" in step.outcome.says
    assert "8 paths traced with ibtracert arrive" in step.outcome.says
    assert_tenants_apart(step)
    assert took_s < max(10, 8 * look_s)


def test_a_cable_with_symbol_errors_is_found_drained_and_verified(infiniband: Bench) -> None:
    number = spine_cable(infiniband) - 1
    infiniband.lab.fault("symbol-errors", f"cable:{number}", "--count", "5000")
    step = only(infiniband.heal(watched=WATCHED))
    assert step.plan.finding.kind == Trouble.SYMBOL_ERRORS
    assert [act.name for act in step.plan.acts] == [
        f"drain cable:{number}",
        f"ticket cable:{number}",
    ]
    assert step.outcome is not None
    assert step.outcome.result == "healed"
    assert f"no forwarding table leads into cable:{number}" in step.outcome.says
    assert_tenants_apart(step)
    # The job's step has room to spare, so that policy lets it run; the trial, with every NIC at
    # its limit, would take twice as long: static routes put all that went over it on one other.
    assert step.plan.effect.slowdown < ACTS.most_slowdown < 1
    assert step.plan.effect.after_s > 1.5 * step.plan.effect.healthy_s
    # 1 of 32 x 32 cables between leaves and spines, 1 of 32 uplinks of its leaf.
    after = step.plan.effect.away_after
    assert after.share == pytest.approx(1 / 1024)
    assert after.uplink_share == pytest.approx(1 / 32)
    entries = journal_of(LabSite(place=infiniband.lab.place)).entries()
    drained = [e for e in in_force(entries) if e.part == PartId.cable(number) and e.verb == "drain"]
    release(LabSite(place=infiniband.lab.place), ACTS, drained[-1].act)
    assert not any(
        e.part == PartId.cable(number) and e.verb == "drain"
        for e in in_force(journal_of(LabSite(place=infiniband.lab.place)).entries())
    )


def test_a_miswired_pair_is_named_and_left_to_people(infiniband: Bench) -> None:
    plant = infiniband.lab.place.read_plant()
    one, other = plant.find("leaf:5")[-1], plant.find("leaf:6")[-2]
    infiniband.lab.fault("miswire", f"cable:{one.number}", f"cable:{other.number}")
    assert wait_until(lambda: not infiniband.clean())
    done = infiniband.heal(watched=WATCHED)
    assert {step.plan.finding.kind for step in done.steps} == {Trouble.MISWIRED.value}
    parts = {str(step.plan.finding.part.whole) for step in done.steps}
    assert parts == {f"cable:{one.number}", f"cable:{other.number}"}
    assert all([act.verb for act in step.plan.acts] == ["ticket"] for step in done.steps)
    evidence = " ".join(done.steps[0].plan.finding.evidence)
    assert f"where cable:{other.number} belongs" in evidence
    tickets = sorted((infiniband.lab.place.path / "tickets").glob("*.md"))
    assert f"cable:{other.number}" in tickets[-1].read_text(encoding="utf-8")


def test_a_dead_lone_manager_is_started_again(infiniband: Bench) -> None:
    infiniband.lab.fault("dead-sm")
    step = only(infiniband.heal(watched=WATCHED))
    assert [act.name for act in step.plan.acts] == ["fail-over opensm-0.0"]
    assert step.outcome is not None
    assert step.outcome.result == "healed"
    # Nobody could be asked for paths before; the key tables are what is compared.
    assert "tenants are kept apart as before: 4 things compared" in step.outcome.says


def test_a_killed_master_is_replaced_by_its_standby_and_started_again(tmp_path: Path) -> None:
    need("infiniband")
    bench = bench_in(tmp_path, "heal-sm", INFINIBAND.format(nodes=2), "--managers", "2")
    try:
        bench.lab.fault("dead-sm")
        step = only(bench.heal())
        assert step.plan.finding.part == PartId.manager(0, 0)
        assert step.outcome is not None
        assert step.outcome.result == "healed"
        assert step.outcome.says[0].startswith("opensm-0.1 took over; started opensm-0.0 again")
    finally:
        bring_down(bench.lab.place)


def test_a_cable_that_no_manager_took_into_use_is_found_and_routes_lead_over_it_again(
    tmp_path: Path,
) -> None:
    # An operator has switched OpenSM's sweeps off: a cable that is put back stays as it is.
    need("infiniband")
    bench = bench_in(tmp_path, "heal-idle", SMALL)
    place = bench.lab.place
    try:
        plant = place.read_plant()
        (network,) = subnets_of(place, place.read(), plant)
        manager = network.managers[0]
        with manager.configuration.open("a", encoding="utf-8") as file:
            file.write("sweep_interval 0\nsweep_on_trap FALSE\n")
        end(network.simulator, running_manager(bench))
        env = {**ibsim.client_environment(network.simulator, "nic:0"), **place.environment}
        begin = partial(opensm.start_manager, manager, env=env)
        _, running = place.starting(place.read(), "opensm-0.0", begin)
        opensm.wait_up(manager, running)
        cable = plant.find("leaf:1")[-1]
        lower, upper = ((plant.devices[p.device].name, p.number) for p in cable.ends)
        ibsim.unlink(network.simulator, *lower)
        swept(bench)
        ibsim.link(network.simulator, lower, upper)
        step = only(bench.heal())
        assert step.plan.finding.kind == Trouble.UNUSED
        assert step.plan.finding.part.whole == PartId.cable(cable.number)
        assert [act.name for act in step.plan.acts] == [f"rebalance cable:{cable.number}"]
        assert step.plan.effect.away_after.share < step.plan.effect.away_before.share
        assert step.outcome is not None
        assert step.outcome.result == "healed", step.outcome
        assert f"{lower[0]} forwards to port {lower[1]}" in step.outcome.says
        assert wait_until(bench.clean)
    finally:
        bring_down(place)


def swept(bench: Bench) -> None:
    """Return when the only manager has read its files again and swept."""
    place = bench.lab.place
    (network,) = subnets_of(place, place.read(), place.read_plant())
    (manager,) = network.managers
    offset = opensm.reread(manager, running_manager(bench))
    assert wait_until(lambda: opensm.read_log(manager, offset=offset).num_sweeps > 0)


def running_manager(bench: Bench) -> Running:
    program = bench.lab.place.read().program("opensm-0.0")
    assert program is not None
    return Running(pid=program.pid, started=program.started)


def test_a_dark_cable_that_opensm_believes_in_is_found_and_drained(tmp_path: Path) -> None:
    need("infiniband")
    bench = bench_in(tmp_path, "heal-dark", SMALL)
    try:
        cable = bench.lab.place.read_plant().find("leaf:1")[-1]
        bench.lab.fault("silent-drop", f"cable:{cable.number}")
        step = only(bench.heal())
        assert step.plan.finding.part.whole == PartId.cable(cable.number)
        assert step.plan.finding.kind == FaultKind.BLACK_HOLE
        assert [act.verb for act in step.plan.acts] == ["drain", "ticket"]
        assert step.outcome is not None
        assert step.outcome.result == "healed", step.outcome
        assert f"no forwarding table leads into cable:{cable.number}" in step.outcome.says
    finally:
        bring_down(bench.lab.place)


def test_without_policy_nothing_is_done(
    infiniband: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    infiniband.lab.fault("unlink", f"cable:{spine_cable(infiniband)}")
    before = journal_of(LabSite(place=infiniband.lab.place)).entries()
    place = infiniband.lab.place
    scenario = place.path.parent.parent / "heal-ib.yaml"
    capsys.readouterr()
    arguments = ["--lab", place.name, "--dir", str(place.path.parent)]
    assert main(["heal", str(scenario), *arguments]) == 0
    assert "Nothing was done." in capsys.readouterr().out
    assert journal_of(LabSite(place=place)).entries() == before


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    need("roce")
    bench = bench_in(tmp_path_factory.mktemp("heal-roce"), "heal-roce", ROCE)
    try:
        yield bench
    finally:
        bring_down(bench.lab.place)


@pytest.fixture
def roce(small: Bench) -> Iterator[Bench]:
    yield small
    small.lab.fault("clear")
    for entry in in_force(journal_of(LabSite(place=small.lab.place)).entries()):
        if entry.verb == "drain":
            release(LabSite(place=small.lab.place), ACTS, entry.act)
    assert wait_until(small.clean)
    leaf = namespace_of(small.lab.place.mark, "leaf:3")
    assert wait_until(lambda: len(ways(leaf, "10.128.0.0/31")) == 2)


def ways(space: str, prefix: str) -> tuple[str, ...]:
    return next((r.interfaces for r in frr.fib(space) if r.prefix == prefix), ())


def test_a_silent_drop_that_bfd_cannot_see_is_routed_around_within_2_s_or_8_looks(
    roce: Bench,
) -> None:
    # Full packets only: BFD's small ones pass, and every session stays up.
    look_s = roce.look_s()
    begin_s = time.monotonic()
    roce.lab.fault("silent-drop", "link:leaf:3-spine:0", "--larger-than", "1000")
    step = only(roce.heal())
    took_s = time.monotonic() - begin_s
    (cable,) = roce.lab.place.read_plant().find("link:leaf:3-spine:0")
    assert step.plan.finding.part.whole == PartId.cable(cable.number)
    assert step.plan.finding.kind == FaultKind.LARGE_LOSS
    assert step.plan.effect.after_s < step.plan.effect.before_s
    assert step.outcome is not None
    assert step.outcome.result == "healed"
    assert any("0 of 192 flows lose any" in said for said in step.outcome.says)
    leaf = namespace_of(roce.lab.place.mark, "leaf:3")
    assert ways(leaf, "10.128.0.0/31") == ("swp4",)
    assert took_s < max(2, 8 * look_s)


def test_a_drain_that_does_not_help_is_undone(roce: Bench) -> None:
    # nic:5 loses packets, and somebody blames a healthy cable: once that is drained they are
    # still lost.
    roce.lab.fault("silent-drop", "nic:5", "--share", "0.3")
    place = roce.lab.place
    (cable,) = place.read_plant().find("link:leaf:3-spine:0")
    wrong = Finding(
        part=PartId.cable(cable.number),
        kind=FaultKind.LOSS.value,
        magnitude=0.3,
        confidence=0.95,
        evidence=(),
        hurts=(),
        predicted_gain=0.0,
    )
    trial = trial_of(roce.fabric, roce.technology, [wrong], ())
    (plan,) = plans_of(trial, [wrong], able(LabSite(place=place), ACTS))
    hands = EthernetHands(place=place, desk=TicketQueue(folder=place.path, policy=ACTS, plan=plan))
    outcome = carry_out(plan, hands, journal_of(LabSite(place=place)), clock_s, first=1000)
    assert outcome.result == "undone"
    assert not any(e.verb == "drain" for e in in_force(journal_of(LabSite(place=place)).entries()))
    leaf = namespace_of(place.mark, "leaf:3")
    assert wait_until(lambda: ways(leaf, "10.128.0.0/31") == ("swp3", "swp4"))


def test_a_kernel_that_lost_a_path_is_found_and_repaired(roce: Bench) -> None:
    leaf = namespace_of(roce.lab.place.mark, "leaf:0")
    hop = ["proto", "bgp", "metric", "20", "via", "169.254.0.1", "dev", "swp3", "onlink"]
    run(["ip", "-n", leaf, "route", "replace", "10.128.0.14/31", *hop])
    assert ways(leaf, "10.128.0.14/31") == ("swp3",)
    step = only(roce.heal())
    assert step.plan.finding.kind == FaultKind.LOST_PATHS
    assert [act.name for act in step.plan.acts] == ["repair-fib leaf:0"]
    assert step.outcome is not None
    assert step.outcome.result == "healed"
    # zebra writes the routes one after the other, also after the first look.
    both = ("swp3", "swp4")
    assert wait_until(lambda: ways(leaf, "10.128.0.14/31") == both)


def test_paths_that_frr_takes_from_the_kernel_after_a_flap_are_found_and_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # FRR 8.4 as it comes: with nexthop objects in the kernel, which our own labs switch off, and
    # namespaces for VRFs too. When a link flaps the kernel takes it out of the group, and zebra
    # does not put it back.
    need("roce")
    ours = frr.render_configuration

    def as_it_comes(router: BgpRouter) -> str:
        return ours(router).replace("no zebra nexthop kernel enable\n", "")

    monkeypatch.setattr(frr, "render_configuration", as_it_comes)
    monkeypatch.setattr(frr, "ZEBRA_OPTIONS", frr.ZEBRA_OPTIONS[:2])
    bench = bench_in(tmp_path, "heal-group", ROCE)
    place = bench.lab.place
    try:
        plant = place.read_plant()
        leaf = next(r for r in underlay_of(plant).routers if r.name == "leaf:3")
        # 2 of 8 hosts hang on the leaf, and the 6 others are reached over two spines.
        whole, halved = (2 + 6 * 2, 2 + 6 * 2), (2 + 6 * 2, 2 + 6)
        assert route_counts(place, plant, leaf) == whole
        space = namespace_of(place.mark, "leaf:3")
        run(["ip", "-n", space, "link", "set", "swp3", "down"])
        assert wait_until(lambda: route_counts(place, plant, leaf)[0] == 2 + 6)
        run(["ip", "-n", space, "link", "set", "swp3", "up"])
        assert wait_until(lambda: route_counts(place, plant, leaf) == halved)
        step = only(bench.heal())
        assert step.plan.finding.kind == FaultKind.LOST_PATHS
        assert step.outcome is not None
        assert step.outcome.result == "healed", step.outcome
        assert "leaf:3: routing has 14 ways, the kernel 14" in step.outcome.says
        assert route_counts(place, plant, leaf) == whole
    finally:
        bring_down(place)


def test_a_host_with_a_bad_cable_is_left_to_people(roce: Bench) -> None:
    roce.lab.fault("silent-drop", "nic:5", "--share", "0.2")
    step = only(roce.heal())
    assert step.plan.finding.part == PartId("nic", 5)
    assert [act.verb for act in step.plan.acts] == ["ticket"]


def test_locate_sees_a_lab_live(roce: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    # A tenth: BFD gives up after three in a row, which a loss of 30 % makes in seconds.
    roce.lab.fault("silent-drop", "leaf:2->spine:1", "--share", "0.1")
    place = roce.lab.place
    scenario = place.path.parent.parent / "heal-roce.yaml"
    capsys.readouterr()
    arguments = ["--lab", place.name, "--dir", str(place.path.parent)]
    assert main(["locate", str(scenario), *arguments]) == 0
    assert "(leaf:2->spine:1)" in capsys.readouterr().out
