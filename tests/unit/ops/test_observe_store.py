from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from netloom.errors import OutputError
from netloom.ops.observe.observation import Event, Observation, Reading, failed
from netloom.ops.observe.retention import RetentionLimits, retain
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from pathlib import Path

START_S = 1_800_000_000.0


def reading(time_s: float, **values: float) -> Reading:
    """Return a whole reading of one number of some parts."""
    seen = [Observation(time_s, part, "symbol_errors", value) for part, value in values.items()]
    return Reading(source="fabric", time_s=time_s, observations=seen, is_whole=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_what_was_added_is_there_when_it_is_opened_again(path: Path) -> None:
    with ObservationStore(path) as store:
        store.add(reading(START_S, a=1.0))
    with ObservationStore(path) as store:
        assert list(store.latest()) == [("fabric", "a", "symbol_errors", 1.0)]
        assert store.values("a", "symbol_errors", START_S, START_S + 1) == [
            Observation(START_S, "a", "symbol_errors", 1.0)
        ]


def test_a_value_that_did_not_change_is_written_once_an_hour(path: Path) -> None:
    with ObservationStore(path) as store:
        rows = [store.add(reading(START_S + 600 * n, a=5.0)) for n in range(13)]
    # At 0, 3600 and 7200 s.
    assert [n for n, count in enumerate(rows) if count] == [0, 6, 12]


def test_steps_of_a_job_are_kept_one_by_one_although_they_take_the_same(path: Path) -> None:
    steps = [Observation(START_S + n, "job:a/rank:0", "step_s", 2.5) for n in range(3)]
    with ObservationStore(path) as store:
        store.add(Reading(source="steps", time_s=START_S + 9, observations=steps))
        assert store.values("job:a/rank:0", "step_s", START_S, START_S + 9) == steps
        assert store.window("step_s", START_S, START_S + 9)["job:a/rank:0"].count == 3


def test_two_sources_of_one_number_are_not_added_up(path: Path) -> None:
    with ObservationStore(path) as store:
        for n in range(3):
            store.add(reading(START_S + n, a=float(100 * n)))
        other = Observation(START_S, "a", "symbol_errors", 7.0)
        store.add(Reading(source="scrape", time_s=START_S, observations=[other]))
        assert store.window("symbol_errors", START_S, START_S + 9)["a"].increase == 200.0


def test_a_number_that_its_source_gives_no_more_is_gone_until_it_comes_back(path: Path) -> None:
    with ObservationStore(path) as store:
        store.add(reading(START_S, a=1.0, b=2.0))
        store.add(reading(START_S + 1, a=1.0))
        assert [part for _, part, _, _ in store.latest()] == ["a"]
        store.add(reading(START_S + 2, a=1.0, b=2.0))
        assert [part for _, part, _, _ in store.latest()] == ["a", "b"]


def test_a_look_that_failed_takes_nothing_away(path: Path) -> None:
    with ObservationStore(path) as store:
        store.add(reading(START_S, a=1.0))
        store.add(failed("fabric", START_S + 1, "no answer", cursor=""))
        assert len(list(store.latest())) == 1
        (poll,), (good,) = store.last_polls(), store.last_good_polls()
        assert (poll.error, good.time_s) == ("no answer", START_S)


def test_a_window_begins_with_the_value_that_held(path: Path) -> None:
    with ObservationStore(path) as store:
        for second, value in ((0, 10.0), (10, 12.0), (20, 3.0), (30, 5.0)):
            store.add(reading(START_S + second, a=value))
        found = store.window("symbol_errors", START_S + 5, START_S + 30)["a"]
    # 10 held at 5 s; then 12; then a reset to 3, which counts from zero: 2 + 3.
    assert (found.first, found.last, found.count, found.increase) == (10.0, 3.0, 3, 5.0)


def test_an_event_of_the_same_key_is_kept_once(path: Path) -> None:
    event = Event(time_s=START_S, part="sm", kind="sm-error", text="ERR 1", key="log:77")
    with ObservationStore(path) as store:
        for second in range(3):
            one = Reading(source="opensm", time_s=START_S + second, events=[event], cursor="78")
            store.add(one)
        assert store.events(START_S, START_S + 1) == [event]
        assert store.cursor("opensm") == "78"


def test_old_values_become_windows_and_old_windows_go(path: Path) -> None:
    limits = RetentionLimits(single_s=3600, window_s=86400)
    with ObservationStore(path) as store:
        for n in range(100):
            store.add(reading(START_S + 60 * n, a=float(n)))
        end_s = START_S + 60 * 100
        before = store.window("symbol_errors", START_S, end_s)
        retain(store, end_s, limits)
        # Windows of 300 s begin at multiples of it, as START_S does: 40 minutes are 8 of them.
        assert store.num_rows()["coarse"] == 8
        assert store.num_rows()["sample"] == 60
        assert store.window("symbol_errors", START_S, end_s) == before
        retain(store, end_s, limits)
        assert store.window("symbol_errors", START_S, end_s) == before
        retain(store, end_s + 80_000, limits)
        # The value that holds stays although it is older than single values are kept.
        assert store.num_rows()["sample"] == 1
        assert next(iter(store.latest()))[3] == 99.0


def test_a_series_that_nobody_tells_of_any_more_is_forgotten(path: Path) -> None:
    """Or jobs that ended months ago would fill the memory."""
    limits = RetentionLimits(single_s=3600, window_s=86400)
    with ObservationStore(path) as store:
        for n in range(5):
            step = Observation(START_S + n, f"job:{n}", "step_s", 2.0)
            store.add(Reading(source="steps", time_s=START_S + n, observations=[step]))
        store.add(reading(START_S, a=1.0))
        store.add(reading(START_S + 90_000, a=1.0))
        retain(store, START_S + 90_000, limits)
        assert [part for _, part, _, _ in store.latest()] == ["a"]
        assert store.num_rows()["series"] == 1
        again = Observation(START_S + 90_001, "job:3", "step_s", 2.0)
        store.add(Reading(source="steps", time_s=START_S + 90_001, observations=[again]))
        assert store.values("job:3", "step_s", 0, 1e10) == [again]


def test_a_value_that_stayed_joins_the_window_it_belongs_to(path: Path) -> None:
    limits = RetentionLimits(single_s=600, window_s=1e9)
    with ObservationStore(path) as store:
        for second in (0, 10, 20):
            store.add(reading(START_S + second, a=float(second)))
        retain(store, START_S + 7200, limits)  # the last of the three stays
        store.add(reading(START_S + 7200, a=100.0))
        retain(store, START_S + 14400, limits)
        found = store.window("symbol_errors", START_S, START_S + 14400)["a"]
        assert store.num_rows()["coarse"] == 1
    # 0, 10, 20 and 100.
    assert (found.count, found.total, found.increase) == (4, 130.0, 100.0)


def test_the_file_stays_within_its_bound_and_the_newest_is_kept(path: Path) -> None:
    limits = RetentionLimits(most_bytes=200_000)
    parts = [f"leaf:{n}" for n in range(80)]
    with ObservationStore(path) as store:
        for n in range(200):
            time_s = START_S + 60 * n
            store.add(reading(time_s, **{part: float(n) for part in parts}))
            if n % 20 == 19:
                retain(store, time_s, limits)
                assert store.used_bytes <= limits.most_bytes
        assert {value for *_, value in store.latest()} == {199.0}
    assert path.stat().st_size < 2 * limits.most_bytes


def test_a_bound_that_nothing_fits_in_is_told(path: Path) -> None:
    with ObservationStore(path) as store:
        store.add(reading(START_S, a=1.0))
        with pytest.raises(OutputError, match="--max-size"):
            retain(store, START_S, RetentionLimits(most_bytes=1000))


def test_a_second_writer_is_refused(path: Path) -> None:
    with ObservationStore(path), pytest.raises(OutputError, match="another netloom writes"):
        ObservationStore(path)
    ObservationStore(path).close()


@pytest.mark.parametrize("content", [b"not a store", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_store_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(OutputError, match="cannot be used"):
        ObservationStore(path)
    assert path.read_bytes() == content


def test_only_the_owner_may_read_the_store(path: Path) -> None:
    ObservationStore(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_full_disk_loses_nothing_that_was_acknowledged(path: Path) -> None:
    with ObservationStore(path) as store:
        store.add(reading(START_S, a=1.0))
        (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        many = {f"p{n}": float(n) for n in range(5000)}
        with pytest.raises(OutputError, match="free some space"):
            store.add(reading(START_S + 1, **many))
        assert [value for *_, value in store.latest()] == [1.0]
        store.connection.execute("PRAGMA max_page_count = 1000000")
        assert store.add(reading(START_S + 2, **many)) == 5001  # "a" is gone


# Writes whole numbers, one a reading, on from its cursor, and says which are on disk.
WRITER = """
import sys
from contextlib import closing
from pathlib import Path
from netloom.ops.observe.observation import Event, Observation, Reading
from netloom.ops.observe.store import ObservationStore

store = ObservationStore(Path(sys.argv[1]))
number = int(store.cursor("count") or 0)
while True:
    time_s = 1_800_000_000.0 + number
    many = [Observation(time_s, f"part:{n}", "count", float(number)) for n in range(50)]
    event = Event(time_s=time_s, part="part:0", kind="count", text=str(number), key=str(number))
    number += 1
    store.add(Reading(source="count", time_s=time_s, observations=many, events=[event],
                      cursor=str(number), is_whole=True))
    print(number, flush=True)
"""


def killed_writer(path: Path, num_readings: int) -> int:
    """Let a writer acknowledge so many readings, kill it, and return its last acknowledgement."""
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        for _ in range(num_readings):
            assert process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        said = process.stdout.read().splitlines()
    return int(said[-1]) if said and said[-1].isdigit() else -1


def test_kill_9_at_any_moment_loses_nothing_acknowledged_and_doubles_nothing(path: Path) -> None:
    for round_number in range(12):
        acknowledged = killed_writer(path, 3 + 17 * round_number % 40)
        with sqlite3.connect(path) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = file.execute("SELECT time_us, COUNT(*) FROM sample GROUP BY time_us").fetchall()
            events = file.execute("SELECT key FROM event ORDER BY id").fetchall()
            ((cursor,),) = file.execute("SELECT cursor FROM source").fetchall()
        assert int(cursor) >= acknowledged
        # Every number up to the cursor is there once, with all of its 50 parts.
        assert [key for (key,) in events] == [str(n) for n in range(int(cursor))]
        assert rows == [((1_800_000_000 + n) * 10**6, 50) for n in range(int(cursor))]


@pytest.mark.parametrize("version", [0, 1, 2, 7])
def test_a_database_of_another_program_is_refused_and_left_as_it_was(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "mail.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE mail (id INTEGER)")
        file.execute(f"PRAGMA user_version = {version}")
        file.commit()
    before = path.read_bytes()
    with pytest.raises(OutputError, match="another program"):
        ObservationStore(path)
    assert path.read_bytes() == before
