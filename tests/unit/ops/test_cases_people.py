"""Cases and people: acts with names, maintenance, what is kept, copies; and names that attack."""

from __future__ import annotations

import json
import sqlite3
import stat
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.cli.main import main
from netloom.errors import OutputError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.cases.alerts import alert_labels, alert_of
from netloom.ops.cases.file import SqliteTables, back_up
from netloom.ops.cases.keeping import check_fabric, forget_old, store_id
from netloom.ops.cases.maintenance import (
    MaintenanceWindow,
    all_windows,
    covered,
    declare,
    drained_cables,
    end_window,
)
from netloom.ops.cases.people import acknowledge, assign, close_case, comment, states
from netloom.ops.cases.remedies import remedy_of, severity_of
from netloom.ops.cases.tickets import TICKET_SCHEMA, move_hook, next_deliveries, ticket_of
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.observe.case_audit import Actor, AuditEntry, audit_lines, audit_of_case
from netloom.ops.observe.cases import (
    Case,
    case_line,
    follow_cases,
    open_cases,
    write_cases,
)
from netloom.ops.observe.store import ObservationStore
from netloom.ops.observe.versions import SeenVersion, version_groups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_S = 1_800_000_000.0
MONA = Actor(name="mona", login="mona@desk")
HOSTILE = '"><script>alert(1)</script>\r\nX-Evil: 1\x1b[2J\x00'


def case(part: str = "cable:40 (leaf:3 - spine:0)", **more: Any) -> Case:
    given_: dict[str, Any] = {
        "part": PartId.parse(part).whole,
        "label": part,
        "kind": "missing cable",
        "confidence": 0.9,
        "magnitude": 1.0,
        "evidence": ("leaf:3[5] is down",),
        "hurts": 8,
        "opened_s": START_S,
        "seen_s": START_S,
    }
    return Case(**{**given_, **more})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObservationStore]:
    with ObservationStore(tmp_path / "watch.db") as one:
        yield one


def opened(store: ObservationStore, *parts: str, at_s: float = START_S) -> list[int]:
    """Write a look that finds these parts broken, and return the numbers of its cases."""
    found = [case(part, seen_s=at_s, opened_s=at_s) for part in parts]
    change = follow_cases(open_cases(store), found, at_s, may_close=False)
    return [one.number for one in write_cases(store, change, now_s=at_s).opened]


def acts(store: ObservationStore) -> list[tuple[str, str]]:
    return [(one.act, one.who) for one in audit_lines(store)]


def test_every_act_has_a_line_and_a_name(store: ObservationStore) -> None:
    (number,) = opened(store, "cable:40")
    acknowledge(store, number, MONA, START_S + 1)
    assign(store, number, "ravi", MONA, START_S + 2)
    comment(store, number, "optic ordered", MONA, START_S + 3)
    found = states(store)[number]
    assert (found.acknowledged_by, found.acknowledged_s) == ("mona", START_S + 1)
    assert found.assignee == "ravi"
    close_case(store, number, MONA, START_S + 4, text="replaced")
    assert open_cases(store) == ()
    lines = audit_of_case(store, number)
    assert [(one.act, one.who, one.text) for one in lines] == [
        ("open", "netloom", "leaf:3[5] is down"),
        ("acknowledge", "mona", ""),
        ("assign", "mona", "to ravi"),
        ("comment", "mona", "optic ordered"),
        ("close", "mona", "replaced"),
    ]
    assert {one.login for one in lines[1:]} == {"mona@desk"}


