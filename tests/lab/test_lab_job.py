"""A real job in a real lab: its machine is sick, and healing takes it away and restarts the job."""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import need, wait_until
from test_lab_heal import OWN, ROCE, Bench, bench_in, only

from netloom.app.heal.run import journal_of
from netloom.app.heal.site import LabSite
from netloom.app.lab.labs import bring_down
from netloom.drivers.programs import run
from netloom.ops.heal.log import in_force
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import underlay_of
from netloom.spec.heal import parse_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.spec.heal import HealPolicy

pytestmark = pytest.mark.lab

assert "num_gpus = 2" in OWN  # machines of two NIC ports: nic:4 and nic:5 are node 2's
# A rank of a data-parallel job: every step 200 kB go round the ring, so that all wait for the
# slowest. Rank 0 writes the time of each step, and a checkpoint after every fifth.
RANK = """
import json, os, socket, sys, threading, time
folder, number, first, *addresses = sys.argv[1:]
number, step = int(number), int(first)
server = socket.create_server((addresses[number], 5000 + number), backlog=1)
def reach(to):
    while True:
        try:
            return socket.create_connection((addresses[to], 5000 + to), timeout=60)
        except OSError:
            time.sleep(0.05)
after = reach((number + 1) % len(addresses))
before, _ = server.accept()
data = bytes(200_000)
while True:
    begin = time.monotonic()
    sender = threading.Thread(target=after.sendall, args=(data,))
    sender.start()
    left = len(data)
    while left:
        got = len(before.recv(left))
        if not got:
            sys.exit(1)
        left -= got
    sender.join()
    step += 1
    if number == 0:
        with open(f"{folder}/steps.csv", "a") as file:
            file.write(f"{step},{time.monotonic() - begin:.6f},{len(addresses)}\\n")
        if step % 5 == 0:
            with open(f"{folder}/draft", "w") as file:
                file.write(str(step))
            os.replace(f"{folder}/draft", f"{folder}/checkpoint")
    time.sleep(0.05)
"""
# What a site's scheduler does, as commands: state in a file, machines that take no jobs.
SCHEDULER = """
import json, os, pathlib, signal, subprocess, sys, time
folder, verb, node = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
state = json.loads((folder / "state.json").read_text())
def save():
    (folder / "state.json").write_text(json.dumps(state))
if verb == "cordon":
    state["cordoned"] = sorted({*state["cordoned"], node})
elif verb == "uncordon":
    state["cordoned"] = [one for one in state["cordoned"] if one != node]
elif verb == "restart-job":
    if state.get("broken"):
        sys.exit("no such job")
    for pid in state["pids"]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    point = folder / "checkpoint"
    first = int(point.read_text()) if point.exists() else 0
    ports = [p for p in state["ports"] if p[0] not in state["cordoned"]]
    addresses = [address for _, _, address in ports]
    state["pids"] = [
        subprocess.Popen(
            ["ip", "netns", "exec", space, sys.executable, str(folder / "rank.py"), str(folder),
             str(number), str(first), *addresses],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        ).pid
        for number, (_, space, _) in enumerate(ports)
    ]
    steps = folder / "steps.csv"
    state["starts"].append([first, len(addresses), steps.read_text().count("\\n")])
elif verb == "check-job":
    steps = (folder / "steps.csv").read_text().count("\\n")
    sys.exit(0 if steps > state["starts"][-1][2] else 1)
save()
"""
POLICY = """
heal:
  by_itself: [cordon, restart-job, ticket]
  least_confidence: 50%
  quiet: 0s
  commands:
    cordon: [{python}, {script}, {folder}, cordon, "{{node}}"]
    uncordon: [{python}, {script}, {folder}, uncordon, "{{node}}"]
    restart-job: [{python}, {script}, {folder}, restart-job, "{{node}}"]
    check-job: [{python}, {script}, {folder}, check-job, "{{node}}"]
"""


class Job:
    """A job of eight ranks on the four machines of a lab."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.folder = folder
        plant = bench.lab.place.read_plant()
        ports = []
        for link in underlay_of(plant).host_links:
            name = plant.devices[link.host].name
            node = int(name.partition(":")[2]) // 2
            space = namespace_of(bench.lab.place.mark, name)
            ports.append([node, space, str(link.host_address.ip)])
        (folder / "rank.py").write_text(RANK, encoding="utf-8")
        (folder / "scheduler.py").write_text(SCHEDULER, encoding="utf-8")
        (folder / "steps.csv").touch()
        self.write({"cordoned": [], "pids": [], "ports": ports, "starts": []})

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "state.json").read_text())
        return found

    def write(self, state: dict[str, Any]) -> None:
        (self.folder / "state.json").write_text(json.dumps(state), encoding="utf-8")

    @property
    def policy(self) -> HealPolicy:
        script = self.folder / "scheduler.py"
        text = POLICY.format(python=sys.executable, script=script, folder=self.folder)
        return parse_policy(text, name="policy")

    def order(self, verb: str, node: int) -> None:
        argv = [part.replace("{node}", str(node)) for part in self.policy.commands[verb]]  # type: ignore[index]
        run(argv)

    def steps(self) -> list[tuple[int, float, int]]:
        with (self.folder / "steps.csv").open(encoding="utf-8") as file:
            return [(int(a), float(b), int(c)) for a, b, c in csv.reader(file)]

    def stop(self) -> None:
        for pid in self.state()["pids"]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    need("roce")
    made = bench_in(tmp_path_factory.mktemp("job"), "heal-job", ROCE)
    try:
        yield made
    finally:
        bring_down(made.lab.place)


@pytest.fixture
def job(bench: Bench, tmp_path: Path) -> Iterator[Job]:
    """A job that has a checkpoint."""
    made = Job(bench, tmp_path)
    made.order("restart-job", 0)
    try:
        assert wait_until((tmp_path / "checkpoint").exists)
        yield made
    finally:
        made.stop()
        bench.lab.fault("clear")


def test_a_job_leaves_a_sick_machine_and_goes_on_from_its_checkpoint(
    bench: Bench, job: Job
) -> None:
    bench.lab.fault("silent-drop", "nic:5", "--share", "0.3")
    step = only(bench.heal(job.policy))
    assert str(step.plan.finding.part) == "nic:5"
    assert [act.name for act in step.plan.acts] == [
        "cordon node:2",
        "restart-job node:2",
        "ticket nic:5",
    ]
    assert step.outcome is not None
    assert step.outcome.result == "healed", step.outcome
    assert "the job made progress since its restart" in step.outcome.says
    state = job.state()
    assert state["cordoned"] == [2]
    first, ranks, lines = state["starts"][-1]
    # It went on from its last checkpoint, a multiple of five, with the ranks of three machines.
    assert (ranks, first % 5) == (6, 0)
    assert first > 0
    again = job.steps()[lines]
    assert (again[0], again[2]) == (first + 1, 6)
    verbs = [entry.verb for entry in in_force(journal_of(LabSite(place=bench.lab.place)).entries())]
    assert verbs[-3:] == ["cordon", "restart-job", "ticket"]


def test_a_machine_takes_jobs_again_when_the_restart_fails(bench: Bench, job: Job) -> None:
    bench.lab.fault("silent-drop", "nic:5", "--share", "0.3")
    job.write({**job.state(), "broken": True})
    step = only(bench.heal(job.policy))
    assert step.outcome is not None
    assert step.outcome.result == "undone"
    assert any("no such job" in said for said in step.outcome.says)
    assert job.state()["cordoned"] == []
