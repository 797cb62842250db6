"""What a GPU holds against what was measured: SimuMax's B200 runs and whole steps on one H200.

SimuMax: MooreThreads/SimuMax, B200 release summary, peak allocation in the notes of the shipped
table. H200: PyTorch 2.11 eager, peak allocation; AdamW kept bf16 states, so eight bytes a
parameter instead of our eighteen.
"""

from __future__ import annotations

import csv
import logging
import re
import statistics
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from netloom.engines.analytic import AnalyticEngine
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Parallel, Placement, Training
from netloom.step.memory import RESERVED_BYTES, memory
from netloom.validation.steps.suite import predict_case, shipped_step_rows
from netloom.workload.placement import layout
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from netloom.step.model import Memory

pytestmark = pytest.mark.validation

LOG = logging.getLogger(__name__)
GIB = 2**30


def test_memory_is_within_a_tenth_of_what_simumax_measured() -> None:
    catalog, engine = load_catalog(), AnalyticEngine()
    errors = []
    for row in shipped_step_rows():
        peak = re.search(r"peak alloc ([\d.]+) GiB", row.texts.get("notes", ""))
        if peak:
            _, step = predict_case(row, catalog, engine)
            errors.append(100 * (step.memory.total_bytes / GIB / float(peak[1]) - 1))
            LOG.info("%s %s: %+.1f %%", row.row_id, row.model, errors[-1])
    LOG.info(
        "mean %.1f %%, bias %+.1f %%", statistics.mean(map(abs, errors)), statistics.mean(errors)
    )
    assert len(errors) == 27
    assert statistics.mean(map(abs, errors)) <= 5.0
    assert max(map(abs, errors)) <= 10.0


def test_llama_3_405b_fits_with_its_gradients_divided_as_meta_ran_it() -> None:
    # The Llama 3 Herd of Models (arXiv:2407.21783) section 3.3.2: tensor 8, pipeline 16, data 128,
    # nothing computed again; optimizer states and gradients are divided, weights are not. With
    # gradients whole, 12.8 GB of fp32, it would not fit.
    catalog = load_catalog()
    shape, gpu = transformer(catalog.model("llama-3.1-405b")), catalog.gpu("H100-SXM-80GB")
    training = Training(sequence=8192, global_batch=2048, micro_batch=1, recompute="none")
    shares = {}
    for zero in (1, 2):
        parallel = Parallel(tensor=8, pipeline=16, virtual_pipeline=8, zero=zero)
        plan = layout(
            parallel, node=catalog.node("dgx-h100"), num_gpus=16384, placement=Placement()
        )
        held = memory(shape, plan, training, gpu=gpu)
        shares[zero] = (held.total_bytes + RESERVED_BYTES) / held.capacity_bytes
    LOG.info("of the GPU's memory: %s", shares)
    assert shares[2] == pytest.approx(0.896, abs=0.005)
    assert shares[1] == pytest.approx(1.043, abs=0.005)


def held_on_one_h200(row: dict[str, str]) -> Memory:
    catalog = load_catalog()
    hidden, heads = int(row["hidden"]), int(row["heads"])
    model = catalog.model("megatron-22b").model_copy(
        update={
            "num_layers": int(row["layers"]),
            "hidden": hidden,
            "num_heads": heads,
            "num_kv_heads": heads,
            "head_dim": hidden // heads,
            "ffn_hidden": 4 * hidden,
            "vocabulary": int(row["vocab"]),
            "learned_positions": int(row["seq"]),
        }
    )
    plan = layout(
        Parallel(zero=0, sequence_parallel=False),
        node=catalog.node("dgx-h200").model_copy(update={"num_gpus": 1}),
        num_gpus=1,
        placement=Placement(),
    )
    training = Training(
        sequence=int(row["seq"]),
        global_batch=int(row["micro_batch"]) * int(row["accumulate"]),
        micro_batch=int(row["micro_batch"]),
        recompute="none",
    )
    return memory(transformer(model), plan, training, gpu=catalog.gpu("H200-SXM"))


def test_activations_of_a_whole_step_are_near_what_one_h200_held() -> None:
    path = resources.files("netloom.validation.layers").joinpath("data", "h200_gpt_step_bf16.csv")
    errors = []
    for row in csv.DictReader(path.read_text("utf-8").splitlines()):
        held = held_on_one_h200(row)
        predicted = (8 * held.weights_bytes / 2 + held.activations_bytes) / GIB
        errors.append(100 * (predicted / float(row["peak_gib"]) - 1))
    LOG.info("H200 steps: %s %%", ", ".join(f"{error:+.1f}" for error in errors))
    assert len(errors) == 3
    assert max(map(abs, errors)) <= 15.0