def test_an_act_that_fails_leaves_no_line(store: ObservationStore) -> None:
    (number,) = opened(store, "cable:40")
    close_case(store, number, MONA, START_S)
    before = acts(store)
    with pytest.raises(SpecError, match="is closed"):
        acknowledge(store, number, MONA, START_S)
    with pytest.raises(SpecError, match="is closed"):
        close_case(store, number, MONA, START_S)
    with pytest.raises(SpecError, match="is closed"):
        assign(store, number, "ravi", MONA, START_S)
    with pytest.raises(SpecError, match="there is no case 99"):
        comment(store, 99, "x", MONA, START_S)
    for absent in (-1, 0, 1 << 63, 10**30):
        with pytest.raises(SpecError, match=f"there is no case {absent}"):
            comment(store, absent, "x", MONA, START_S)
    with pytest.raises(SpecError, match="2,001 characters, and 2,000 are kept"):
        comment(store, number, "x" * 2001, MONA, START_S)
    with pytest.raises(SpecError, match="TO: a name is"):
        assign(store, number, "", MONA, START_S)
    with pytest.raises(SpecError, match="without words"):
        comment(store, number, " \n", MONA, START_S)
    assert acts(store) == before


def test_a_case_closed_by_hand_opens_another_where_it_is_still_found(
    store: ObservationStore,
) -> None:
    (first,) = opened(store, "cable:40")
    before = open_cases(store)
    close_case(store, first, MONA, START_S + 1)
    # The watch had read its cases before: what it writes of this one changes nothing.
    found = [case("cable:40", seen_s=START_S + 2)]
    write_cases(store, follow_cases(before, found, START_S + 2, may_close=True))
    assert open_cases(store) == ()
    assert opened(store, "cable:40", at_s=START_S + 3) == [2]
    assert [one.number for one in open_cases(store)] == [2]


def test_numbers_are_given_once_even_when_old_cases_are_gone(store: ObservationStore) -> None:
    (number,) = opened(store, "cable:40")
    close_case(store, number, MONA, START_S)
    forget_old(store, START_S + 100, cases_s=10, audit_s=1000)
    assert store.num_rows()["finding"] == 0
    assert opened(store, "cable:40", at_s=START_S + 100) == [2]


def test_what_is_old_goes_and_what_is_open_stays(store: ObservationStore) -> None:
    one, two = opened(store, "cable:40", "cable:41")
    comment(store, two, "words", MONA, START_S)
    acknowledge(store, one, MONA, START_S)
    close_case(store, one, MONA, START_S + 1)
    window = MaintenanceWindow(
        part=PartId.parse("leaf:3"), start_s=START_S, end_s=START_S + 5, by="mona", why="fan"
    )
    declare(store, window, MONA, START_S)
    day_s = 86400.0
    forget_old(store, START_S + 61 * day_s, cases_s=60 * day_s, audit_s=400 * day_s)
    assert ([c.number for c in open_cases(store)], states(store)) == ([two], {})
    assert all_windows(store) == ()
    assert len(audit_of_case(store, one)) == 3  # the audit outlives the case
    forget_old(store, START_S + 401 * day_s, cases_s=60 * day_s, audit_s=400 * day_s)
    assert {line.case for line in audit_lines(store)} == {two}


def test_maintenance_explains_a_device_and_its_cables_while_it_lasts(
    store: ObservationStore,
) -> None:
    leaf, cable, other = (PartId.parse(text) for text in ("leaf:3", "cable:40", "cable:41"))
    window = MaintenanceWindow(
        part=leaf, start_s=START_S, end_s=START_S + 60, by="", why="fan", is_drained=True
    )
    made = declare(store, window, MONA, START_S)
    (kept,) = all_windows(store)
    assert (kept.number, kept.by, kept.is_drained) == (made.number, "mona", True)
    for at_s, parts in ((-1, set()), (0, {leaf, cable}), (59, {leaf, cable}), (60, set())):
        found = covered([kept], START_S + at_s, lambda _: [cable])
        assert set(found) == parts
        assert other not in found
    assert drained_cables([kept], START_S, lambda _: [cable]) == {40}
    end_window(store, made.number, MONA, START_S + 10)
    assert covered(all_windows(store), START_S + 11, lambda _: [cable]) == {}
    with pytest.raises(SpecError, match="not over"):
        end_window(store, made.number, MONA, START_S + 12)
    assert [act for act, _ in acts(store)] == ["maintain", "maintain-end"]


