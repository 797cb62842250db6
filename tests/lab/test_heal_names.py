"""Plans by their names on live labs, each looked at a second time right before the act."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import need
from test_lab_heal import ROCE, SMALL, bench_in

from netloom.app.heal import run
from netloom.app.heal.run import journal_of
from netloom.app.heal.site import LabSite
from netloom.app.lab.labs import bring_down
from netloom.cli.main import main
from netloom.ops.locate.faults import FaultKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from test_lab_heal import Bench

pytestmark = pytest.mark.lab
POLICY = "heal: {most_capacity_away: 30%, most_slowdown: 100%}"


@contextmanager
def lab(folder: Path, kind: str, text: str) -> Iterator[tuple[Bench, Callable[..., Any]]]:
    """Give a lab, and what heals it by the command line: status and JSON."""
    need(kind)
    name = f"names-{kind}-{os.getpid()}"
    bench = bench_in(folder, name, text)
    policy = folder / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    argv = ["heal", str(folder / f"{name}.yaml"), "--lab", name, "--dir", str(folder / "labs")]

    def heal(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        status = main([*argv, "--policy", str(policy), "--json", *options])
        return status, json.loads(capsys.readouterr().out)["result"]

    try:
        yield bench, heal
    finally:
        bring_down(bench.lab.place)


@pytest.fixture(autouse=True)
def _no_look_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FRESH_S", -1.0)


def approved(
    bench: Bench, heal: Callable[..., Any], capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """See a plan, approve it, see it carried out; a drain is refused a second time."""
    status, shown = heal(capsys)
    (step,) = (one for one in shown["plans"] if one["finding"]["kind"] == kind)
    assert (status, step["verdict"], step["outcome"]) == (0, "ask", None)
    status, done = heal(capsys, "--yes", step["fingerprint"], "--by", "Ada")
    assert (status, done["stale"]) == (0, []), done
    (step,) = (one for one in done["plans"] if one["fingerprint"] == step["fingerprint"])
    assert step["outcome"]["result"] == "healed"
    entries = journal_of(LabSite(place=bench.lab.place)).entries()
    if step["acts"][0]["verb"] == "drain":  # what is drained is away, and no finding any more
        status, again = heal(capsys, "--yes", step["fingerprint"])
        assert (status, len(again["stale"])) == (1, 1)
    assert {(entry.by, entry.plan) for entry in entries} == {("Ada", step["fingerprint"])}


def test_packets_that_a_cable_drops_are_seen_twice_before_it_is_drained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lab(tmp_path, "roce", ROCE) as (bench, heal):
        bench.lab.fault("silent-drop", "link:leaf:3-spine:0", "--larger-than", "1000")
        approved(bench, heal, capsys, FaultKind.LARGE_LOSS.value)


def test_a_fault_that_went_between_plan_and_approval_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lab(tmp_path, "roce", ROCE) as (bench, heal):
        bench.lab.fault("silent-drop", "link:leaf:3-spine:0", "--larger-than", "1000")
        _, shown = heal(capsys)
        name = shown["plans"][0]["fingerprint"]
        bench.lab.fault("clear")
        status, done = heal(capsys, "--yes", name)
        assert (status, [one["fingerprint"] for one in done["stale"]]) == (1, [name])
        assert main(["heal", "x.yaml", "--lab", "y", "--yes", "000000000000"]) == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(("unlink",), "missing cable"), (("symbol-errors", "--count", "5000"), "symbol errors")],
)
def test_a_cable_of_a_subnet_is_asked_itself_before_the_act(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: tuple[str, ...], kind: str
) -> None:
    with lab(tmp_path, "infiniband", SMALL) as (bench, heal):
        number = bench.lab.place.read_plant().find("leaf:0")[-1].number
        bench.lab.fault(fault[0], f"cable:{number}", *fault[1:])
        approved(bench, heal, capsys, kind)
