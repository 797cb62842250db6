from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from netloom.cli.main import main
from netloom.drivers.clock import WallClock
from netloom.drivers.metrics_server import Server
from netloom.ops.observe.observation import whole
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = Path(__file__).parents[2] / "data"
# 16 hosts on 4 leaves of 4, joined by one spine: what tests/data/lab was printed on.
INFINIBAND = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "ib.yaml"
    path.write_text(INFINIBAND, encoding="utf-8")
    return path


@pytest.fixture
def ethernet(tmp_path: Path) -> Path:
    path = tmp_path / "eth.yaml"
    path.write_text(INFINIBAND.replace("infiniband-ndr", "rocev2-400g"), encoding="utf-8")
    return path


@pytest.fixture
def target() -> Iterator[str]:
    server = Server("127.0.0.1", 0)
    server.put((RECORDED / "watch" / "node_exporter.prom").read_bytes(), {"status": "ok"})
    yield f"http://127.0.0.1:{server.port}/metrics"
    server.close()


def cable_list(tmp_path: Path, scenario: Path) -> Path:
    """Return a file with every cable of the design."""
    from netloom.cli.operate.designed import designed_at  # noqa: PLC0415

    plant = designed_at(scenario, None).plant
    rows = ["a_device,a_port,b_device,b_port,rate"]
    for cable in plant.cables:
        ends = [(plant.devices[p.device].name, p.number) for p in cable.ends]
        (one, port), (other, peer) = ends
        rows.append(f"{one},{port},{other},{peer},{cable.rate_bps / 1e9:g}Gbps")
    path = tmp_path / "cables.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_an_audit_of_the_design_itself_finds_nothing(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cable_list(tmp_path, scenario)
    assert main(["audit", str(scenario), "--from", str(path)]) == 0
    num_cables = len(path.read_text("utf-8").splitlines()) - 1
    said = capsys.readouterr().out
    assert said == f"{num_cables} of {num_cables} cables are where they should be\n"


def test_an_audit_names_what_differs_and_says_so_with_its_status(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cable_list(tmp_path, scenario)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:1], *lines[2:]]), encoding="utf-8")
    assert main(["audit", str(scenario), "--from", str(path), "--json"]) == 1
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    # nic:0 has one port: without its cable it cannot be seen at all.
    (one,) = found["differences"]
    assert (one["kind"], one["parts"]) == ("silent", ["nic:0"])
    assert one["text"] == "R000 nic:0 does not answer; with it 1 cable cannot be seen"


