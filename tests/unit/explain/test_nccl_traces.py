"""Traces of several ranks with NCCL's kernels, as PyTorch 2.11 with NCCL 2.28 names them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.formats.profiles.kineto import operation_of_kernel, parse_kineto
from netloom.formats.profiles.megatron_log import parse_megatron_log

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.study.explain.explanation import Explanation

SIZE = 2**28  # bytes of bf16 gradients
GEMM = "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCENARIO = """
cluster: {nodes: 2, node: dgx-h100, fabric: {technology: infiniband-ndr}}
job:
  model: llama-3-8b
  training: {sequence: 4096, global_batch: 16, recompute: none}
  parallel: {tensor: 8, zero: 0}
"""
LOG = """\
 iteration        3/     100 | consumed samples: 1536 | elapsed time per iteration (ms): 900.0 |
times across ranks (ms):
  forward-compute:
     rank  0: 200.10
     rank  1: 201.00
     rank  2: 262.00
     rank  3: 199.50
  backward-compute:
     rank  0: 400.00
     rank  1: 401.00
     rank  2: 521.00
     rank  3: 399.00
"""


def event(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    """Return one complete event."""
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args}


def trace(rank: int, *, compute_us: float, reduce_us: float, members: str) -> str:
    """Return a step: computation, then a reduction that ends with the step."""
    said = {
        "Collective name": "allreduce",
        "In msg nelems": SIZE // 2,
        "Out msg nelems": SIZE // 2,
        "Group size": members.count(",") + 1,
        "dtype": "BFloat16",
        "In split size": "[]",
        "Out split size": "[]",
        "Process Group Name": "7",
        "Process Group Description": "DATA_PARALLEL_GROUP",
        "Process Group Ranks": members,
    }
    events = [
        event("user_annotation", "ProfilerStep#4", 0.0, compute_us + reduce_us),
        event("kernel", GEMM, 0.0, compute_us, stream=7),
        event("kernel", NCCL, compute_us, reduce_us, **said),
    ]
    world = {"backend": "nccl", "rank": rank, "world_size": 16, "nccl_version": "2.28.9"}
    return json.dumps({"schemaVersion": 1, "distributedInfo": world, "traceEvents": events})


def explained(folder: Path, *traces: str) -> Explanation:
    """Return what *traces* say of the job."""
    scenario = folder / "job.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    files = [folder / f"rank{number}.json" for number in range(len(traces))]
    for file, text in zip(files, traces, strict=True):
        file.write_text(text, encoding="utf-8")
    return nl.explain(nl.load(scenario), traces=files)


@pytest.mark.parametrize(
    ("kernel", "operation"),
    [
        (NCCL, "all-reduce"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all-gather"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_SIMPLE(...)", "reduce-scatter"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send-recv"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, ...)", "all-reduce"),
        ("ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)", "all-gather"),
        ("rcclGenericKernel_AllReduce_1(...)", "all-reduce"),
    ],
)
def test_kernels_of_nccl_say_their_operation(kernel: str, operation: str) -> None:
    """Of releases from 2.10 to 2.28, and of RCCL."""
    assert operation_of_kernel(kernel) == operation


def test_a_group_across_nodes_is_judged_by_the_network_between_them(tmp_path: Path) -> None:
    """256 MiB over NVLink takes 1 ms, over one NIC of each of two nodes at 50 GB/s 5.4."""
    apart = trace(0, compute_us=1e5, reduce_us=6_000, members="[0, 8]")
    found = explained(tmp_path, apart)
    (rate,) = found.rates
    assert rate.predicted_s == pytest.approx(SIZE / 50e9, rel=0.3)
    assert "slow-collective" not in [one.name for one in found.causes]
    together = trace(0, compute_us=1e5, reduce_us=6_000, members="[0, 1]")
    assert explained(tmp_path, together).rates[0].predicted_s < rate.predicted_s / 2


def test_ranks_are_read_where_the_list_is_cut_short() -> None:
    """PyTorch writes at most 30 of them."""
    text = trace(0, compute_us=1.0, reduce_us=1.0, members="[0, 8, 16, ..., 248]")
    assert parse_kineto(text).collectives[0].rank_stride == 8


def test_a_straggler_among_ranks_is_named_and_its_collective_is_not(tmp_path: Path) -> None:
    """Rank 8 computes 30 ms longer; the other waits in the all-reduce."""
    first = trace(0, compute_us=100_000, reduce_us=36_000, members="[0, 8]")
    slow = trace(8, compute_us=130_000, reduce_us=6_000, members="[0, 8]")
    causes = {one.name: one for one in explained(tmp_path, first, slow).causes}
    assert "rank 8 computes 130.0 ms a step, the others 100.0" in causes["slow-rank"].what
    assert causes["slow-rank"].worth_s == pytest.approx(0.030)
    assert "slow-collective" not in causes


def test_a_throttled_collective_is_named_and_no_rank_is(tmp_path: Path) -> None:
    """Both ranks see 30 ms where 5.4 would do."""
    slow = [trace(one, compute_us=1e5, reduce_us=30_000, members="[0, 8]") for one in (0, 8)]
    causes = {one.name: one for one in explained(tmp_path, *slow).causes}
    assert "256.0 MiB over 2 ranks takes 30.00 ms" in causes["slow-collective"].what
    assert "slow-rank" not in causes


def test_timers_of_every_rank_name_the_slow_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--timing-log-option all; rank 2 needs 783 ms where the others need 600."""
    assert parse_megatron_log(LOG.splitlines()).timers["forward-compute"].ranks_s[2] == 0.262
    scenario, log = tmp_path / "job.yaml", tmp_path / "log.txt"
    scenario.write_text(SCENARIO, encoding="utf-8")
    log.write_text(LOG, encoding="utf-8")
    assert main(["explain", str(scenario), "--log", str(log)]) == 0
    assert "rank 2 computes 783.0 ms a step, the others 600.1" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("option", ["--trace", "--log"])
def test_a_pipe_is_refused_and_not_waited_for(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the message is about the pipe, not the scenario."""
    scenario, pipe = tmp_path / "job.yaml", tmp_path / "pipe"
    scenario.write_text(SCENARIO, encoding="utf-8")
    os.mkfifo(pipe)
    assert main(["explain", str(scenario), option, str(pipe)]) == 2
    error = capsys.readouterr().err
    assert f"{pipe}: not a regular file" in error
    assert "job.yaml" not in error