@pytest.mark.parametrize(
    ("start_s", "end_s", "why", "said"),
    [
        (0, 0, "x", "ends before it begins"),
        (-20, -10, "x", "is over"),
        (0, 91 * 86400, "x", "longer than 90 days"),
        (0, 60, "  ", "no reason"),
    ],
)
def test_maintenance_that_makes_no_sense_is_refused(
    store: ObservationStore, start_s: float, end_s: float, why: str, said: str
) -> None:
    window = MaintenanceWindow(
        part=PartId.parse("leaf:3"),
        start_s=START_S + start_s,
        end_s=START_S + end_s,
        by="",
        why=why,
    )
    with pytest.raises(SpecError, match=said):
        declare(store, window, MONA, START_S)
    assert (all_windows(store), acts(store)) == ((), [])


def test_a_case_that_maintenance_explains_has_no_ticket_until_it_does_not(
    store: ObservationStore,
) -> None:
    move_hook(store, "hook", 0)
    planned = case("cable:40", planned="fan (mona, window 1)")
    write_cases(store, follow_cases((), [planned], START_S, may_close=True))
    comment(store, 1, "as planned", MONA, START_S)
    assert not next_deliveries(store, "hook")[0]
    found = [case("cable:40", seen_s=START_S + 60)]
    write_cases(store, follow_cases(open_cases(store), found, START_S + 60, may_close=True))
    acknowledge(store, 1, MONA, START_S + 61)
    lines, last = next_deliveries(store, "hook")
    assert [one.act for one in lines] == ["open", "acknowledge"]
    move_hook(store, "hook", last)
    assert next_deliveries(store, "hook") == ((), last)
    assert [act for act, _ in acts(store)] == ["planned", "comment", "open", "acknowledge"]


def test_deliveries_come_in_order_and_each_once_however_they_are_cut(
    store: ObservationStore,
) -> None:
    opened(store, "cable:40", "cable:41")
    for number in range(30):
        comment(store, 1 + number % 2, f"words {number}", MONA, START_S + number)
    got: list[int] = []
    while (lines := next_deliveries(store, "hook", limit=4)[0]) and len(got) < 99:
        got += [one.number for one in lines]
        move_hook(store, "hook", lines[-1].number)
        move_hook(store, "hook", 1)  # never back
    assert got == sorted(set(got))
    assert len(got) == 32


def test_a_new_hook_begins_with_what_is_open(store: ObservationStore) -> None:
    opened(store, "cable:40")
    close_case(store, 1, MONA, START_S)
    opened(store, "cable:41")
    assert [(one.act, one.case) for one in next_deliveries(store, "hook")[0]] == [("open", 2)]


def test_what_a_person_writes_cannot_forge_a_line(store: ObservationStore) -> None:
    opened(store, "cable:40")
    comment(store, 1, HOSTILE, MONA, START_S)
    text = audit_of_case(store, 1)[-1].text
    assert text.isprintable()
    assert "\n" not in text
    for name in ("", "  ", "a\nb", "x" * 101, "\x1b[2J"):
        with pytest.raises(SpecError, match="printable"):
            Actor(name=name, login="x")


@given(
    fabric=st.text(max_size=300),
    kind=st.text(max_size=300),
    label=st.text(max_size=300),
    evidence=st.lists(st.text(max_size=300), max_size=9),
)
def test_labels_are_printable_bounded_and_do_not_change(
    fabric: str, kind: str, label: str, evidence: list[str]
) -> None:
    one = case(kind=kind, label=label, evidence=tuple(evidence), number=7)
    later = case(kind=kind, label=label + "!", confidence=0.99, hurts=9, number=7)
    assert alert_labels(one, fabric) == alert_labels(later, fabric)
    alert = alert_of(one, fabric, ends_s=START_S)
    for text in (*alert["labels"].values(), *alert["annotations"].values()):
        assert text.isprintable()
        assert 0 <= len(text) <= 1000
    assert alert["startsAt"] < alert["endsAt"]
    line = case_line("open", one, MONA, START_S)
    body = json.loads(ticket_of(line, fabric, "id"))
    jsonschema.validate(body, TICKET_SCHEMA)


