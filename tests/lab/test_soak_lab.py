"""Faults and people at random on a real lab, one watch over all of it (after SimGrid's monkey).

Whatever is done, by netloom's own faults or behind its back: the watch locates it and nothing else,
forgets it once it is over, healing never takes more than policy allows, and the store is whole.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from labs_under_test import OWN, LabUnderTest, lab_in, need

from netloom.app.heal.run import journal_of
from netloom.app.heal.site import LabSite
from netloom.app.lab.labs import bring_down
from netloom.app.watch import watch
from netloom.app.watch.sources import WatchSources
from netloom.cli.main import main
from netloom.cli.operate.designed import designed_at
from netloom.drivers import vty
from netloom.drivers.clock import WallClock
from netloom.drivers.programs import run
from netloom.ops.heal.log import in_force
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import interface_name, underlay_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from netloom.ops.heal.log import LogEntry
    from netloom.ops.observe.cases import Case
    from netloom.ops.plant import Cable

pytestmark = [pytest.mark.lab, pytest.mark.timeout(20_000)]

EIGHT_PORTS = OWN.replace('{ count = 4, rate = "400Gbps" }', '{ count = 8, rate = "400Gbps" }')
SOAK_S = float(os.environ.get("NETLOOM_SOAK_S", "7200"))
MOST_LOOKS = 15  # to find a fault, and to forget it
POLICY = """
heal:
  by_itself: [drain, reroute, ticket]
  most_capacity_away: 100%
  most_uplinks_away: 50%
  most_slowdown: 100%
  quiet: 0s
