"""Logs of measurements are hostile: a reader gives values or a NetloomError, whatever they hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.errors import NetloomError
from netloom.formats.benchmarks import nccl_tests, osu, perftest
from netloom.formats.nccl.setup_facts import NcclSetup
from netloom.formats.register import formats_of

RECORDED = Path(__file__).parents[2] / "data" / "recorded"
READERS = {one.name: one.parse for one in formats_of("measurement")}
FOLDERS = {"nccl-tests": "nccl_tests", "nccl-setup": "nccl_log"}
HEADING = "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"


def texts_of(name: str) -> list[str]:
    folder = RECORDED / FOLDERS.get(name, name)
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/input.txt"))]


def survives(name: str, text: str) -> object:
    parse = READERS[name]
    assert parse is not None
    try:
        return parse(text)
    except NetloomError:
        return None


def numbers_of(result: object) -> list[float]:
    """The times and rates that a reader gives."""
    found = re.findall(r"(?:time_s|latency\w*_s|\w*_bps|expected_s)=([^,()\s]+)", repr(result))
    return [float(one) for one in found if one != "None"]


@pytest.mark.parametrize("name", list(READERS))
@given(text=st.text(max_size=300))
@settings(max_examples=40)
def test_any_text_is_survived(name: str, text: str) -> None:
    survives(name, text)


@pytest.mark.parametrize("name", list(READERS))
@given(data=st.data())
@settings(max_examples=120)
def test_a_real_log_is_survived_when_cut_and_changed(name: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts_of(name)))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    put = data.draw(
        st.text(max_size=6)
        | st.sampled_from(["9" * 400, "1e999", "\x00", "nan", "-1", "N/A", "|", "[", "\x1b[", "\n"])
    )
    result = survives(name, text[:start] + put + text[end:])
    assert all(0 <= one < 1e40 for one in numbers_of(result))


@pytest.mark.parametrize("name", list(READERS))
@given(data=st.data())
@settings(max_examples=60)
def test_a_real_log_is_survived_with_its_lines_shuffled(name: str, data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(texts_of(name))).splitlines()
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=30))
    tags = data.draw(st.lists(st.sampled_from(["", "0: ", "[1,1]<stdout>:", "[2] "]), min_size=1))
    tagged = [f"{tags[count % len(tags)]}{line}" for count, line in enumerate(chosen)]
    survives(name, "\n".join(tagged))


@pytest.mark.parametrize("name", list(READERS))
@given(data=st.binary(max_size=200))
@settings(max_examples=40)
def test_bytes_that_are_no_text_are_survived(name: str, data: bytes) -> None:
    survives(name, texts_of(name)[0] + data.decode("utf-8", errors="replace"))
    survives(name, texts_of(name)[0] + data.decode("utf-8", errors="surrogateescape"))


TIMES_US = st.floats(1.0, 9e6)
SIZES = st.integers(1, 2**34)


def shown(value: float) -> str:
    """A number as nccl-tests prints a time in seven characters (src/util.cu, getFloatStr)."""
    digits = len(str(int(value)))
    return f"{value:7.2f}" if digits < 5 else f"{value:7.1f}" if digits < 6 else f"{value:7.0f}"


@given(st.lists(st.tuples(SIZES, TIMES_US, TIMES_US), min_size=1, max_size=20))
def test_a_table_that_is_printed_comes_back(rows: list[tuple[int, float, float]]) -> None:
    text = HEADING
    for size, out_us, inside_us in rows:
        halves = (f"  {shown(t)}  {size / t / 1e3:6.2f}  0.00      0" for t in (out_us, inside_us))
        text += f"{size:12d}  {size // 4:12d}     float     sum      -1{''.join(halves)}\n"
    log = nccl_tests.parse(text)
    assert not log.bad, str(log.bad)
    want = [(size, t) for size, *times in rows for t in times]
    timings = list(log.timings)
    assert [one.size_bytes for one in timings] == [size for size, _ in want]
    assert [one.time_s for one in timings] == pytest.approx([t * 1e-6 for _, t in want], rel=0.01)


@given(
    st.integers(0, 4 * 10**6),
    st.sampled_from([("Gb/sec", 1e9), ("MB/sec", 2.0**23)]),
    st.floats(0.1, 5e4),
)
def test_a_rate_of_perftest_comes_back(size: int, unit: tuple[str, float], rate: float) -> None:
    heading = f" #bytes     #iterations    BW peak[{unit[0]}]    BW average[{unit[0]}]\n"
    (row,) = perftest.parse(f"{heading} {size:<7d}    1000    0.00    {rate:<7.2f}\n").rows
    assert row.size_bytes == size
    assert row.rate_bps == pytest.approx(rate * unit[1], rel=0.06)


@given(st.lists(st.tuples(st.integers(0, 2**32), st.floats(0.01, 1e9)), max_size=20))
def test_a_table_of_osu_comes_back(rows: list[tuple[int, float]]) -> None:
    text = "# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n"
    text += "".join(f"{size:<10d}{latency:18.2f}\n" for size, latency in rows)
    points = osu.parse(text).points
    assert [one.size_bytes for one in points] == [size for size, _ in rows]


HOSTILE = {
    "digits": "1 " * 2000 + "\n",
    "blanks": " " * 3900 + "x\n",
    "colons": "a:" * 1900 + "\n",
    "brackets": "[" * 3900 + "\n",
    "rank": "#  Rank  0 Group  0 Pid  1 on" + " " * 3000 + "\n",
    "channel": "n:1:2 [0] NCCL INFO Channel 00/02 :" + " 1" * 1900 + " x\n",
    "using": "n:1:2 [0] NCCL INFO NET/IB : Using " + "[0]mlx5_0:1/IB " * 250 + "\n",
    "table": "n:1:2 [0] NCCL INFO AllReduce |" + " 1.0/ 1.0 |" * 300 + "\n",
    "escapes": "\x1b[" * 1900 + "\n",
    "percent": " #bytes #iterations" + "9" * 3000 + "% percentile[usec]\n",
    "summary": "[  5] 0.00-1.00 sec 1 GBytes 1 Gbits/sec" + " " * 3000 + "receive\n",
    "title": "# OSU MPI " + "a " * 1900 + "Test\n",
    "perf": "_perf" * 700 + "\n",
}


@pytest.mark.parametrize("name", list(READERS))
@pytest.mark.parametrize("kind", list(HOSTILE))
def test_lines_that_would_lead_a_pattern_astray_are_passed(name: str, kind: str) -> None:
    # The time limit of the whole run ends a pattern that goes back and forth over a line.
    head = f"{HEADING} #bytes #iterations t_avg[usec]\n"
    head += "# OSU MPI Latency Test v1\n# Size  Latency (us)\n"
    survives(name, head + HOSTILE[kind] * 300)


def test_a_long_document_of_json_that_is_cut_keeps_what_stands_before() -> None:
    half = {"time": 61.2, "alg_bw": 17.13, "bus_bw": 17.13, "nwrong": 0.0}
    result = {"size": 1048576, "type": "float", "redop": "sum", "out_of_place": half}
    text = json.dumps({"results": [result] * 20_000})
    log = nccl_tests.parse(text[:-5])
    assert sum(1 for _ in log.timings) == 19_999


def test_a_setup_is_read_from_every_posted_log() -> None:
    for text in texts_of("nccl-setup"):
        setup = survives("nccl-setup", text)
        assert isinstance(setup, NcclSetup)
        assert setup.num_lines > 0