def test_an_audit_is_written_as_a_page(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "audit.html"
    path = cable_list(tmp_path, scenario)
    assert main(["audit", str(scenario), "--from", str(path), "--report", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.startswith(("<!doctype html>", "<!DOCTYPE html>"))
    assert "cables are where they should be" in text
    assert "cables are where they should be" in capsys.readouterr().out


def test_what_is_located_is_written_as_a_page_unless_it_is_a_store(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, seen = tmp_path / "locate.html", tmp_path / "seen.json"
    seen.write_text('{"flows": []}', encoding="utf-8")
    arguments = ["locate", str(scenario), "--report", str(page)]
    assert main([*arguments, "--observations", str(seen)]) == 0
    assert "as told by 0 flows and probes" in page.read_text("utf-8")
    page.unlink()
    assert main([*arguments, "--store", str(tmp_path / "watch.db")]) == 2
    assert "a page is of one look" in capsys.readouterr().err
    assert not page.exists()


def test_names_of_real_devices_lead_to_ours(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cable_list(tmp_path, scenario)
    path.write_text(path.read_text("utf-8").replace("leaf:0,", "rack1-ib1,"), encoding="utf-8")
    names = tmp_path / "names.csv"
    names.write_text("name,device\nrack1-ib1,leaf:0\n", encoding="utf-8")
    assert main(["audit", str(scenario), "--from", str(path)]) == 1
    assert main(["audit", str(scenario), "--from", str(path), "--names", str(names)]) == 0
    capsys.readouterr()


def test_a_watch_keeps_what_targets_and_jobs_say(
    ethernet: Path, tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = tmp_path / "llama.jsonl"
    steps.write_text('{"step": 1, "step_s": 2.5, "time_s": 1800000000}\n', encoding="utf-8")
    store = tmp_path / "store.db"
    arguments = ["--scrape", target, "--steps", str(steps), "--store", str(store), "--once"]
    assert main(["watch", str(ethernet), *arguments]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["start", "round", "stop"]
    assert main(["watch", str(ethernet), *arguments, "--nccl-log", str(tmp_path / "no.log")]) == 1
    assert "no.log: cannot be read" in capsys.readouterr().err
    with ObservationStore(store) as kept:
        found = {(part, metric): value for _, part, metric, value in kept.latest()}
    assert found["job:llama/rank:0", "step_s"] == 2.5
    assert found["127.0.0.1/mlx5_0[1]", "sent_bytes"] == 28.0


def test_a_watch_that_is_killed_reads_every_step_once(
    ethernet: Path, tmp_path: Path, target: str
) -> None:
    steps, store = tmp_path / "llama.jsonl", tmp_path / "store.db"
    steps.touch()
    command = [sys.executable, "-m", "netloom.cli.main", "watch", str(ethernet), "--scrape", target]
    command += ["--steps", str(steps), "--store", str(store), "--every", "0.1s"]
    written = 0
    for number in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stderr is not None
            for _ in range(4):  # the start and three rounds
                process.stderr.readline()
                with steps.open("a", encoding="utf-8") as file:
                    line = {"step": written, "step_s": written, "time_s": 1.8e9 + written}
                    file.write(json.dumps(line) + "\n")
                written += 1
            time.sleep(0.15)
            os.kill(process.pid, number)
            assert process.wait(300) == (0 if number == signal.SIGTERM else -number)
    assert main(["watch", str(ethernet), *command[5:9], "--store", str(store), "--once"]) == 0
    with ObservationStore(store) as kept:
        values = [o.value for o in kept.values("job:llama/rank:0", "step_s", 0, 1e10)]
    assert values == [float(n) for n in range(written)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give --inventory, --lab, --scrape or --adapters"),
        (["--lab", "nowhere"], "there is no lab 'nowhere'"),
        (["--scrape", "file:///etc/passwd"], "--scrape"),
        (["--adapters", "--every", "0s"], "--every"),
        (["--adapters", "--max-size", "many"], "--max-size"),
        (["--adapters", "--once", "--listen", "9787"], "--listen"),
    ],
)
def test_a_watch_that_cannot_be_is_refused(
    ethernet: Path,
    tmp_path: Path,
    arguments: list[str],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = ["--store", str(tmp_path / "s.db"), "--dir", str(tmp_path)]
    assert main(["watch", str(ethernet), *arguments, *more]) == 2
    assert says in capsys.readouterr().err


def test_rules_board_and_unit_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", "--files", str(tmp_path / "out")]) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        *("netloom-alerts.yml", "netloom-dashboard.json", "netloom-watch.service"),
        *("netloom-sysusers.conf", "netloom-umad.rules"),
        *("netloom-alertmanager.yml", "netloom-ticket.schema.json"),
    }
    assert main(["watch"]) == 2
    capsys.readouterr()


def test_a_folder_that_cannot_be_made_is_the_users_trouble(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    assert main(["watch", "--files", str(tmp_path / "taken" / "out")]) == 2
    assert "cannot be made a folder (Not a directory); name another" in capsys.readouterr().err


def lossy_flows(path: Path) -> None:
    """Write flows of eight GPUs, those of the fourth with a loss of 1 %."""
    flows = [
        {
            "source": f"gpu:{source}",
            "target": f"gpu:{target}",
            "path": [f"gpu:{source}->nic:{source}", f"nic:{source}->leaf:0"],
            "packets": 100_000,
            "lost": 1000 if source == 3 else 0,
        }
        for source in range(8)
        for target in range(8, 16)
    ]
    path.write_text(json.dumps({"flows": flows}), encoding="utf-8")


def test_a_watch_that_is_killed_goes_on_with_the_same_finding(
    ethernet: Path, tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flows, store = tmp_path / "flows.json", tmp_path / "store.db"
    lossy_flows(flows)
    command = [sys.executable, "-m", "netloom.cli.main", "watch", str(ethernet), "--scrape", target]
    command += ["--flows", str(flows), "--store", str(store), "--every", "0.1s"]
    for _ in range(2):
        with subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            while '"event": "round"' not in process.stderr.readline():
                pass
            time.sleep(0.2)
            os.kill(process.pid, signal.SIGKILL)
            assert process.stdout is not None
            said = process.stdout.read()
        told = ["opened: nic:3: loss" in line for line in said.splitlines()]
        assert told in ([True], [])  # by the first process, by no other
    assert main(["locate", str(ethernet), "--store", str(store), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["result"]["findings"]
    assert (one["part"], one["kind"], one["closed_s"]) == ("nic:3", "loss", None)
    assert main(["locate", str(ethernet), "--store", str(store)]) == 0
    assert capsys.readouterr().out.startswith("nic:3: loss, ")


def test_a_store_that_is_not_written_any_more_does_not_say_that_all_is_well(
    ethernet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "watch.db"
    command = ["locate", str(ethernet), "--store", str(path)]
    with ObservationStore(path) as store:
        assert main(command) == 0
        assert capsys.readouterr().out == "The watch has not looked yet: nothing is known.\n"
        store.add(whole("probes", WallClock().now_s(), [], cursor=""))
        assert main(command) == 0
        assert capsys.readouterr().out == "Nothing is broken that the watch could tell.\n"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE poll SET time_us = time_us - 3600000000, error = 'gone'")
    assert main(command) == 0
    _, stale, failing = capsys.readouterr().out.splitlines()
    assert stale.startswith("not known: what happened since the last look, 20")
    assert failing == "not known: what probes would tell; the last look at it failed"
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["result"]
    assert told["failing"] == ["probes"]
    assert WallClock().now_s() - told["looked_s"] == pytest.approx(3600, abs=60)


def test_findings_of_no_store_are_refused(
    ethernet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent, text = tmp_path / "absent.db", tmp_path / "text.db"
    text.write_text("no store, and longer than the head of one would be" * 20, encoding="utf-8")
    for path, says in ((absent, "there is no such store"), (text, "cannot be used")):
        assert main(["locate", str(ethernet), "--store", str(path)]) != 0
        assert says in capsys.readouterr().err
    assert not absent.exists()
    assert main(["locate", str(ethernet), "--store", str(text), "--lab", "x"]) == 2


def test_an_audit_takes_the_labels_of_real_ports(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = cable_list(tmp_path, scenario)
    rows = [line.split(",") for line in own.read_text("utf-8").splitlines()]
    for row in rows[1:]:
        for device, port in ((0, 1), (2, 3)):
            row[port] = "eth0" if row[device].startswith("nic:") else f"Ethernet1/{row[port]}"
    labelled = tmp_path / "labelled.csv"
    labelled.write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    command = ["audit", str(scenario), "--from", str(labelled)]
    assert main(command) == 2  # slot and port, or cage and lane?
    assert "say how they are named with --labels" in capsys.readouterr().err
    assert main([*command, "--labels", "nxos"]) == 0
    ports = tmp_path / "ports.csv"
    listed = [f",Ethernet1/{n},{n}" for n in range(1, 65)]
    ports.write_text("\n".join(["device,label,port", *listed]), encoding="utf-8")
    assert main([*command, "--ports", str(ports)]) == 0
    capsys.readouterr()


def test_other_machines_are_served_only_when_that_is_said(
    ethernet: Path, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ["--scrape", target, "--once", "--store", str(tmp_path / "s.db")]
    asked = ["watch", str(ethernet), *kept, "--listen", "0.0.0.0:0"]
    assert main(asked) == 2
    assert "--listen-openly" in capsys.readouterr().err
    assert main([*asked, "--listen-openly"]) == 0
