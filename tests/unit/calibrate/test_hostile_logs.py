"""Logs as they come: cut, mixed, coloured, with commas, and long."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netloom.app.calibrate.logs import read_logs
from netloom.app.calibrate.network_logs import network
from netloom.errors import NetloomError

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.calibrate.logs import NetworkLogs

LOG = Path(__file__).parents[2] / "data" / "calibrate" / "all_gather_8_nodes.log"
TEXT = LOG.read_text("utf-8")
MANGLED: dict[str, Callable[[str], str]] = {
    "colours": lambda text: "\n".join(f"\x1b[1;32m{line}\x1b[0m" for line in text.splitlines()),
    "tags of a launcher": lambda text: "\n".join(
        f"[1,0]<stdout>:{line}" for line in text.splitlines()
    ),
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "commas of a locale": lambda text: "\n".join(
        line.replace(".", ",") if line[:1] == " " else line for line in text.splitlines()
    ),
    "what NCCL says between": lambda text: text.replace(
        "\n#", "\nhost000:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/OFI/0\n#"
    ),
    "bytes that are no text": lambda text: text + "\ufffd\x00\x07 no text\n",
}


def logs_of(path: Path, text: str) -> NetworkLogs:
    path.write_text(text, encoding="utf-8", newline="")
    return read_logs([path])


def told(logs: NetworkLogs) -> list[tuple[str, int, float, int, int]]:
    return [
        (one.collective, one.size_bytes, one.time_s, one.num_ranks, one.num_hosts)
        for one in logs.timings
    ]


@pytest.mark.parametrize("how", MANGLED)
def test_what_surrounds_the_numbers_does_not_change_them(how: str, tmp_path: Path) -> None:
    mangled = logs_of(tmp_path / "job.log", MANGLED[how](TEXT))
    assert told(mangled) == told(read_logs([LOG]))


def test_two_ranks_that_print_at_once_are_two_measurements(tmp_path: Path) -> None:
    lines = [f"[1,{rank}]<stdout>:{line}" for line in TEXT.splitlines() for rank in (0, 1)]
    mixed = logs_of(tmp_path / "job.log", "\n".join(lines))
    assert sorted(told(mixed)) == sorted(2 * told(read_logs([LOG])))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, len(TEXT)))
def test_a_log_that_is_cut_keeps_what_stands_before(cut: int, tmp_path: Path) -> None:
    try:
        kept = told(logs_of(tmp_path / "job.log", TEXT[:cut]))
    except NetloomError as error:
        assert "holds no measurement" in str(error)  # noqa: PT017  (not every cut leaves nothing)
    else:
        whole = told(read_logs([LOG]))
        assert [row for row in kept if row not in whole] in ([], kept[-1:])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(
        st.tuples(st.integers(0, len(TEXT) - 1), st.sampled_from("0 9.-,\n\x1b#NaN\t%e")),
        min_size=1,
        max_size=40,
    )
)
def test_a_log_that_is_garbled_is_used_or_refused(
    edits: list[tuple[int, str]], tmp_path: Path
) -> None:
    letters = list(TEXT)
    for at, letter in edits:
        letters[at] = letter
    path = tmp_path / "job.log"
    path.write_text("".join(letters), encoding="utf-8", newline="")
    try:
        logs = read_logs([path])
    except NetloomError:
        return
    assert all(one.time_s > 0 and one.size_bytes > 0 for one in logs.timings)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scales=st.lists(st.floats(1e-6, 1e6), min_size=4, max_size=4), start=st.integers(0, 15))
def test_times_that_no_network_has_end_in_numbers_or_an_error(
    scales: list[float], start: int, tmp_path: Path
) -> None:
    lines = TEXT.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("  "))
    for at, scale in enumerate(scales, start=first + start % 12):
        cells = lines[at].split()
        time_us = float(cells[5]) * scale
        algorithm = int(cells[0]) / time_us / 1e3
        half = [f"{time_us:.6f}", f"{algorithm:.9f}", f"{algorithm * 31 / 32:.9f}", "0"]
        lines[at] = "  " + "  ".join([*cells[:5], *half, *half])
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines))
    try:
        found = network([path], node="polaris", technology="slingshot-11")
    except NetloomError:
        return
    assert all(one.value >= 0 for one in found.fit.constants)
    assert all(row.after_s > 0 for row in found.rows)


@pytest.mark.slow
def test_a_hundred_megabytes_are_read(tmp_path: Path) -> None:
    """And not kept: NCCL logs hundreds of lines for each of the table."""
    line = "host000:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/OFI/0/GDRDMA\n"
    path = tmp_path / "long.log"
    with path.open("w") as log:
        log.write(TEXT)
        for _ in range(100):
            log.write(line * (1_000_000 // len(line)))
        log.write(TEXT)
    assert path.stat().st_size > 99_000_000
    assert len(told(read_logs([path]))) == 2 * len(told(read_logs([LOG])))
