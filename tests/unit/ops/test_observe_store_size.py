"""How many bytes a look takes in the store, and that files of the version before go on."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.ops.observe.metrics import METRICS
from netloom.ops.observe.observation import Observation, whole
from netloom.ops.observe.retention import RetentionLimits, retain
from netloom.ops.observe.store import ObservationStore
from netloom.ops.observe.store_file import SCHEMA
from netloom.ops.observe.store_names import SERIES, PackedNames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTS: Final = 4096
# A fabric of two tiers without oversubscription: hosts, both sides of leaves, spines.
PORTS: Final = [
    *(f"nic:{n}[1]" for n in range(HOSTS)),
    *(f"leaf:{n // 64}[{n % 64 + 1}]" for n in range(2 * HOSTS)),
    *(f"spine:{n // 64}[{n % 64 + 1}]" for n in range(HOSTS)),
]
COUNTERS: Final = [one.name for one in METRICS if one.diags][:17]
TRAFFIC: Final = 4  # bytes and packets of both directions change with every look


def look(number: int) -> Iterator[Observation]:
    """Give what all ports say at a look: 17 counters, state and rate."""
    time_s = 1.7e9 + 10 * number
    for place, port in enumerate(PORTS):
        for index, name in enumerate(COUNTERS):
            grown = place * 1_000_003 + number * 12_500_000_000 + index
            yield Observation(time_s, port, name, float(grown) if index < TRAFFIC else 0.0)
        yield Observation(time_s, port, "link_up", 1.0)
        yield Observation(time_s, port, "rate_bps", 4e11)


@pytest.mark.slow
def test_a_look_at_4096_hosts_takes_under_two_megabytes_and_the_first_under_eight(
    tmp_path: Path,
) -> None:
    """The goal is 5 MB for each; the first, in which all 311,296 numbers are new, misses it."""
    sizes = []
    with ObservationStore(tmp_path / "s.db") as store:
        for number in range(4):
            rows = store.add(whole("fabric", 1.7e9 + 10 * number, look(number), cursor=""))
            sizes.append(store.used_bytes)
            wanted = 19 * len(PORTS) if number == 0 else TRAFFIC * len(PORTS)
            assert rows == wanted
    assert sizes[0] < 8_000_000
    assert max(after - before for before, after in pairwise(sizes)) < 2_000_000


OLD: Final = """
CREATE TABLE series (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, part TEXT NOT NULL,
                     metric TEXT NOT NULL, UNIQUE (metric, part, source)) STRICT;
CREATE TABLE finding (id INTEGER PRIMARY KEY, part TEXT NOT NULL, kind TEXT NOT NULL,
                      opened_us INTEGER NOT NULL, seen_us INTEGER NOT NULL, closed_us INTEGER,
                      missed INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
INSERT INTO source (name) VALUES ('fabric');
INSERT INTO series (source, part, metric) VALUES (1, 'leaf:0[1]', 'sent_bytes');
INSERT INTO sample VALUES (1, 1700000000000000, 5.0);
PRAGMA user_version = 2;
"""


def test_a_file_of_the_version_before_is_read_and_written_on(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as file:
        file.executescript(SCHEMA + OLD)
    file.close()
    seen = [
        Observation(1.7e9 + 10, "leaf:0[1]", "sent_bytes", 9.0),
        Observation(1.7e9 + 10, "leaf:0[2]", "link_up", 1.0),
    ]
    with ObservationStore(path) as store:
        assert [row[1:] for row in store.latest()] == [("leaf:0[1]", "sent_bytes", 5.0)]
        store.add(whole("fabric", 1.7e9 + 10, seen, cursor=""))
    with ObservationStore(path) as store:
        assert {row[1:] for row in store.latest()} == {
            ("leaf:0[1]", "sent_bytes", 9.0),
            ("leaf:0[2]", "link_up", 1.0),
        }
        assert store.window("sent_bytes", 1.7e9, 1.7e9 + 60)["leaf:0[1]"].increase == 4
        retain(store, 1.9e9, RetentionLimits())
        assert store.num_rows()["series"] == 0


PAIRS = st.tuples(st.integers(1, 2), st.sampled_from("abc"), st.sampled_from("xyz"))


@given(st.lists(st.lists(st.tuples(PAIRS, st.booleans()), max_size=6), max_size=6))
def test_names_are_found_again_by_their_numbers(
    steps: list[list[tuple[tuple[int, str, str], bool]]],
) -> None:
    """Whatever comes and goes, and however often the file is opened again."""
    file = sqlite3.connect(":memory:")
    file.executescript(SERIES)
    wanted: dict[tuple[int, str, str], int] = {}
    for step in steps:
        names = PackedNames(file)  # as when it is opened again
        for key, is_added in step:
            if is_added and key not in wanted:
                wanted[key] = names.add(*key)
            elif not is_added and key in wanted:
                names.flush()
                names.remove([wanted.pop(key)])
        names.flush()
        rows = file.execute("SELECT source, part, metric, id FROM series").fetchall()
        assert {tuple(row[:3]): row[3] for row in rows} == wanted
        assert len(rows) == len(wanted)
    file.close()
