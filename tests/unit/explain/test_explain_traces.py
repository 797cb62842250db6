"""Traces recorded on an H200, sound and with a fault: ``netloom explain`` names it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from recorded_runs import LAUNCH_BOUND, PLAIN, TRACES, TWO_RANKS

import netloom as nl
from netloom.formats.profiles.kineto import parse_kineto
from netloom.spec.scenario import Parallel
from netloom.study.explain.phases import recorded_step

if TYPE_CHECKING:
    from pathlib import Path

    from recorded_runs import Run

    from netloom.study.explain.explanation import Explanation


def explained(folder: Path, run: Run, *traces: str) -> Explanation:
    paths = [TRACES / f"{name}.json.gz" for name in traces]
    return nl.explain(nl.load(run.write(folder)), traces=paths)


def names(found: Explanation) -> list[str]:
    return [one.name for one in found.causes]


def test_a_sound_eager_run_has_unfused_kernels_only(tmp_path: Path) -> None:
    """Measured without the profiler: 99.8 ms a step; with it 106.5, predicted 103.3."""
    found = explained(tmp_path, PLAIN, "plain.rank0")
    assert names(found) == ["unfused-kernels"]
    assert found.measured_s == pytest.approx(0.1065, rel=0.01)
    assert found.prediction.step.duration_s == pytest.approx(found.measured_s, rel=0.1)


def test_a_gpu_held_at_800_mhz_is_named_before_all_else(tmp_path: Path) -> None:
    """The same run took 200.2 ms instead of 99.8 with the clock locked at 800 MHz."""
    found = explained(tmp_path, PLAIN, "plain_throttled.rank0")
    assert names(found)[0] == "slow-gpu"
    assert found.causes[0].worth_s == pytest.approx(0.2002 - 0.0998, rel=0.35)


def test_waiting_for_data_is_what_the_loader_slept(tmp_path: Path) -> None:
    """Two micro-batches each waited 60 ms for data; 26 ms of that ran beside the GPU's work."""
    found = explained(tmp_path, PLAIN, "data_wait.rank0")
    assert names(found)[0] == "slow-data"
    assert 0.08 < found.causes[0].worth_s < 0.12


def test_layers_computed_twice_are_named(tmp_path: Path) -> None:
    """Each of 4 layers x 2 micro-batches runs attention forward twice: 16 for 8 backward."""
    found = explained(tmp_path, PLAIN, "recompute.rank0")
    cause = next(one for one in found.causes if one.name == "recomputation")
    assert "16 times for 8 backward" in cause.what
    assert cause.worth_s == pytest.approx(0.1209 - 0.0998, rel=0.35)


def test_recomputation_that_the_scenario_states_is_no_cause(tmp_path: Path) -> None:
    path = PLAIN.write(tmp_path)
    path.write_text(path.read_text().replace("recompute: none", "recompute: full"))
    found = nl.explain(nl.load(path), traces=[TRACES / "recompute.rank0.json.gz"])
    assert "recomputation" not in names(found)


def test_a_small_model_waits_for_the_host(tmp_path: Path) -> None:
    found = explained(tmp_path, LAUNCH_BOUND, "launch_bound.rank0")
    assert names(found)[0] == "launch-bound"
    assert found.causes[0].worth_s > 0.8 * found.measured_s


def test_the_rank_that_computes_more_is_named(tmp_path: Path) -> None:
    """Rank 1 ran 60 more products a layer than rank 0."""
    found = explained(tmp_path, TWO_RANKS, "straggler.rank0", "straggler.rank1")
    cause = next(one for one in found.causes if one.name == "slow-rank")
    assert cause.what.startswith("rank 1 ")


def test_ranks_that_compute_alike_have_no_slow_one(tmp_path: Path) -> None:
    found = explained(tmp_path, TWO_RANKS, "two_ranks.rank0", "two_ranks.rank1")
    assert "slow-rank" not in names(found)


def test_collectives_over_gloo_are_far_below_the_network(tmp_path: Path) -> None:
    """gloo copies through the host: 125 MiB in 100 ms where NVLink needs well under 1 ms."""
    found = explained(tmp_path, TWO_RANKS, "two_ranks.rank0", "two_ranks.rank1")
    assert names(found)[0] == "slow-collective"
    largest = max(found.rates, key=lambda one: one.size_bytes)
    assert largest.size_bytes == 2 * 65_538_048
    assert largest.ratio > 50


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.gz")), ids=lambda path: path.name)
def test_phases_of_a_recorded_step_add_up_to_it(path: Path) -> None:
    timeline = parse_kineto(gzip.decompress(path.read_bytes()).decode())
    step = recorded_step(timeline, Parallel())
    assert sum(step.phases_s.values()) == pytest.approx(step.duration_s, rel=1e-9)
    assert min(step.phases_s.values()) >= 0


def nccl_kernel(start_us: float, duration_us: float, size_bytes: int) -> dict[str, Any]:
    """Return an all-reduce as Kineto records NCCL's (PyTorch 2.5 and later)."""
    return {
        "ph": "X",
        "cat": "kernel",
        "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ts": start_us,
        "dur": duration_us,
        "args": {
            "Collective name": "allreduce",
            "In msg nelems": size_bytes // 2,
            "dtype": "BFloat16",
            "Group size": 8,
            "Process Group Description": "DATA_PARALLEL_GROUP",
        },
    }


def with_all_reduce(folder: Path, duration_us: float) -> Explanation:
    """Return the sound run with an all-reduce of 1 GiB after each step's last kernel."""
    trace = json.loads(gzip.decompress((TRACES / "plain.rank0.json.gz").read_bytes()))
    steps = [one for one in trace["traceEvents"] if one["name"].startswith("ProfilerStep")]
    kernels = [one for one in trace["traceEvents"] if one.get("cat") == "kernel"]
    last_us = max(one["ts"] + one["dur"] for one in kernels)
    trace["traceEvents"].append(nccl_kernel(last_us, duration_us, 2**30))
    steps[-1]["dur"] = last_us + duration_us - steps[-1]["ts"]
    path = folder / "planted.json"
    path.write_text(json.dumps(trace))
    scenario = replace(PLAIN, gpus=8).write(folder)
    return nl.explain(nl.load(scenario), traces=[path])


def test_a_throttled_all_reduce_is_named_with_its_rate(tmp_path: Path) -> None:
    """1 GiB over 8 H200 takes about 3.9 ms (480 GB/s of busbw with NVLS); 20 ms is a fifth."""
    found = with_all_reduce(tmp_path, 20_000)
    cause = next(one for one in found.causes if one.name == "slow-collective")
    assert "1024.0 MiB over 8 ranks takes 20.00 ms" in cause.what
    assert cause.worth_s == pytest.approx((0.020 - found.rates[0].predicted_s) / 2, rel=0.01)


def test_an_all_reduce_at_its_rate_is_exposed_not_slow(tmp_path: Path) -> None:
    sound_us = 1e6 * with_all_reduce(tmp_path, 20_000).rates[0].predicted_s
    assert "slow-collective" not in names(with_all_reduce(tmp_path, 1.2 * sound_us))
