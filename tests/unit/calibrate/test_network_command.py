"""``netloom calibrate network``: what is written, kept, told and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.parts.load import load_catalog

LOGS = sorted((Path(__file__).parents[2] / "data" / "calibrate").glob("*.log"))
GATHER, _, EXCHANGE = LOGS
POLARIS = ("--node", "polaris", "--technology", "slingshot-11")
SCENARIO = """
cluster: {nodes: 16, node: polaris, fabric: {technology: slingshot-11}}
job:
  model: llama-2-7b
  training: {sequence: 4096, global_batch: 64}
  parallel: {tensor: 4}
"""
HEADING = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n"
)
INFO = """\
node0:11:12 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ib0:10.0.0.1<0>
node0:11:12 [0] NCCL INFO Using network IB
node0:11:12 [0] NCCL INFO + NET[50.0] - NET/0 (a2761f0003bd70c4/1/50.000000)
"""

Calibrate = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def calibrate(capsys: pytest.CaptureFixture[str]) -> Calibrate:
    """Run the command with --json; return its exit code, and its result or its error."""

    def run(*argv: str | Path) -> tuple[int, dict[str, Any]]:
        code = main(["calibrate", "network", *map(str, argv), "--json"])
        printed = json.loads(capsys.readouterr().out)
        return code, printed.get("result") or printed["error"]

    return run


def rows(size_bytes: list[int], *, num_wrong: int = 0, gb_per_s: float = 20.0) -> str:
    """Return rows of an all-reduce at one algorithm bandwidth after 40 us."""
    lines = []
    for size in size_bytes:
        time_us = 40 + size / gb_per_s / 1e3
        rate = size / time_us / 1e3
        half = f" {time_us:>9.2f} {rate:>7.4f} {rate * 1.875:>7.4f} {num_wrong:>6}"
        lines.append(f"{size:>12} {size // 4:>13} {'float':>9} {'sum':>7} {-1:>7}{half}{half}\n")
    return "".join(lines)


def two_nodes(table: str, *, gpu: str = "NVIDIA H100 80GB HBM3") -> str:
    ranks = "".join(
        f"#  Rank {rank:>2} Group  0 Pid {rank} on node{rank // 8} device {rank % 8} [0x1] {gpu}\n"
        for rank in range(16)
    )
    return f"$ ./build/all_reduce_perf -b 8 -e 8G\n{ranks}{HEADING}{table}"


def test_the_logs_become_a_file_of_parts_with_the_logs_as_source(
    tmp_path: Path, calibrate: Calibrate
) -> None:
    own = tmp_path / "own.toml"
    code, found = calibrate(*LOGS, *POLARIS, "--catalog", own)
    assert code == 0
    assert found["catalog"] == str(own)
    parts = load_catalog(own)
    costs = parts.technologies["slingshot-11"].collectives
    assert costs is not None
    by_key = {one["key"]: one for one in found["constants"]}
    assert parts.nodes["polaris"].nic_share == pytest.approx(by_key["nic_share"]["value"], rel=1e-4)
    assert costs.partner_s == pytest.approx(by_key["collectives.partner"]["value"], rel=1e-4)
    assert len(costs.ring_hops) == len(found["ring_hops"]) > 10
    for source in (
        parts.nodes["polaris"].source("nic_share"),
        parts.technologies["slingshot-11"].source("collectives.ring_hops"),
    ):
        assert source is not None
        assert source.confidence == "measured"
        assert all(log.name in source.citation for log in LOGS)


def test_errors_fall_and_are_told_without_the_size_itself(calibrate: Calibrate) -> None:
    _, found = calibrate(*LOGS, *POLARIS)
    whole = next(one for one in found["errors"] if not one["collective"] and one["large"])
    assert whole["after_pct"] < whole["left_out_pct"] < whole["before_pct"]
    assert whole["num_rows"] == sum(row["size_bytes"] >= 2**20 for row in found["rows"])
    assert found["catalog"] == ""


def test_a_second_run_replaces_its_own_part_and_leaves_the_rest(
    tmp_path: Path, calibrate: Calibrate
) -> None:
    own = tmp_path / "own.toml"
    hand = '# ours\n[switches.QM9700]\nprice = "48500USD"\n'
    own.write_text(hand)
    calibrate(GATHER, EXCHANGE, *POLARIS, "--catalog", own)
    first = own.read_text()
    assert first.startswith(hand)
    own.write_text(first + '\n# behind it\n[switches.SB7800]\nprice = "9000USD"\n')
    _, again = calibrate(GATHER, EXCHANGE, *POLARIS, "--catalog", own)
    assert (
        own.read_text().replace('\n# behind it\n[switches.SB7800]\nprice = "9000USD"\n', "")
        == first
    )
    # What it wrote before has no part in what it finds, nor in the errors before.
    assert again["errors"] == calibrate(GATHER, EXCHANGE, *POLARIS)[1]["errors"]
    _, fewer = calibrate(GATHER, *POLARIS, "--catalog", own)
    kept = load_catalog(own)
    assert {one["key"] for one in fewer["constants"]} < {one["key"] for one in again["constants"]}
    assert kept.technologies["slingshot-11"].collectives.partner_s is None  # type: ignore[union-attr]
    assert kept.switches["QM9700"].price_usd == 48500


def test_a_rank_may_pass_on_less_than_a_byte(tmp_path: Path, calibrate: Calibrate) -> None:
    log, own = tmp_path / "small.log", tmp_path / "own.toml"
    lines = GATHER.read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if line.lstrip().startswith("1024 "))
    small = lines[at].replace("        1024           256", "           8             2")
    log.write_text("\n".join([*lines[:at], small.replace("0.0", "0.000"), *lines[at:]]))
    code, found = calibrate(log, *POLARIS, "--catalog", own)
    assert code == 0
    assert found["ring_hops"][0]["size_bytes"] == 0.25
    costs = load_catalog(own).technologies["slingshot-11"].collectives
    assert costs is not None
    assert costs.ring_hops[0].size_bytes == 0.25


def test_parts_that_stand_there_by_hand_are_not_touched(
    tmp_path: Path, calibrate: Calibrate
) -> None:
    own = tmp_path / "own.toml"
    hand = '[technologies.slingshot-11]\nloss = "1e-6%"\n'
    own.write_text(hand)
    code, error = calibrate(GATHER, *POLARIS, "--catalog", own)
    assert code == 2
    assert "take that part out" in error["message"]
    assert own.read_text() == hand


class FakeGpu:
    """Every operator takes a second, which no real GPU needs."""

    source = "PyTorch on NVIDIA A100-SXM4-40GB"
    has_fp8 = False

    def time_s(self, operator: str, precision: str, shape: tuple[int, ...]) -> float | None:
        return 1.0


def test_gpu_and_network_stand_in_one_file_and_a_step_uses_both(
    tmp_path: Path, calibrate: Calibrate
) -> None:
    own, scenario = tmp_path / "own.toml", tmp_path / "s.yaml"
    scenario.write_text(SCENARIO)

    def step_s() -> float:
        found = nl.predict(nl.load(scenario), nl.load_catalog(own))
        return float(found.to_json()["step_time_s"])

    own.write_text("")
    shipped_s = step_s()
    calibrate(GATHER, *POLARIS, "--catalog", own)
    network_s = step_s()
    assert network_s != pytest.approx(shipped_s, rel=1e-4)
    times = tmp_path / "times" / "gpu.csv"
    times.parent.mkdir()
    found = nl.calibrate.gpu(times, quick=True, catalog=own, device=FakeGpu())
    assert found.to_json()["catalog"] == str(own)
    assert load_catalog(own).gpus["A100-SXM-40GB"].calibration == str(own.parent / "times/gpu.csv")
    assert step_s() > 10 * network_s
    before = own.read_text()
    calibrate(GATHER, *POLARIS, "--catalog", own)
    assert sorted(own.read_text().split("\n")) == sorted(before.split("\n"))


def test_the_command_line_predicts_with_it(
    tmp_path: Path, calibrate: Calibrate, capsys: pytest.CaptureFixture[str]
) -> None:
    own, scenario = tmp_path / "own.toml", tmp_path / "s.yaml"
    scenario.write_text(SCENARIO)
    code, _ = calibrate(GATHER, "--scenario", scenario, "--catalog", own)
    assert code == 0

    def step_s(*argv: str) -> float:
        assert main(["predict", str(scenario), "--json", *argv]) == 0
        return float(json.loads(capsys.readouterr().out)["result"]["step_time_s"])

    assert step_s("--catalog", str(own)) != pytest.approx(step_s(), rel=1e-4)


def test_large_messages_alone_leave_the_start_up_open_and_say_what_to_run(
    tmp_path: Path, calibrate: Calibrate
) -> None:
    log = tmp_path / "large.log"
    log.write_text(two_nodes(rows([2**power for power in (30, 31, 32, 33)], gb_per_s=90.0)))
    _, found = calibrate(log, "--node", "dgx-a100", "--technology", "infiniband-hdr")
    assert [one["key"] for one in found["constants"]] == ["nic_share"]
    left = {one["key"]: one for one in found["open"]}
    assert "the smallest message is 1 GiB" in left["collectives.hop"]["why"]
    assert left["collectives.hop"]["measure"] == (
        "mpirun -np 16 -N 8 ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 1 -n 20 -w 5"
    )
    assert "alltoall_perf" in left["collectives.partner"]["measure"]


def test_logs_that_decide_nothing_are_refused(tmp_path: Path, calibrate: Calibrate) -> None:
    log, own = tmp_path / "one.log", tmp_path / "own.toml"
    log.write_text(two_nodes(rows([2**26])))
    options = ("--node", "dgx-h100", "--technology", "infiniband-ndr", "--catalog", own)
    code, error = calibrate(log, *options)
    assert code == 2
    assert "nic_share: the largest message is 64 MiB" in error["message"]
    assert "run mpirun -np 16" in error["message"]
    assert not own.exists()


def test_wrong_values_are_left_out_and_counted(tmp_path: Path, calibrate: Calibrate) -> None:
    log = tmp_path / "wrong.log"
    good, bad = rows([2**power for power in range(20, 34)]), rows([2**18], num_wrong=3)
    log.write_text(two_nodes(bad + good))
    _, found = calibrate(log, "--node", "dgx-h100", "--technology", "infiniband-ndr")
    assert found["skipped"] == [
        {"file": "wrong.log", "why": "wrong values (#wrong above 0)", "num_rows": 2}
    ]
    assert min(row["size_bytes"] for row in found["rows"]) == 2**20


def test_nccl_and_the_list_of_ranks_tell_the_cluster(tmp_path: Path, calibrate: Calibrate) -> None:
    log = tmp_path / "job.log"
    log.write_text(INFO + two_nodes(rows([2**power for power in range(10, 34, 4)])))
    _, found = calibrate(log)
    assert (found["node"], found["technology"]) == ("dgx-h100", "infiniband-ndr")


@pytest.mark.parametrize(
    ("said", "option"),
    [("", "--technology"), (INFO, "--node")],
)
def test_a_cluster_that_logs_do_not_tell_must_be_named(
    said: str, option: str, tmp_path: Path, calibrate: Calibrate
) -> None:
    log = tmp_path / "job.log"
    log.write_text(said + two_nodes(rows([2**20, 2**30]), gpu="some GPU"))
    code, error = calibrate(log)
    assert code == 2
    assert error["problems"][0]["where"]["option"] == option


def test_hosts_that_a_log_does_not_say_are_an_option(tmp_path: Path, calibrate: Calibrate) -> None:
    log = tmp_path / "osu.log"
    sizes = [4 * 4**power for power in range(14)]
    table = "".join(f"{size:<20}{20 + size / 20e3:.2f}\n" for size in sizes)
    title = "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n"
    log.write_text(f"$ mpirun -np 16 osu_allreduce\n{title}{table}")
    options = ("--node", "dgx-h100", "--technology", "infiniband-ndr")
    code, error = calibrate(log, *options)
    assert code == 2
    assert "--nodes says so" in error["message"]
    code, found = calibrate(log, *options, "--nodes", 2)
    assert code == 0
    assert {row["num_nodes"] for row in found["rows"]} == {2}


def test_two_ends_give_latency_and_what_hosts_push(tmp_path: Path, calibrate: Calibrate) -> None:
    lat, bw, own = tmp_path / "lat.log", tmp_path / "bw.log", tmp_path / "own.toml"
    lat.write_text(
        "                    RDMA_Write Latency Test\n Device         : mlx5_0\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
        "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
        " 2       1000          4.90           9.00         5.00              5.02            "
        "0.10            5.50                    9.00\n"
    )
    bw.write_text(
        "                    RDMA_Write BW Test\n Device         : mlx5_0\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536      5000             200.00             199.00             0.379562\n"
    )
    options = ("--node", "dgx-h100", "--technology", "infiniband-ndr", "--catalog", own)
    code, found = calibrate(lat, bw, *options)
    assert code == 0
    by_key = {one["key"]: one["value"] for one in found["constants"]}
    assert by_key["latency"] == pytest.approx(5e-6)
    parts = load_catalog(own)
    wire = parts.technologies["infiniband-ndr"]
    assert wire.host_rate_bps == pytest.approx(199e9 / 0.9937, rel=0.01)
    shipped = load_catalog().technologies["infiniband-ndr"].latency
    assert wire.latency.nic_send_s > shipped.nic_send_s
    assert wire.latency.switch_s == shipped.switch_s


@pytest.mark.parametrize(
    ("text", "message"),
    [("Dear reader,\n", "holds no measurement"), (None, "cannot be read")],
)
def test_what_is_no_log_is_named(
    text: str | None, message: str, tmp_path: Path, calibrate: Calibrate
) -> None:
    log = tmp_path / "letter.txt"
    if text is not None:
        log.write_text(text)
    code, error = calibrate(log, *POLARIS)
    assert code == 2
    assert message in error["message"]


def test_a_scenario_and_a_node_are_one_too_many(tmp_path: Path, calibrate: Calibrate) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text(SCENARIO)
    code, error = calibrate(GATHER, "--scenario", scenario, "--node", "polaris")
    assert code == 2
    assert "the scenario names it already" in error["message"]


def test_runs_on_more_nodes_than_the_scenario_has_are_left_out(
    tmp_path: Path, calibrate: Calibrate
) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text(SCENARIO.replace("nodes: 16", "nodes: 4"))
    code, error = calibrate(GATHER, "--scenario", scenario)
    assert code == 2
    assert "8 nodes are more than the scenario has (4)" in error["message"]


def test_the_page_draws_measured_and_predicted(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["calibrate", "network", str(GATHER), *POLARIS, "--report", str(page)]) == 0
    text = page.read_text()
    assert "all_gather on 8 nodes, 32 ranks" in text
    assert all(word in text for word in ("measured", "before", "after", "message_share"))


def test_text_says_what_was_found_and_what_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "network", str(GATHER), *POLARIS]) == 0
    said = capsys.readouterr().out
    assert "nic_share" in said
    assert "collectives.message_share stays as shipped: no send-recv between nodes" in said
    assert "mpirun -np 32 -N 4 ./build/sendrecv_perf -b 8 -e 8G -f 2 -g 1" in said
