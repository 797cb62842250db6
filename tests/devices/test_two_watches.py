"""Two watches on a real PostgreSQL: one leads, and the other takes over when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alerts_under_test import (
    BreakableFabric,
    Receiver,
    RunningWatch,
    breakable_fabric,
    cases,
    postgres,
    receiver,
    running_watch,
    until,
)

from netloom.cli.main import main
from netloom.drivers.services.postgres import PostgresTables
from netloom.errors import SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.cases.lease import LeaderTables, LeaseLostError, RecordsUnreachableError, take
from netloom.ops.cases.tickets import move_hook
from netloom.ops.observe.cases import Case, follow_cases, open_cases, write_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lab
Capture = pytest.CaptureFixture[str]
TAKE_OVER_S = 15.0


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[BreakableFabric]:
    with breakable_fabric(tmp_path) as one:
        yield one


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as one:
        yield one


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    with postgres(tmp_path) as url:
        yield url


def case_of(part: str, time_s: float) -> Case:
    return Case(
        part=PartId.parse(part),
        label=part,
        kind="missing cable",
        confidence=0.9,
        magnitude=1.0,
        evidence=("it is down",),
        hurts=0,
        opened_s=time_s,
        seen_s=time_s,
    )


def send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def leaders(watches: list[RunningWatch]) -> list[RunningWatch]:
    return [one for one in watches if one.events("leading")]


def test_the_other_watch_takes_over_and_nothing_is_lost_or_done_twice(
    fabric: BreakableFabric, hook: Receiver, database: str, tmp_path: Path, capsys: Capture
) -> None:
    options = ["--cases", database, "--tickets", hook.url, "--fabric", "hall-1"]
    with ExitStack() as stack:
        watches = [
            stack.enter_context(running_watch(fabric, tmp_path / f"{name}.db", *options))
            for name in ("a", "b")
        ]
        assert until(lambda: all(one.events("round") for one in watches)), watches[
            0
        ].log.read_text()
        (leader,) = leaders(watches)
        other = next(one for one in watches if one is not leader)
        first, second = fabric.uplink(), fabric.uplink() - 1
        fabric.put(first)
        assert until(lambda: len(hook.got) == 1), leader.log.read_text()
        cases(database, capsys, "ack", "1", "--by", "mona")
        assert until(lambda: len(hook.got) == 2)
        # The leader dies with a second cable, so its case falls into the change.
        fabric.put(first, second)
        killed_s = time.monotonic()
        leader.process.send_signal(signal.SIGKILL)
        assert until(lambda: bool(other.events("leading")), TAKE_OVER_S), other.log.read_text()
        assert until(lambda: len(hook.got) == 3, TAKE_OVER_S + killed_s - time.monotonic())
        took_s = time.monotonic() - killed_s
        assert took_s < TAKE_OVER_S
        found = cases(database, capsys, "list")["cases"]
        assert [(one["case"], one["acknowledged_by"]) for one in found] == [(1, "mona"), (2, "")]
        fabric.put()
        assert until(lambda: len(hook.got) == 5), other.log.read_text()
        assert cases(database, capsys, "list")["cases"] == []
        acts = [(line["act"], line["case"]) for line in cases(database, capsys, "audit")["audit"]]
    told = [(one.body["event"], one.body["case"]["number"]) for one in hook.got]
    assert sorted(told) == sorted(
        [("opened", 1), ("acknowledged", 1), ("opened", 2), ("closed", 1), ("closed", 2)]
    )
    assert len({one.headers["Idempotency-Key"] for one in hook.got}) == 5
    counts = {act: [a for a, _ in acts].count(act) for act in ("lead", "open", "close")}
    assert counts == {"lead": 2, "open": 2, "close": 2}


def test_a_leader_that_ends_hands_over_at_once(
    fabric: BreakableFabric, database: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        watches = [
            stack.enter_context(
                running_watch(fabric, tmp_path / f"{name}.db", "--cases", database, "--fabric", "x")
            )
            for name in ("a", "b")
        ]
        assert until(lambda: all(one.events("round") for one in watches))
        (leader,) = leaders(watches)
        other = next(one for one in watches if one is not leader)
        begun_s = time.monotonic()
        leader.process.terminate()
        assert leader.process.wait(30) == 0
        assert until(lambda: bool(other.events("leading")), 10)
        assert time.monotonic() - begun_s < 10


def test_a_leader_that_slept_writes_nothing_more(database: str) -> None:
    with PostgresTables(database) as one, PostgresTables(database) as two:
        old = take(one, "one", hold_s=0.2)
        assert old is not None
        fenced = LeaderTables(store=one, lease=lambda: old)
        change = write_cases(
            fenced, follow_cases((), [case_of("cable:1", 1e9)], 1e9, may_close=True)
        )
        assert [case.number for case in change.opened] == [1]
        assert take(two, "two", hold_s=5) is None  # it is held
        time.sleep(0.3)
        new = take(two, "two", hold_s=5)
        assert new is not None
        assert new.token == old.token + 1
        assert take(one, "one", hold_s=5) is None
        with pytest.raises(LeaseLostError):
            write_cases(fenced, follow_cases((), [case_of("cable:2", 1e9)], 1e9, may_close=True))
        with pytest.raises(LeaseLostError):
            move_hook(fenced, "hook", 7)
        assert [str(case.part) for case in open_cases(two)] == ["cable:1"]


def test_of_many_that_ask_at_once_one_leads(database: str) -> None:
    with ExitStack() as stack:
        tables = [stack.enter_context(PostgresTables(database)) for _ in range(8)]
        got = [take(one, f"watch {number}", hold_s=30) for number, one in enumerate(tables)]
    assert [one is not None for one in got] == [True] + [False] * 7


def test_a_database_that_goes_away_ends_no_watch(
    fabric: BreakableFabric, tmp_path: Path, capsys: Capture
) -> None:
    with postgres(tmp_path) as url:
        home = Path(url.partition("host=")[2])
        main_pid = int((home / "data" / "postmaster.pid").read_text().splitlines()[0])
        with running_watch(fabric, tmp_path / "a.db", "--cases", url, "--fabric", "x") as watch:
            assert until(lambda: bool(watch.events("round")))
            tree = Path(f"/proc/{main_pid}/task/{main_pid}/children").read_text().split()
            pids = [main_pid, *map(int, tree)]
            send(signal.SIGSTOP, pids)  # it hangs: connections stay open, and nothing answers
            try:
                fabric.put(fabric.uplink())
                assert until(lambda: bool(watch.events("lead-lost"))), watch.log.read_text()
                num_rounds = len(watch.events("round"))
                assert until(lambda: len(watch.events("round")) > num_rounds)
            finally:
                send(signal.SIGCONT, pids)
            assert until(lambda: bool(watch.events("finding-opened"))), watch.log.read_text()
            assert watch.process.poll() is None
        assert [one["case"] for one in cases(url, capsys, "list")["cases"]] == [1]
        assert "Traceback" not in watch.log.read_text()


def test_a_database_is_of_one_fabric(
    fabric: BreakableFabric, database: str, tmp_path: Path, capsys: Capture
) -> None:
    for name, status in (("hall-1", 0), ("hall-2", 2)):
        argv = ["watch", *fabric.options, "--once", "--store", str(tmp_path / f"{name}.db")]
        assert main([*argv, "--cases", database, "--fabric", name]) == status
    assert "its cases are of the fabric 'hall-1'" in capsys.readouterr().err


def test_a_dump_restores_cases_people_and_audit(database: str, capsys: Capture) -> None:
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    with PostgresTables(database) as tables:
        write_cases(tables, follow_cases((), [case_of("cable:1", 1.8e9)], 1.8e9, may_close=True))
    cases(database, capsys, "assign", "1", "ravi", "--by", "mona")
    before = cases(database, capsys, "show", "1")
    dump = [str(programs / "pg_dump"), "--schema=netloom", "--format=plain", database]
    text = subprocess.run(dump, check=True, capture_output=True).stdout  # noqa: S603
    psql = [str(programs / "psql"), "-q", "-v", "ON_ERROR_STOP=1", database]
    for script in (b"DROP SCHEMA netloom CASCADE", text):
        subprocess.run(psql, input=script, check=True, capture_output=True)  # noqa: S603
    assert cases(database, capsys, "show", "1") == before
    # Numbers go on behind those of the dump.
    with PostgresTables(database) as tables:
        more = follow_cases(open_cases(tables), [case_of("cable:2", 1.8e9)], 1.8e9, may_close=False)
        assert [one.number for one in write_cases(tables, more).opened] == [2]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:secret@db1/x", "the URL has a password"),
        ("postgresql://db1/x?password=secret", "the URL has a password"),
        ("postgresql://db1:notaport/x", "no URL of a database"),
    ],
)
def test_a_password_in_a_url_is_refused_and_not_repeated(url: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        PostgresTables(url)
    assert "secret" not in str(caught.value)


def test_a_database_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RecordsUnreachableError, match="does not answer"):
        PostgresTables(f"postgresql://netloom@/x?host={tmp_path}")