"""


@dataclass(frozen=True)
class SoakedLab:
    """A lab of 16 hosts, 4 leaves and 2 spines, and who does things to it."""

    lab: LabUnderTest
    folder: Path
    rng: np.random.Generator

    @property
    def scenario(self) -> Path:
        return self.folder / "rocev2-400g.yaml"

    @property
    def store(self) -> Path:
        return self.folder / "soak.db"

    def look(self, rounds: int = 1) -> list[Case]:
        """Return the cases that are open after so many looks."""
        report = watch(
            designed_at(self.scenario),
            sources=WatchSources(lab=self.lab.place),
            store=self.store,
            every_s=0.2,
            rounds=rounds,
            clock=WallClock(),
        )
        return [case for case in report.cases if case.closed_s is None]

    def uplink(self) -> Cable:
        """Return a cable between switches."""
        plant = self.lab.place.read_plant()
        some = [c for c in plant.cables if plant.devices[c.lower.device].role != "host"]
        return some[int(self.rng.integers(len(some)))]

    def space(self, device: str) -> str:
        return namespace_of(self.lab.place.mark, device)

    def names(self, cable: Cable) -> tuple[str, str]:
        plant = self.lab.place.read_plant()
        return plant.devices[cable.lower.device].name, plant.devices[cable.upper.device].name

    @contextmanager
    def own_fault(self, *what: str) -> Iterator[tuple[str, set[str]]]:
        """Use netloom's own hands."""
        cable = self.uplink()
        self.lab.fault(what[0], f"cable:{cable.number}", *what[1:])
        yield f"cable:{cable.number}", {"missing cable", "loss", "session down", "black hole"}
        self.lab.fault("clear")

    @contextmanager
    def port_down(self) -> Iterator[tuple[str, set[str]]]:
        """A person shuts a port of a leaf."""
        cable, plant = self.uplink(), self.lab.place.read_plant()
        leaf, port = self.names(cable)[0], interface_name(plant, cable.lower)
        run(["ip", "-n", self.space(leaf), "link", "set", port, "down"])
        yield f"cable:{cable.number}", {"missing cable", "port shut"}
        run(["ip", "-n", self.space(leaf), "link", "set", port, "up"])

    @contextmanager
    def session_shut(self) -> Iterator[tuple[str, set[str]]]:
        """A person shuts a session at one end."""
        cable, plant = self.uplink(), self.lab.place.read_plant()
        leaf, port = self.names(cable)[0], interface_name(plant, cable.lower)
        asn = {r.name: r.asn for r in underlay_of(plant).routers}[leaf]
        lines = [f"router bgp {asn}", f"neighbor {port} shutdown"]
        vty.configure(self.space(leaf), "bgpd", lines)
        yield f"cable:{cable.number}", {"session down"}
        vty.configure(self.space(leaf), "bgpd", [lines[0], f"no {lines[1]}"])

    @contextmanager
    def route(self, kind: str) -> Iterator[tuple[str, set[str]]]:
        """A person leaves a route behind: to a host of another leaf."""
        number = int(self.rng.integers(4))
        target = f"10.128.0.{2 * ((4 * number + 5) % 16) + 1}/32"
        space = self.space(f"leaf:{number}")
        made = ["blackhole", target] if kind == "blackhole" else [target, "dev", "swp5"]
        run(["ip", "-n", space, "route", "add", *made])
        yield f"leaf:{number}", {f"{kind} route"}
        run(["ip", "-n", space, "route", "del", *made])

    @contextmanager
    def address_twice(self) -> Iterator[tuple[str, set[str]]]:
        """A person gives a host the address of another."""
        number = int(self.rng.integers(15))
        twice = [f"10.128.0.{2 * number + 3}/32", "dev", "eth0"]
        space = self.space(f"nic:{number}")
        run(["ip", "-n", space, "addr", "add", *twice])
        yield f"nic:{number}", {"duplicate address"}
        run(["ip", "-n", space, "addr", "del", *twice])

    @contextmanager
    def host_mtu(self) -> Iterator[tuple[str, set[str]]]:
        """A person sets the MTU of a host's port."""
        number = int(self.rng.integers(16))
        space, plant = self.space(f"nic:{number}"), self.lab.place.read_plant()
        (cable,) = plant.find(f"nic:{number}")
        run(["ip", "-n", space, "link", "set", "eth0", "mtu", "1500"])
        yield f"cable:{cable.number}", {"large-packet loss", "wrong MTU"}
        run(["ip", "-n", space, "link", "set", "eth0", "mtu", "9000"])

    def doings(self) -> dict[str, Callable[[], AbstractContextManager[tuple[str, set[str]]]]]:
        """Return what may be done, by name."""
        return {
            "unlink": lambda: self.own_fault("unlink"),
            "silent drop": lambda: self.own_fault("silent-drop"),
            "lossy": lambda: self.own_fault("silent-drop", "--share", "0.2"),
            "port down": self.port_down,
            "session shut": self.session_shut,
            "blackhole route": lambda: self.route("blackhole"),
            "foreign route": lambda: self.route("foreign"),
            "address twice": self.address_twice,
            "MTU of a host": self.host_mtu,
        }

    def located(self, part: str, kinds: set[str], what: str) -> None:
        """Look until the fault is found; nothing else may ever be."""
        cases: list[Case] = []
        for _ in range(MOST_LOOKS):
            cases = self.look()
            others = [
                (case.label, case.kind)
                for case in cases
                if str(case.part).split(" ")[0] != part and not self.ends_in(part, case)
            ]
            assert not others, (what, part, others)
            if any(case.kind in kinds for case in cases):
                return
        pytest.fail(f"{what} at {part} was not found in {MOST_LOOKS} looks: {cases}")

    def ends_in(self, part: str, case: Case) -> bool:
        """Return whether a case is of a switch that the cable *part* ends in."""
        plant = self.lab.place.read_plant()
        ends = {n for cable in plant.find(part) for n in self.names(cable)}
        return part.startswith("cable:") and str(case.part) in ends

    def forgotten(self, what: str) -> None:
        """Look until no case is open."""
        cases: list[Case] = []
        for _ in range(MOST_LOOKS):
            cases = self.look()
            if not cases:
                return
        pytest.fail(f"{what} is over and still told: {cases}")

    def heal(self) -> None:
        """Let netloom heal by itself; no leaf ever loses more than half of its uplinks to it."""
        (self.folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
        place = self.lab.place
        where = [str(self.scenario), "--lab", place.name, "--dir", str(place.path.parent)]
        main(["heal", *where, "--policy", str(self.folder / "policy.yaml"), "--json"])
        plant, acts = place.read_plant(), self.drains()
        drained = Counter(
            name
            for act in acts
            for cable in plant.cables_of(act.part)
            for name in self.names(cable)
            if name.startswith("leaf:")
        )
        assert all(count <= 2 for count in drained.values()), drained  # of four uplinks
        for act in acts:
            assert main(["heal", *where, "--undo", str(act.act), "--by", "monkey"]) == 0
        assert not self.drains()

    def drains(self) -> list[LogEntry]:
        """Return the drains that stand."""
        entries = journal_of(LabSite(place=self.lab.place)).entries()
        return [one for one in in_force(entries) if one.verb == "drain"]

    def is_whole(self) -> bool:
        with closing(sqlite3.connect(self.store)) as file:
            return file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.fixture
def soaked(tmp_path: Path) -> Iterator[SoakedLab]:
    need("roce")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labs_under_test.OWN", EIGHT_PORTS)
        lab = lab_in(tmp_path, "soak", "rocev2-400g", 2)
    try:
        yield SoakedLab(lab, tmp_path, np.random.default_rng(18))
    finally:
        bring_down(lab.place)


def soak(lab: SoakedLab, names: list[str], heals: float) -> None:
    """Do these things one after the other; *heals* is how often netloom heals meanwhile."""
    for name in names:
        with lab.doings()[name]() as (part, kinds):
            lab.located(part, kinds, name)
            if lab.rng.random() < heals and part.startswith("cable:"):
                lab.heal()
        lab.forgotten(name)
        assert lab.is_whole()


def test_faults_and_people_at_random_are_each_located_and_none_is_invented(
    soaked: SoakedLab,
) -> None:
    soaked.forgotten("nothing")
    soak(soaked, ["port down", "foreign route"], heals=0.0)


@pytest.mark.long
def test_two_hours_of_faults_and_people_at_random(soaked: SoakedLab) -> None:
    soaked.forgotten("nothing")
    end_s, done = time.monotonic() + SOAK_S, Counter[str]()
    while time.monotonic() < end_s:
        name = str(soaked.rng.choice(sorted(soaked.doings())))
        soak(soaked, [name], heals=0.3)
        done[name] += 1
    (soaked.folder / "done.txt").write_text(f"{done.total()} faults: {dict(done)}\n")
    assert SOAK_S < 7200 or set(done) == set(soaked.doings())
