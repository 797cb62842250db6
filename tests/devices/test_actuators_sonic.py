"""SONiC switches healed over a real sshd: databases in real redis-servers, ``config`` of the test.

Not recorded from a device: see ``sonic_programs``.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from devices_under_test import inventory, need
from labs_under_test import write_scenario
from sonic_programs import write_sonic_programs
from sonic_under_test import STATE_DB, hostname_of, port_label, switches_of
from ssh_under_test import SshSite, ssh_site
from test_sonic_redis import RunningSwitch, redis

from netloom.app.heal import approve, fleet_actuator, plan, target_of, undo
from netloom.app.heal.fleet import fleet_site
from netloom.app.heal.run import journal_of
from netloom.cli.main import main
from netloom.cli.operate.designed import designed_at
from netloom.errors import LabError, SpecError
from netloom.ops.heal.act import carry_out
from netloom.ops.heal.actuators import ActContext
from netloom.ops.heal.log import in_force, unfinished
from netloom.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.app.heal.fleet import FleetSite
    from netloom.ops.heal.plan import HealPlan
    from netloom.ops.plant import Cable, Plant

pytestmark = pytest.mark.lab
# Of the four uplinks of this fabric one is a quarter.
POLICY = "heal: {most_capacity_away: 30%, most_uplinks_away: 50%, least_confidence: 50%}"


@dataclass
class Fleet:
    folder: Path
    scenario: Path
    plant: Plant
    switches: dict[str, RunningSwitch]
    ssh: SshSite
    path: Path

    def heal(self, *options: str) -> list[str]:
        state = str(self.folder / "state")
        argv = ["heal", str(self.scenario), "--inventory", str(self.path), "--dir", state]
        return [*argv, "--policy", str(self.folder / "policy.yaml"), "--json", *options]

    def site(self) -> FleetSite:
        return fleet_site(load(self.scenario), self.path, folder=self.folder / "state")

    def admin(self, cable: Cable) -> dict[str, str]:
        """Return what the switches at a cable's ends are set to."""
        found = {}
        for port in cable.ends:
            name = self.plant.devices[port.device].name
            if name in self.switches:
                row = f"PORT|{port_label(port.number)}"
                found[name] = self.switches[name].ask(4, "HGET", row, "admin_status")
        return found

    def timers(self) -> list[str]:
        return [path.name for path in self.folder.glob("state-*/*.timer")]

    def uplink(self) -> Cable:
        return next(
            c for c in self.plant.cables if self.plant.devices[c.lower.device].role == "switch"
        )


@contextmanager
def fleet_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, write: bool = True
) -> Iterator[Fleet]:
    need("redis-server", "sshd")
    scenario = write_scenario(folder, "rocev2-400g", nodes=1)
    plant = designed_at(scenario, None).plant
    ssh = ssh_site(folder / "ssh", monkeypatch)
    programs = write_sonic_programs(folder / "programs")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    with ExitStack() as stack:
        switches = {
            name: stack.enter_context(redis(folder, tables))
            for name, tables in switches_of(plant).items()
        }
        devices: list[dict[str, Any]] = []
        for name, one in switches.items():
            place = folder / f"state-{hostname_of(name)}"
            place.mkdir()
            (place / "peers.json").write_text(json.dumps(peers(plant, switches, name)))
            env = {"REDIS_PORT": one.access.address.rpartition(":")[2], "SWITCH_STATE": str(place)}
            address = stack.enter_context(ssh.device(hostname_of(name), programs, env))
            common = {"name": hostname_of(name), "part": name}
            devices.append({**common, "kind": "sonic", "address": one.access.address})
            devices.append(
                {
                    **common,
                    "kind": "sonic-ssh",
                    "address": address,
                    "write": write,
                    "deadline": "20s",
                }
            )
        yield Fleet(folder, scenario, plant, switches, ssh, inventory(folder, devices, rest="0.1s"))


def peers(plant: Plant, switches: dict[str, RunningSwitch], name: str) -> dict[str, list[str]]:
    found = {}
    for cable in plant.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            other = plant.devices[there.device].name
            if plant.devices[here.device].name == name and other in switches:
                port = switches[other].access.address.rpartition(":")[2]
                found[port_label(here.number)] = [port, port_label(there.number)]
    return found


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    with fleet_in(tmp_path, monkeypatch) as one:
        yield one