def test_hostile_names_reach_alertmanager_as_text(store: ObservationStore) -> None:
    one = case(label=f"cable:40 ({HOSTILE})", evidence=(HOSTILE,))
    (made,) = write_cases(store, follow_cases((), [one], START_S, may_close=True)).opened
    alert = alert_of(made, HOSTILE, ends_s=START_S + 1)
    text = json.dumps(alert)
    assert "\\n" not in text
    assert "\\u001b" not in text
    assert alert["labels"]["part"] == "cable:40"


@pytest.mark.parametrize("kind", [*FaultKind, *Trouble])
def test_every_kind_has_a_severity_and_a_remedy_of_its_own(kind: str) -> None:
    assert severity_of(kind) in {"page", "warning"}
    assert remedy_of(kind) != remedy_of("a kind of another package")


def test_a_copy_is_whole_while_the_watch_writes(tmp_path: Path) -> None:
    path, copy = tmp_path / "watch.db", tmp_path / "copy.db"
    done, counts = threading.Event(), []

    def write() -> None:
        with ObservationStore(path) as store:
            opened(store, "cable:40")
            number = 0
            while not done.is_set():
                number += 1
                comment(store, 1, f"words {number}", MONA, START_S)
                counts.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(counts) < 20:
            pass
        before = len(counts)
        back_up(path, copy)
    finally:
        done.set()
        writer.join()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with SqliteTables(copy) as tables:
        lines = audit_lines(tables)
        # Whole and in order: every line up to some moment after the copy began.
        assert [one.number for one in lines] == list(range(1, len(lines) + 1))
        assert len(lines) > before
        assert [one.number for one in open_cases(tables)] == [1]
    with pytest.raises(OutputError, match="cannot be written"):
        back_up(path, copy)
    with ObservationStore(copy) as restored:  # and a watch goes on from it
        assert opened(restored, "cable:40", "cable:41", at_s=START_S + 9) == [2]


def test_two_processes_write_the_same_file_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "watch.db"
    with ObservationStore(path) as store:
        opened(store, "cable:40")
        people = [f"person {number}" for number in range(4)]

        def act(name: str) -> None:
            with SqliteTables(path) as tables:
                for number in range(10):
                    comment(tables, 1, f"{number}", Actor(name=name, login=name), START_S)

        threads = [threading.Thread(target=act, args=(name,)) for name in people]
        for thread in threads:
            thread.start()
        for number in range(10):
            write_cases(
                store,
                follow_cases(
                    open_cases(store),
                    [case("cable:40", seen_s=START_S + number)],
                    START_S,
                    may_close=True,
                ),
            )
        for thread in threads:
            thread.join()
        found = [one.who for one in audit_of_case(store, 1)]
    assert [found.count(name) for name in people] == [10] * 4
    assert found.count("netloom") == 1


def test_a_foreign_database_gets_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE mine (x)")
        file.commit()
    before = path.read_bytes()
    with pytest.raises(OutputError, match="another program"):
        SqliteTables(path)
    assert path.read_bytes() == before


def test_what_is_no_store_stays_as_it_is_and_is_named(tmp_path: Path) -> None:
    empty, noise = tmp_path / "empty.db", tmp_path / "noise.db"
    empty.touch()
    noise.write_bytes(b"no store" * 1000)
    with pytest.raises(OutputError, match="there is no such store"):
        SqliteTables(empty)
    for path in (empty, noise):
        with pytest.raises(OutputError, match=f"{path.name}: "):
            back_up(path, tmp_path / "copy.db")
    assert empty.read_bytes() == b""
    assert sorted(one.name for one in tmp_path.iterdir()) == ["empty.db", "noise.db"]


def test_a_store_has_one_name_and_one_fabric(store: ObservationStore) -> None:
    assert store_id(store) == store_id(store)
    check_fabric(store, "hall-1")
    check_fabric(store, "hall-1")
    with pytest.raises(SpecError, match="of the fabric 'hall-1', not of 'hall-2'"):
        check_fabric(store, "hall-2")


