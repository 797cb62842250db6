"""Flow files read by the core are what they are line by line, and a wrong line is named alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.engines import native
from netloom.errors import NetloomError
from netloom.formats.simulators.htsim_cm import read_connections
from netloom.formats.simulators.ns3 import read_flows, read_topology
from netloom.study.simulate import flow_file

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTS = 8
TOPOLOGY = read_topology(
    f"{HOSTS + 1} 1 {HOSTS}\n{HOSTS}\n"
    + "".join(f"{host} {HOSTS} 100Gbps 0.001ms 0\n" for host in range(HOSTS)),
    name="topology.txt",
)
# What is nearly a number, and what is none.
ODD = st.sampled_from(
    [
        "",
        "-1",
        "+3",
        "0",
        "007",
        "1e3",
        "1_0",
        "x",
        "9" * 18,
        "9" * 19,
        "8",
        "٣",
        "1.5",
        "nan",
        "->",
    ]
)
WORD = st.integers(0, 9).map(str) | ODD
BLANK = st.sampled_from([" ", "  ", "\t", " \t"])
END = st.sampled_from(
    ["\n"] * 8 + ["\r\n", "\n\n", " \n", " # note\n", "\r", "\x0b", "\x1c", "\x85"]
)


def unread(found: dict[str, Any]) -> dict[str, Any]:
    """Return a scan that read nothing, so that every line is read by itself."""
    return {
        name: column[:0] if isinstance(column, np.ndarray) else 0 * column
        for name, column in found.items()
        if name != "columns"
    } | {"columns": [column[:0] for column in found.get("columns", [])], "is_plain": False}


def outcome(read: Callable[[], Any]) -> object:
    try:
        return read()
    except NetloomError as error:
        return str(error)


def assert_reads_alike(read: Callable[[], Any]) -> None:
    found = outcome(read)
    connections, rows = native.scan_connections, native.scan_rows
    with (
        patch.object(native, "scan_connections", lambda text: unread(connections(text))),
        patch.object(native, "scan_rows", lambda *given_, **more: unread(rows(*given_, **more))),
    ):
        assert found == outcome(read)


@st.composite
def matrices(draw: st.DrawFn) -> str:
    """Connection matrices, most lines right."""
    keys = ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "?"]
    lines = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        source = draw(st.integers(0, HOSTS - 1))
        right = f"{source}->{(source + 1) % HOSTS} id {number} start {number * 7} size 1000"
        words = [f"{draw(WORD)}->{draw(WORD)}"]
        for _ in range(draw(st.integers(0, 4))):
            words += [draw(st.sampled_from(keys)), draw(WORD)]
        tied = f"0->1 start 0 size 5 send_done_trigger {draw(st.integers(1, 2))}"
        waits = f"1->2 trigger {draw(st.integers(1, 2))} size 5 prio 1"
        other = draw(BLANK).join(words)
        lines.append(draw(st.sampled_from([right, right, right, tied, waits, other])))
    triggers = draw(st.sampled_from(["", "trigger id 1 oneshot\n", "trigger id 1 multishot\n"]))
    head = f"Nodes {HOSTS}\nConnections {len(lines)}\nTriggers {len(triggers) and 1}\n"
    body = "".join(line + draw(END) for line in lines)
    return draw(st.sampled_from([head + triggers + body, body + head + triggers]))


@settings(max_examples=300, deadline=None)
@given(matrices())
def test_connection_matrices(text: str) -> None:
    def read() -> object:
        found = read_connections(text, name="x.cm")
        columns = [column.tolist() for column in found.transfers._columns()]
        waits = (found.transfers.wait_offsets.tolist(), found.transfers.waits.tolist())
        return columns, waits, found.num_prio, found.told.tolist(), found.num_nodes

    assert_reads_alike(read)


@st.composite
def tables(draw: st.DrawFn, separator: str) -> str:
    """Rows of cells, most of them right."""
    rows = []
    for number in range(draw(st.integers(1, 6))):
        if separator == ",":
            right = [
                str(number),
                str(number + 1),
                "1000",
                draw(st.sampled_from(["0", "2.5e-6", "1"])),
            ]
        else:
            right = [str(number), str(number + 1), "3", "100", "1000", f"2.00000{number}"]
        wrong = draw(st.lists(WORD | st.just('"1"'), min_size=1, max_size=7))
        between = separator if separator == "," else draw(BLANK)
        row = draw(st.sampled_from([right, right, right, wrong]))
        rows.append(between.join(row) + draw(END))
    return "".join(rows)


@settings(max_examples=300, deadline=None)
@given(tables(" "), st.integers(0, 7))
def test_flow_files_of_ns_3(text: str, count: int) -> None:
    def read() -> object:
        found = read_flows(f"{count}\n{text}", TOPOLOGY, name="flow.txt")
        return [column.tolist() for column in found._columns()]

    assert_reads_alike(read)


@settings(max_examples=300, deadline=None)
@given(
    tables(","),
    st.sampled_from(["source,target,size_bytes,start_s", "source, target, size_bytes", "\nsource"]),
)
def test_csv_files(text: str, heading: str) -> None:
    def read() -> object:
        with patch.object(flow_file, "read_text", lambda *_, **__: f"{heading}\n{text}"):
            found = flow_file.flow_file("flows.csv", num_endpoints=HOSTS)
        return [column.tolist() for column in (found.source, found.target, found.size_bytes)] + [
            found.start_ps.tolist()
        ]

    assert_reads_alike(read)


@pytest.mark.parametrize("count", [1_000, 4_000])
def test_plain_lines_are_all_read_by_the_core(count: int) -> None:
    """What it leaves is the heading, however long the file."""
    text = f"Nodes 8\nConnections {count}\n" + "0->1 id 1 start 0 size 1000\n" * count
    assert len(native.scan_connections(text)["unread_line"]) == 2
    rows = native.scan_rows("0 1 3 100 1000 2.5\n" * count, "iiiiid", separator=" ")
    assert (len(rows["line"]), len(rows["unread_line"])) == (count, 0)
    cells = native.scan_rows("0,1,1000,2.5e-6\n" * count, "iiif", separator=",")
    assert (len(cells["line"]), len(cells["unread_line"])) == (count, 0)
    assert cells["columns"][3][0] == 2_500_000
