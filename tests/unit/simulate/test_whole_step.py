"""One optimizer step of a job, all of it in packets, beside its prediction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import netloom as nl
from netloom.app.simulate import StepOptions, stragglers_of
from netloom.cli.main import main
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.simulation import Simulation

CATALOG = load_catalog()
JOB = """
cluster: {nodes: 2, node: dgx-h100, fabric: {technology: rocev2-400g}}
job:
  model: llama-3.2-1b
  training: {sequence: 2048, global_batch: 4}
  parallel: {tensor: 8}
"""
PARALLEL = {"tensor": 8, "pipeline": 2, "data": 2, "zero": 1}


def job(**changes: Any) -> Scenario:
    """Return Llama 3.2 1B on four nodes of eight, two stages of two replicas unless changed."""
    fabric = {
        "technology": changes.pop("technology", "rocev2-400g"),
        "topology": {"kind": "rail-fat-tree"},
    }
    return nl.load(
        {
            "cluster": {"gpus": changes.pop("gpus", 32), "node": "dgx-h100", "fabric": fabric},
            "job": {
                "model": "llama-3.2-1b",
                "training": {"sequence": 2048, "global_batch": 8, "precision": "bf16"},
                "parallel": changes.pop("parallel", PARALLEL),
            },
            **changes,
        }
    )


def run(scenario: Scenario, **options: Any) -> Simulation:
    return nl.simulate(scenario, CATALOG, step=StepOptions(**options))


@pytest.fixture(scope="module")
def plain() -> Simulation:
    return run(job())


def phases(found: Simulation) -> dict[str, tuple[float, float]]:
    step = found.first.step
    assert step is not None
    return {phase.name: (phase.predicted_s, phase.packets_s) for phase in step.phases}


def test_the_phases_add_up_to_the_step_in_packets_and_in_closed_form(plain: Simulation) -> None:
    step = plain.first.step
    assert step is not None
    predicted = nl.predict(job(), CATALOG).step
    assert step.predicted_s == pytest.approx(predicted.duration_s)
    # The step ends with the weight update, 1 us of rounding after the last message at most.
    assert step.duration_s >= plain.first.span_s
    assert step.to_json()["ratio"] == pytest.approx(step.duration_s / predicted.duration_s)


def test_what_packets_do_not_decide_is_what_was_predicted(plain: Simulation) -> None:
    # Durations of computation are whole microseconds whose sum is right, and so what begins and
    # ends beside it moves by some of them.
    for name in ("compute", "exposed_tensor", "optimizer"):
        predicted_s, packets_s = phases(plain)[name]
        assert packets_s == pytest.approx(predicted_s, abs=1e-5), name


def test_every_micro_batch_hops_both_ways_on_every_gpu_of_a_stage(plain: Simulation) -> None:
    # 8 sequences over 2 replicas are 4 micro-batches, forward and back between 16 pairs of GPUs.
    rows = {row["job"]: row for row in plain.by_job()}
    assert rows["pipeline send-recv"]["flows"] == 4 * 2 * 16
    assert rows["pipeline send-recv"]["flows_finished"] == 4 * 2 * 16


def test_what_is_sent_is_what_the_job_sends(plain: Simulation) -> None:
    # Gradients and weights in 2 bytes each are scattered and gathered over 2 replicas: each of
    # the two sends half. Llama 3.2 1B ties its embedding, which both stages hold.
    sent = plain.first.transfers
    is_data = [name.startswith("data") for name in plain.jobs]
    data_bytes = sum(
        int(size) for size, kind in zip(sent.size_bytes, sent.job, strict=True) if is_data[kind]
    )
    embedding = 128_256 * 2048
    held = 1.236e9 + embedding
    assert data_bytes == pytest.approx(held * (2 + 2), rel=0.001)


def test_computation_is_no_flow(plain: Simulation) -> None:
    assert (plain.first.transfers.size_bytes > 0).all()
    assert len(plain.first.transfers) == len(plain.first.ideal_ps)
    step = plain.first.step
    assert step is not None
    assert step.num_computations > 0


def test_a_straggler_holds_up_all_by_what_it_computes_longer() -> None:
    # One stage: every rank computes the same, and all wait for the slow one at the end.
    alone = {"tensor": 8, "data": 4, "zero": 1}
    plain = phases(run(job(parallel=alone)))
    slow = run(job(parallel=alone), stragglers={9: 1.5})
    found = phases(slow)
    assert found["compute"][1] == pytest.approx(1.5 * plain["compute"][1], rel=1e-4)
    step = slow.first.step
    assert step is not None
    assert (step.first_gpu, step.num_gpus) == (8, 8)  # the node of GPU 9
    assert "straggler" in next(p.why for p in step.phases if p.name == "compute")


def test_a_ring_of_context_goes_hop_by_hop_behind_computation() -> None:
    # 16 layers, 4 micro-batches a replica, both ways; a hop of 256 KiB takes a tenth of its layer.
    found = run(job(parallel={"tensor": 8, "context": 2, "data": 2, "zero": 1}))
    step = found.first.step
    assert step is not None
    row = next(row for row in found.by_job() if row["job"] == "context send-recv")
    assert row["flows"] == row["flows_finished"] >= 2 * 16 * 4 * 32
    context = next(phase for phase in step.phases if phase.name == "exposed_context")
    assert context.packets_s < 0.1 * context.predicted_s
    assert "library" in context.why
    full = run(job(parallel={"tensor": 8, "context": 2, "data": 2, "zero": 1}), folds=False)
    assert full.first.step == step


def test_a_ring_of_context_over_a_slow_link_is_waited_for() -> None:
    # At 4 Gb/s a hop takes 0.5 ms, a layer's computation about 0.1 ms.
    parallel = {"tensor": 8, "context": 4}
    fault = {"kind": "slow", "part": "gpu:3", "rate": "4Gbps"}
    slow = phases(run(job(parallel=parallel, faults=[fault])))
    assert slow["exposed_context"][1] > 10 * slow["compute"][1] / 32


def test_a_slow_link_exposes_what_it_carries(plain: Simulation) -> None:
    fault = {"kind": "slow", "part": "gpu:3", "rate": "40Gbps"}
    slow = run(job(faults=[fault]))
    assert phases(slow)["exposed_data"][1] > 2 * phases(plain)["exposed_data"][1]
    assert phases(slow)["compute"][1] == pytest.approx(phases(plain)["compute"][1])


def test_equal_seeds_give_equal_steps(plain: Simulation) -> None:
    assert run(job()).first.step == plain.first.step


def test_steps_are_refused_where_there_is_none() -> None:
    with pytest.raises(InfeasibleError, match="leaves a node"):
        run(job(gpus=8, parallel={"tensor": 8}))
    with pytest.raises(SpecError, match="runs in packets"):
        nl.simulate(job(), CATALOG, engine="flow", step=True)
    with pytest.raises(SpecError, match="a step is of a job"):
        nl.simulate(nl.example("incast-rocev2"), CATALOG, step=True)
    with pytest.raises(SpecError, match="no GPU 32"):
        run(job(), stragglers={32: 2.0})
    with pytest.raises(SpecError, match="as long"):
        run(job(), stragglers={1: 0.5})


def test_what_is_skipped_moves_the_step_by_less_than_a_thousandth(plain: Simulation) -> None:
    full = run(job(), folds=False, skips=False)
    assert full.first.delivery.simulated_share == 1
    assert plain.first.delivery.simulated_share < 1
    assert plain.first.step is not None
    assert full.first.step is not None
    assert plain.first.step.duration_s == pytest.approx(full.first.step.duration_s, rel=1e-3)
    last_ps = (one.first.delivery.finish_ps.max() for one in (plain, full))
    assert next(last_ps) == pytest.approx(next(last_ps), rel=1e-3)


def test_the_command_and_its_page_tell_the_phases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "job.yaml", tmp_path / "page.html"
    file.write_text(JOB)
    command = ["simulate", "--step", str(file), "--straggler", "3=1.1"]
    assert main([*command, "--json", "--report", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    names = [phase["phase"] for phase in found["step"]["phases"]]
    assert names[0] == "compute"
    assert found["step"]["step_time_s"] > 0
    assert 0 <= found["simulated_share"] <= 1
    assert "The step beside its prediction" in page.read_text()
    assert main(command) == 0
    assert "whole step" in capsys.readouterr().out


def test_stragglers_are_pairs() -> None:
    assert stragglers_of(["7=1.2", "0=2"]) == {7: 1.2, 0: 2.0}
    with pytest.raises(SpecError, match="GPU=FACTOR"):
        stragglers_of(["7"])
    with pytest.raises(SpecError, match="--step"):
        stragglers_of(["7=2"], step=False)