def test_versions_name_the_odd_ones_first() -> None:
    seen = [
        SeenVersion("eapi", "7060", "leaf1", "os", "4.31.2F"),
        SeenVersion("eapi", "7060", "leaf2", "os", "4.31.2F"),
        SeenVersion("eapi", "7060", "leaf3", "os", "4.30.1F"),
        SeenVersion("eapi", "7800", "spine1", "os", "4.29.0F"),  # another model
        SeenVersion("sonic", "7060", "leaf4", "os", "4.29.0F"),  # asked another way
    ]
    first, *others = version_groups(seen)
    assert first.to_json() == {
        "kind": "eapi",
        "model": "7060",
        "component": "os",
        "majority": "4.31.2F",
        "num_devices": 3,
        "others": [{"device": "leaf3", "version": "4.30.1F"}],
    }
    assert [one.others for one in others] == [(), ()]


def cases_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["cases", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_command_line_shows_what_was_done_and_by_whom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "watch.db"
    with ObservationStore(path) as store:
        opened(store, "cable:40 (leaf:3 - spine:0)")
    monkeypatch.setenv("NETLOOM_STORE", str(path))
    status, said, _ = cases_command(capsys, "list")
    head = "case 1 (page): cable:40 (leaf:3 - spine:0): missing cable, 90% sure, since 2027-01-15"
    assert (status, said.startswith(head)) == (0, True)
    assert said.rstrip().endswith("not acknowledged, not assigned")
    _, said, _ = cases_command(capsys, "ack", "1", "on it", "--by", "mona")
    assert "acknowledged by mona, not assigned" in said
    assert "acknowledge case 1 cable:40: on it" in said
    _, said, _ = cases_command(capsys, "show", "1")
    assert "hurts 8 GPUs" in said
    assert "do: reseat the cable" in said
    _, said, _ = cases_command(capsys, "close", "1")
    monkeypatch.setenv("SUDO_USER", "ravi")
    _, said, _ = cases_command(capsys, "comment", "1", "behind sudo")
    assert ") comment case 1 cable:40: behind sudo" in said
    status, said, _ = cases_command(capsys, "list")
    assert said == "no case is open\n"
    status, said, _ = cases_command(
        capsys, "maintain", "leaf:3", "--to", "+2h", "--reason", "new fan"
    )
    assert (status, said.startswith("window 1: leaf:3, ")) == (0, True)
    assert "window 1: leaf:3" in cases_command(capsys, "list")[1]
    assert cases_command(capsys, "maintain", "--end", "1")[0] == 0
    assert cases_command(capsys, "backup", str(tmp_path / "copy.db"))[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ack", "9"], "there is no case 9"),
        (["maintain", "leaf:3", "--to", "noon", "--reason", "x"], "'noon' is no time"),
        (["maintain", "the leaf", "--to", "+1h", "--reason", "x"], "is not the name of a part"),
        (["maintain", "leaf:3", "--to", "+1h"], "no reason"),
        (["maintain"], "maintenance is of a part, or ends"),
        (["silence", "1", "--alertmanager", "http://u:p@x", "--reason", "x"], "is no URL"),
        (["silence", "1", "--alertmanager", "ftp://x", "--reason", "x"], "is no URL"),
        (["silence", "1", "--alertmanager", "http://x"], "no reason"),
        (["audit", "--since", "yesterday"], "'yesterday' is no time"),
    ],
)
def test_what_is_wrong_is_said_with_status_2(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "watch.db"
    with ObservationStore(path) as store:
        opened(store, "cable:40")
    status, _, error = cases_command(capsys, *words, "--store", str(path))
    assert (status, said in error) == (2, True), error


def test_a_silence_that_fails_is_in_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "watch.db"
    with ObservationStore(path) as store:
        opened(store, "cable:40")
    words = [
        "silence",
        "1",
        "--alertmanager",
        "http://127.0.0.1:1",
        "--reason",
        "x",
        "--by",
        "mona",
    ]
    assert cases_command(capsys, *words, "--store", str(path))[0] == 2
    with SqliteTables(path) as tables:
        found: list[AuditEntry] = list(audit_of_case(tables, 1))
    assert [(one.act, one.who) for one in found[1:]] == [
        ("silence", "mona"),
        ("silence-failed", "mona"),
    ]