def told(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = main(argv)
    said = json.loads(capsys.readouterr().out)
    return status, said.get("result", said)


def test_a_cable_is_drained_by_the_plan_of_that_name_and_given_back(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    cable = fleet.uplink()
    act = f"drain cable:{cable.number}"
    status, shown = told(fleet.heal("--act", act), capsys)
    assert status == 0
    (step,) = shown["plans"]
    assert step["verdict"] == "ask"
    assert step["outcome"] is None
    assert set(fleet.admin(cable).values()) == {"up"}
    # Both ends, each: checkpoint, timer, patch, stop the timer, delete the checkpoint.
    assert len(step["requests"]) == 2 * 5
    assert "config apply-patch /dev/stdin" in step["requests"][2]
    assert '"path":"/PORT/' in step["requests"][2]
    name = step["fingerprint"]
    status, done = told(fleet.heal("--yes", name, "--by", "Ada"), capsys)
    assert status == 0, done
    assert done["plans"][0]["outcome"]["result"] == "healed"
    assert set(fleet.admin(cable).values()) == {"down"}
    assert fleet.timers() == []
    entries = journal_of(fleet.site()).entries()
    assert {entry.by for entry in entries} == {"Ada"}
    assert entries[0].phase == "approved"
    # What was carried out is not carried out again: its effect is another now.
    status, again = told(fleet.heal("--yes", name), capsys)
    assert status == 1
    assert again["stale"]
    (number,) = (e.act for e in in_force(entries) if e.verb == "drain")
    assert main(fleet.heal("--undo", str(number))) == 0
    assert set(fleet.admin(cable).values()) == {"up"}


def test_a_slow_cable_that_collectors_find_is_planned_and_healed(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    cable = fleet.uplink()
    upper = fleet.plant.devices[cable.upper.device].name
    row = f"PORT_TABLE|{port_label(cable.upper.number)}"
    fleet.switches[upper].tables.put(STATE_DB, row, speed="100000")
    fleet.switches[upper].load()
    status, shown = told(fleet.heal(), capsys)
    (step,) = [p for p in shown["plans"] if p["finding"]["kind"] == "wrong speed"]
    assert status == 0
    assert [a["verb"] for a in step["acts"]] == ["drain", "ticket"]
    status, done = told(fleet.heal("--yes", step["fingerprint"]), capsys)
    assert status == 0, done
    assert set(fleet.admin(cable).values()) == {"down"}


def test_ports_that_a_person_shut_count_toward_the_limit(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each leaf has two uplinks: with one shut by a person, a drain of the other is refused."""
    first = fleet.uplink()
    leaf = first.lower.device
    other = next(c for c in fleet.plant.cables if c.lower.device == leaf and c != first)
    name = fleet.plant.devices[leaf].name
    fleet.switches[name].tables.set_port(
        first.lower.number, admin_status="down", oper_status="down"
    )
    fleet.switches[name].load()
    status, shown = told(fleet.heal("--act", f"drain cable:{other.number}"), capsys)
    step = shown["plans"][-1]
    assert f"cable:{first.number}" in shown["away"]
    assert step["verdict"] == "refuse"
    assert status == 1


def test_a_device_without_write_is_never_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with fleet_in(tmp_path, monkeypatch, write=False) as fleet:
        status = main(fleet.heal("--act", f"drain cable:{fleet.uplink().number}"))
        assert status == 2
        assert "write: true" in capsys.readouterr().out
        assert fleet.ssh.calls() == 0


def test_a_patch_that_the_switch_refuses_leaves_the_old_configuration(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    cable = fleet.uplink()
    name = fleet.plant.devices[cable.lower.device].name  # the second; the upper end is the canary
    (fleet.folder / f"state-{hostname_of(name)}" / "broken").touch()
    _, shown = told(fleet.heal("--act", f"drain cable:{cable.number}"), capsys)
    status, done = told(fleet.heal("--yes", shown["plans"][0]["fingerprint"]), capsys)
    assert status == 1
    assert done["plans"][0]["outcome"]["result"] == "undone"
    assert set(fleet.admin(cable).values()) == {"up"}
    assert fleet.timers() == []


def test_a_cable_that_carries_on_though_its_ports_read_back_shut_is_given_back(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_actuator, "SETTLE_S", 2.0)
    cable = fleet.uplink()
    for place in fleet.folder.glob("state-*"):
        (place / "stuck").touch()
    _, shown = told(fleet.heal("--act", f"drain cable:{cable.number}"), capsys)
    status, done = told(fleet.heal("--yes", shown["plans"][0]["fingerprint"]), capsys)
    assert status == 1
    outcome = done["plans"][0]["outcome"]
    assert outcome["result"] == "undone"
    assert any("still carries" in line for line in outcome["says"])
    assert set(fleet.admin(cable).values()) == {"up"}


def test_a_drain_that_a_person_took_back_counts_no_more(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    cable = fleet.uplink()
    act = f"drain cable:{cable.number}"
    _, shown = told(fleet.heal("--act", act), capsys)
    status, _ = told(fleet.heal("--yes", shown["plans"][0]["fingerprint"]), capsys)
    assert status == 0
    _, drained = told(fleet.heal(), capsys)
    assert drained["away"] == [f"cable:{cable.number}"]
    assert drained["plans"] == []  # healing's own drain is no fault
    for one in fleet.switches.values():
        one.load()  # all ports up, as they were
    _, now = told(fleet.heal(), capsys)
    assert now["away"] == []


def approved(fleet: Fleet, site: FleetSite, cable: Cable) -> HealPlan:
    from netloom.app.heal.report import HealOrder  # noqa: PLC0415
    from netloom.app.heal.request import parse_act  # noqa: PLC0415

    order = HealOrder(asked=(parse_act(f"shut cable:{cable.number}"),))
    shown = plan(target_of(load(fleet.scenario)), site, order=order)
    (step,) = shown.steps
    approve(step.plan.fingerprint, site, by="Ada")
    return step.plan


class Desk:
    def apply(self, act: object, token: str = "") -> tuple[str, str]:
        return f"noted {act}", token

    def undo(self, act: object, token: str) -> str:
        return f"noted {act} {token}"

    def verify(self, plan: object) -> None:
        raise AssertionError(plan)


def carried_out(plan: HealPlan, site: FleetSite, first: int) -> NoReturn:
    """Carry a plan out in a process of its own, and end that whatever comes."""
    try:
        hands = site.actuator(ActContext(desk=Desk()))  # type: ignore[arg-type]
        carry_out(plan, hands, journal_of(site), lambda: 1.0, first=first, by="Ada")
    finally:
        os._exit(0)


@pytest.mark.parametrize(
    ("when", "stride"),
    [
        ("before", 3),
        ("after", 3),
        pytest.param("before", 1, marks=pytest.mark.long),
        pytest.param("after", 1, marks=pytest.mark.long),
    ],
)
def test_killed_at_any_request_each_switch_has_the_old_or_the_new_and_the_next_run_says_which(
    fleet: Fleet, when: str, stride: int
) -> None:
    cable = fleet.uplink()
    site = fleet.site()
    one = approved(fleet, site, cable)
    journal = journal_of(site)
    num_killed, call = 0, 1 - stride
    while True:
        call += stride
        fleet.ssh.kill_at(when, call)
        first = 1 + max((e.act for e in journal.entries()), default=0)
        child = os.fork()
        if child == 0:
            carried_out(one, site, first)
        _, status = os.waitpid(child, 0)
        fleet.ssh.kill_never()
        states = fleet.admin(cable)
        assert set(states.values()) <= {"up", "down"}
        for entry in unfinished(journal.entries()):
            says = " ".join(site.state_of(entry))
            for name, state in states.items():
                word = "old" if state == "up" else "new"
                assert f"{hostname_of(name)} has the {word} configuration" in says, says
        open_ones = (*in_force(journal.entries()), *unfinished(journal.entries()))
        if not open_ones:
            assert set(states.values()) == {"up"}
        for entry in open_ones:
            undo(entry.act, site=site, by="Ada")
        assert set(fleet.admin(cable).values()) == {"up"}
        assert unfinished(journal.entries()) == ()
        assert fleet.timers() == []
        if os.WIFEXITED(status):
            break
        num_killed += 1
    # All requests that change something, at both ends: five each; with a stride some of both.
    assert num_killed == -(-2 * 5 // stride)


def test_a_change_that_was_not_confirmed_goes_back_by_itself(fleet: Fleet) -> None:
    """netloom is killed right behind the patch; the switch's timer runs out."""
    cable = fleet.uplink()
    site = fleet.site()
    one = approved(fleet, site, cable)
    journal = journal_of(site)
    fleet.ssh.kill_at("after", 3)  # checkpoint, timer and patch of the canary
    child = os.fork()
    if child == 0:
        carried_out(one, site, 1)
    os.waitpid(child, 0)
    fleet.ssh.kill_never()
    upper = fleet.plant.devices[cable.upper.device].name
    assert fleet.admin(cable)[upper] == "down"
    (entry,) = unfinished(journal.entries())
    assert any("not confirmed" in line for line in site.state_of(entry))
    (timer,) = fleet.folder.glob("state-*/*.timer")
    config, verb, name = timer.read_text(encoding="utf-8").split()
    device = site.devices.named(hostname_of(upper), "sonic-ssh")
    from netloom.drivers.devices.shell import HostShell  # noqa: PLC0415

    HostShell(device.writer.access).run([config, verb, name])  # type: ignore[attr-defined]
    timer.unlink()
    assert fleet.admin(cable)[upper] == "up"
    assert any(f"{hostname_of(upper)} has the old" in line for line in site.state_of(entry))


def test_names_that_were_not_shown_and_persons_without_a_name_are_refused(fleet: Fleet) -> None:
    site = fleet.site()
    site.check()
    with pytest.raises(SpecError, match="no plan called"):
        approve("../../etc", site, by="Ada")
    with pytest.raises(SpecError, match="no plan called"):
        approve("0123456789ab", site, by="Ada")
    with pytest.raises(SpecError, match="name of a person"):
        approve("0123456789ab", site, by=" ")
    with pytest.raises(LabError):
        site.devices.named("nothing", "sonic-ssh")
