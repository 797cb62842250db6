"""Logs that `netloom expect --against` reads, and what it makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.app.expect import facts_of, read_log
from netloom.cli.main import main
from netloom.errors import NetloomError, SpecError
from netloom.formats.nccl.setup import parse_setup

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDED = Path(__file__).parents[2] / "data" / "recorded" / "nccl_log"
SCENARIO = "cluster: {nodes: 2, node: dgx-h100, fabric: {technology: infiniband-ndr}}\n"
HEAD = (
    "#                                           out-of-place                in-place\n"
    "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    "#   (B)  (elements)               (us)  (GB/s)  (GB/s)        (us)  (GB/s)  (GB/s)\n"
)
GBPS = ((2**20, 18.0), (2**26, 230.0), (2**28, 390.0), (2**29, 440.0), (2**30, 470.0))
SLOW = tuple((size, min(rate, 3.0)) for size, rate in GBPS)


def row(size: int, gbps: float, *, wrong: int = 0, in_place: float | None = None) -> str:
    halves = []
    for rate in (gbps, gbps if in_place is None else in_place):
        time_us = 1.875 * size / rate / 1e3
        halves.append(f"{time_us:.2f} {size / time_us / 1e3:.2f} {rate:.2f} {wrong}")
    return f"{size} {size // 4} float sum -1 {' '.join(halves)}\n"


def log(
    rows: Sequence[tuple[int, float]] = GBPS,
    *,
    called: str = "all_reduce_perf",
    hosts: int = 2,
    more: str = "",
) -> str:
    ranks = "".join(
        f"#  Rank {rank:2} Group  0 Pid {1000 + rank} on  host{rank // 8} device {rank % 8} "
        "[0x18] NVIDIA H100 80GB HBM3\n"
        for rank in range(8 * hosts)
    )
    head = "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor)\n#\n"
    body = "".join(row(size, rate) for size, rate in rows)
    return f"./{called} -b 1M -e 1G\n{head}# Using devices\n{ranks}{more}{HEAD}{body}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two.yaml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main(["expect", "two.yaml", *argv, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return result


def test_a_sound_cluster_is_as_expected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.log").write_text(log())
    curve = asked(capsys, "--against", "a.log")["curves"][0]
    assert (curve["verdict"], curve["nodes"], curve["ranks"]) == ("as expected", 2, 16)
    last = curve["sizes"][-1]
    assert last["measured_gbps"] == pytest.approx(470, rel=1e-3)
    assert last["is_below"] is False
    assert main(["expect", "two.yaml", "--against", "a.log"]) == 0
    assert "As expected: 0 of 5 sizes are below the interval" in capsys.readouterr().out


def test_sockets_are_named_with_remedy_and_worth(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "slow.log").write_text(log(SLOW))
    curve = asked(capsys, "--against", "slow.log")["curves"][0]
    assert (curve["verdict"], curve["cause"]) == ("cause", "sockets")
    assert curve["probability"] > 0.5
    assert "NCCL_IB_DISABLE" in curve["remedy"]
    assert curve["worth"]["measured_gbps"] == pytest.approx(3.0, rel=0.01)
    assert curve["worth"]["expected_gbps"] > 100
    assert sum(one["probability"] for one in curve["causes"]) == pytest.approx(1, abs=1e-6)
    assert main(["expect", "two.yaml", "--against", "slow.log"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Possible cause: plain sockets in place of RDMA" in said
    assert "Check: look for 'Using network'" in said


def test_a_log_of_nccl_beside_it_states_the_cause(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "slow.log").write_text(log(SLOW))
    (folder / "nccl.log").write_text("host0:1:2 [0] NCCL INFO Using network Socket\n")
    curves = asked(capsys, "--against", "slow.log", "nccl.log")["curves"]
    assert len(curves) == 1
    assert curves[0]["causes"][0]["says"] == "the log says 'Using network Socket'"
    assert curves[0]["probability"] == 1


def test_the_same_holds_in_one_log(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "host0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0\n"
    half = tuple((size, rate / 2) for size, rate in GBPS)
    (folder / "a.log").write_text(log(half, more=said))
    curve = asked(capsys, "--against", "a.log")["curves"][0]
    assert curve["cause"] == "gpudirect-off"


def test_repetitions_are_one_test_and_wrong_values_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = log(((2**30, 400.0),)) + log(((2**30, 440.0),)) + log(((2**30, 470.0),))
    (folder / "a.log").write_text(text + row(2**29, 100.0, wrong=5))
    curve = asked(capsys, "--against", "a.log")["curves"][0]
    assert [one["size_bytes"] for one in curve["sizes"]] == [2**30]
    assert curve["sizes"][0]["measured_gbps"] == pytest.approx(440, rel=1e-3)
    assert curve["notes"] == ["2 rows with wrong values (#wrong) are left out."]


def test_out_of_place_counts_and_in_place_where_it_stands_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = log(()) + row(2**30, 470.0, in_place=100.0)
    (folder / "a.log").write_text(text)
    curve = asked(capsys, "--against", "a.log")["curves"][0]
    assert curve["sizes"][0]["measured_gbps"] == pytest.approx(470, rel=1e-3)


@pytest.mark.parametrize(
    ("argv", "text", "words"),
    [
        (("--against", "a.log"), "hello\n", "is neither output of nccl-tests nor a log of NCCL"),
        (("--against", "none.log"), "", "cannot be read (No such file or directory)"),
        (("--against", "."), "", "is no file"),
        (("--against", "a.log"), log(hosts=3), "takes 3 nodes, the cluster has 2"),
        (
            ("--against", "a.log", "--collective", "broadcast"),
            log(),
            "hold no test that is asked for",
        ),
        (("--collective", "mean"), "", "'mean' is unknown; use all_reduce"),
        (("--nodes", "9"), "", "takes 9 nodes, the cluster has 2"),
        (("--sizes", "many"), "", "'many' is no size"),
    ],
    ids=("words", "missing", "folder", "nodes", "other", "collective", "option", "sizes"),
)
def test_bad_input_is_refused_in_words(
    argv: tuple[str, ...],
    text: str,
    words: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "a.log").write_text(text)
    assert main(["expect", "two.yaml", *argv]) == 2
    assert words in capsys.readouterr().err


def test_a_test_without_a_name_needs_one(folder: Path) -> None:
    scenario = nl.load(folder / "two.yaml")
    (folder / "a.log").write_text("# nccl\n" + HEAD + row(2**30, 470.0))
    with pytest.raises(SpecError, match="say it with --collective"):
        nl.expect(scenario, against=["a.log"])
    found = nl.expect(scenario, against=["a.log"], collectives=["all_reduce"])
    assert found.curves[0].notes == ("The log lists no ranks; 16 assumed.",)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("without_gpudirect", "gpudirect", False),
        ("with_gpudirect", "gpudirect", True),
        ("no_nvls", "nvls", False),
        ("fast_socket", "way", "sockets"),
        ("sockets_on_loopback", "way", "sockets"),
        ("fastrak", "way", "tcpxo"),
        ("efa_on_h200", "way", "ofi"),
    ],
)
def test_logs_that_people_posted_state_what_they_did(name: str, field: str, value: object) -> None:
    facts = facts_of(parse_setup((RECORDED / name / "input.txt").read_text()))
    assert getattr(facts, field) == value


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(0, 4000), junk=st.text(max_size=60), at=st.integers(0, 4000))
def test_a_log_cut_or_mixed_is_read_or_refused(
    cut: int, junk: str, at: int, tmp_path: Path
) -> None:
    text = log(SLOW)[:cut]
    path = tmp_path / "fuzz.log"
    path.write_text(text[:at] + junk + text[at:], encoding="utf-8", errors="replace")
    try:
        found = read_log(path)
    except NetloomError:
        return
    for test in found.tests:
        assert all(size > 0 and time_s > 0 for size, time_s, _ in test.times)


def test_times_that_no_test_takes_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = f"{2**27} {2**25} float sum -1 1e-300 1 1 0 1e-300 1 1 0\n"
    (folder / "a.log").write_text(log() + damaged)
    sizes = asked(capsys, "--against", "a.log")["curves"][0]["sizes"]
    assert [one["size_bytes"] for one in sizes] == [size for size, _ in GBPS]
    assert main(["expect", "two.yaml", "--against", "a.log"]) == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("nodes", ["0", "-1"])
def test_no_nodes_are_refused(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expect", "two.yaml", f"--nodes={nodes}"]) == 2
    assert f"--nodes: {nodes} take no part; give 1 or more" in capsys.readouterr().err
