"""Real OpenSM and infiniband-diags on ibsim, watched and audited by the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import LabUnderTest, free_port, infiniband_lab, wait_until

from netloom.app.watch.sources import collectors_in_lab
from netloom.cli.main import main
from netloom.cli.operate.designed import designed_at
from netloom.errors import LabError
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.observe.windows import Summary

pytestmark = pytest.mark.lab

CABLES, SYMBOL_ERRORS = 32, 1234


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with infiniband_lab(tmp_path_factory.mktemp("watch-ib")) as made:
        yield made


@pytest.fixture(autouse=True)
def mended(lab: LabUnderTest) -> Iterator[None]:
    yield
    lab.fault("clear")


def where(lab: LabUnderTest) -> list[str]:
    labs = lab.place.path.parent
    scenario = labs.parent / "infiniband-ndr.yaml"
    return [str(scenario), "--lab", lab.place.name, "--dir", str(labs)]


def audited(lab: LabUnderTest, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    status = main(["audit", *where(lab), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    assert status == int(bool(found["differences"]))
    return found


def test_a_lab_is_built_as_designed(lab: LabUnderTest, capsys: pytest.CaptureFixture[str]) -> None:
    def seen() -> tuple[list[object], int, int]:
        found = audited(lab, capsys)
        return found["differences"], found["num_right"], found["num_unknown_speed"]

    assert wait_until(lambda: seen() == ([], CABLES, 0))


def differences(lab: LabUnderTest, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, Any]]:
    return [(one["kind"], one["cables"]) for one in audited(lab, capsys)["differences"]]


def test_a_pulled_cable_is_missing_by_rack_and_port(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    cable = lab.place.read_plant().find("leaf:3")[-1]
    lab.fault("unlink", f"cable:{cable.number}")
    assert wait_until(lambda: differences(lab, capsys) == [("missing", [cable.number])])
    (one,) = audited(lab, capsys)["differences"]
    # One rack for the two nodes, one for the leaves, one for the spines.
    assert one["text"].startswith("no cable from R00")
    assert f"leaf:3 port {cable.lower.number}" in one["text"]


def test_a_miswired_pair_is_swapped(lab: LabUnderTest, capsys: pytest.CaptureFixture[str]) -> None:
    plant = lab.place.read_plant()
    pair = [plant.find("leaf:2")[-1].number, plant.find("leaf:3")[-1].number]
    lab.fault("miswire", f"cable:{pair[0]}", f"cable:{pair[1]}")
    assert wait_until(lambda: differences(lab, capsys) == [("swapped", pair)])


def test_a_slow_cable_has_the_wrong_speed(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    cable = lab.place.read_plant().find("leaf:1")[-1]
    lab.fault("slow-link", f"cable:{cable.number}", "--factor", "2")
    assert wait_until(lambda: differences(lab, capsys) == [("wrong-speed", [cable.number])])


def test_a_dead_switch_and_what_hangs_on_it_are_silent(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.fault("dead-switch", "spine:1")

    def seen() -> list[tuple[str, list[str], int]]:
        found = audited(lab, capsys)["differences"]
        return [(one["kind"], one["parts"], len(one["cables"])) for one in found]

    assert wait_until(lambda: seen() == [("silent", ["spine:1"], 8)])


def test_a_dead_leaf_is_seen_from_a_host_on_another(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    # nic:15, from where one would look first, hangs on leaf:3.
    lab.fault("dead-switch", "leaf:3")
    silent = {"leaf:3", "nic:12", "nic:13", "nic:14", "nic:15"}

    def seen() -> set[str]:
        return {one["parts"][0] for one in audited(lab, capsys)["differences"]}

    assert wait_until(lambda: seen() == silent)
    designed = designed_at(Path(where(lab)[0]), None)
    links = collectors_in_lab(lab.place, designed)[0]
    reading = links.read(0.0, "")
    assert reading.error == ""
    assert sum(o.value for o in reading.observations if o.metric == "link_up") == 2 * (CABLES - 8)


def test_a_look_sees_every_port_and_errors_as_they_rise(lab: LabUnderTest, tmp_path: Path) -> None:
    plant = lab.place.read_plant()
    cable = plant.find("leaf:1")[-1]
    every = {plant.port_name(port) for one in plant.cables for port in one.ends}
    ends = {plant.port_name(port) for port in cable.ends}

    def look(metric: str) -> dict[str, Summary]:
        """Look once more, and return what was seen so far of a metric; nothing if it failed."""
        store = tmp_path / "store.db"
        if main(["watch", *where(lab), "--store", str(store), "--once"]) != 0:
            return {}
        with ObservationStore(store) as kept:
            return dict(kept.window(metric, 0, 1e10))

    # On a busy machine infiniband-diags give up on ports that answer late.
    assert wait_until(lambda: {part for part, one in look("link_up").items() if one.last} == every)
    assert wait_until(lambda: {one.last for one in look("rate_bps").values()} == {200e9})  # HDR
    assert wait_until(lambda: look("symbol_errors").keys() >= ends)
    lab.fault("symbol-errors", f"cable:{cable.number}", "--count", str(SYMBOL_ERRORS))
    risen = dict.fromkeys(ends, float(SYMBOL_ERRORS))

    def rises() -> dict[str, float]:
        return {part: one.increase for part, one in look("symbol_errors").items() if one.increase}

    assert wait_until(lambda: rises() == risen)


def test_a_dead_manager_is_noticed_although_its_log_is_silent(lab: LabUnderTest) -> None:
    designed = designed_at(Path(where(lab)[0]), None)
    links, counters, *_ = collectors_in_lab(lab.place, designed)

    def has_master() -> bool:
        seen = links.read(0.0, "").observations
        assert sum(o.value for o in seen if o.metric == "link_up") == 2 * CABLES
        return {o.value for o in seen if o.metric == "sm_master"} == {1.0}

    assert wait_until(has_master)
    lab.fault("dead-sm")
    assert not has_master()
    with pytest.raises(LabError, match="is a subnet manager up"):
        counters.read(0.0, "")
    lab.fault("clear")
    assert wait_until(has_master)


@contextmanager
def watching(lab: LabUnderTest, store: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "netloom.cli.main", "watch", *where(lab), "--every", "0.5s"]
    command += ["--store", str(store), "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def answer(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=60) as found:  # noqa: S310
            return json.load(found)
    except (OSError, ValueError):
        return {}


def test_a_watch_ends_cleanly_when_asked_and_goes_on_after_kill_9(
    lab: LabUnderTest, tmp_path: Path
) -> None:
    store, port = tmp_path / "store.db", free_port()
    health = f"http://127.0.0.1:{port}/health"
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        with watching(lab, store, port) as process:
            assert wait_until(lambda: answer(health).get("status") == "ok")
            os.kill(process.pid, number)
            status = process.wait(300)
            assert process.stderr is not None
            lines = [json.loads(line) for line in process.stderr.read().splitlines()]
        assert lines[0]["event"] == "start"
        if number == signal.SIGKILL:
            assert status == -signal.SIGKILL
        else:
            assert (status, lines[-1]["event"]) == (0, "stop")
    with ObservationStore(store) as kept:
        rows = kept.connection.execute("SELECT time_us FROM poll ORDER BY time_us").fetchall()
        states = [e.text for e in kept.events(0, 1e10) if e.kind == "sm-state"]
    assert len(rows) == len(set(rows))
    assert len(states) == len(set(states))  # the log was read on, not again


PROMETHEUS = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: netloom
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""


def test_an_error_in_the_fabric_becomes_an_alert_of_prometheus(
    lab: LabUnderTest, tmp_path: Path
) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("apt-get install prometheus")
    assert main(["watch", "--files", str(tmp_path)]) == 0
    port, own = free_port(), free_port()
    config = tmp_path / "prometheus.yml"
    rules = tmp_path / "netloom-alerts.yml"
    config.write_text(PROMETHEUS.format(rules=rules, port=port), encoding="utf-8")
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    command.append(f"--web.listen-address=127.0.0.1:{own}")
    api = f"http://127.0.0.1:{own}/api/v1/"
    query = "query?query=infiniband_switch_port_symbol_error_total"

    def num_scraped() -> int:
        return len(answer(api + query).get("data", {}).get("result", []))

    def alerts() -> set[tuple[str, str]]:
        found = answer(f"{api}alerts").get("data", {}).get("alerts", [])
        return {
            (one["labels"].get("switch", ""), one["labels"].get("port", ""))
            for one in found
            if one["labels"]["alertname"] == "InfinibandSymbolErrors" and one["state"] == "firing"
        }

    plant = lab.place.read_plant()
    cable = plant.find("leaf:1")[-1]
    with (
        watching(lab, tmp_path / "store.db", port),
        subprocess.Popen(command, stderr=subprocess.DEVNULL) as process,  # noqa: S603
    ):
        try:
            # 16 host ports and twice 16 uplinks' ends are on switches.
            assert wait_until(lambda: num_scraped() == 48)
            assert alerts() == set()
            lab.fault("symbol-errors", f"cable:{cable.number}", "--count", "1000")
            ends = {(plant.devices[p.device].name, str(p.number)) for p in cable.ends}
            assert wait_until(lambda: alerts() == ends)
        finally:
            process.kill()
