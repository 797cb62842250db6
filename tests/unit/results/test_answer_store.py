from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from netloom.errors import OutputError
from netloom.results.store import APPLICATION_ID, AnswerStore, Claim, Record

if TYPE_CHECKING:
    from pathlib import Path

# Claims and finishes keys as fast as it can, until it is killed.
WRITER = """
import sys
from netloom.results.store import AnswerStore, Record
with AnswerStore(sys.argv[1]) as store:
    print("ready", flush=True)
    for number in range(int(sys.argv[2])):
        key = f"key-{number}"
        if store.claim(key).state == "mine":
            answer = f"{number} " * 500
            store.finish(Record(key=key, question="q", seed=number, asked="{}", answer=answer))
"""


def record(key: str, answer: str = "1") -> Record:
    return Record(key=key, question="predict", seed=3, asked='{"a":1}', answer=answer)


def writer(path: Path, num_keys: int) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  (ourselves)
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(num_keys)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "s.db") as store:
        assert store.claim("a") == Claim("mine")
        store.finish(record("a", '{"x":0.1}'))
    with AnswerStore(tmp_path / "s.db") as store:
        assert store.find(["a", "b"]) == {"a": '{"x":0.1}'}
        assert store.claim("a") == Claim("done", '{"x":0.1}')
        assert store.attempts() == {"a": 1}


def test_many_keys_are_found_at_once(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "s.db") as store:
        store.finish(record("key-1200", "x"))
        assert store.find(f"key-{number}" for number in range(2000)) == {"key-1200": "x"}


def test_the_first_answer_stays(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "s.db") as store:
        store.finish(record("a", "first"))
        store.finish(record("a", "second"))
        assert store.find(["a"]) == {"a": "first"}


def test_a_claim_holds_while_its_owner_lives(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with AnswerStore(path) as one, AnswerStore(path) as other:
        assert one.claim("a").state == "mine"
        assert one.claim("a").state == "mine", "a driver may begin its own again"
        assert other.claim("a").state == "busy"
        one.release("a")
        assert other.claim("a").state == "mine"
        assert one.claim("a").state == "busy"


def test_closing_gives_claims_back_and_remembers_the_attempts(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with AnswerStore(path) as one:
        one.claim("a")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.db"]
    with AnswerStore(path) as other:
        assert other.claim("a").state == "mine"
        other.finish(record("a"))
        assert other.attempts() == {"a": 2}


def test_a_row_says_what_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with AnswerStore(path) as store:
        store.finish(record("a"))
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT * FROM results").fetchall()
        assert rows == [("a", "predict", 3, '{"a":1}', "1", 1)]
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_a_writer_killed_at_any_time_leaves_whole_answers(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    rows: list[tuple[int, str]] = []
    for delay_s in (0.0, 0.013, 0.05, 0.09):
        process = writer(path, 100_000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = database.execute("SELECT seed, answer FROM results").fetchall()
        assert all(answer == f"{seed} " * 500 for seed, answer in rows)
    assert rows
    with AnswerStore(path) as store:
        assert store.claim(f"key-{len(rows)}").state == "mine", "its claim died with it"


def test_many_processes_may_make_and_fill_one_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    writers = [writer(path, 30) for _ in range(6)]
    assert [process.communicate(timeout=300)[1] for process in writers] == [""] * 6
    with AnswerStore(path) as store:
        assert store.attempts() == {f"key-{number}": 1 for number in range(30)}


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be taken for one by its header" * 20)
    with pytest.raises(OutputError, match=r"notes\.txt: cannot be used as a store"):
        AnswerStore(text)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE mine (a)")
    with pytest.raises(OutputError, match=r"other\.db: is no store of this netloom; name another"):
        AnswerStore(other)
    with closing(sqlite3.connect(other)) as database:
        names = database.execute("SELECT name FROM sqlite_master").fetchall()
        assert names == [("mine",)]


def test_a_store_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"none/s\.db: cannot be used as a store \(unable to"):
        AnswerStore(tmp_path / "none" / "s.db")
    with pytest.raises(OutputError, match="cannot be used as a store"):
        AnswerStore(tmp_path)
