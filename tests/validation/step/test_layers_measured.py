"""The operator model against whole layers on one H200, and against products it did not see.

PyTorch 2.11, CUDA 13, medians of CUDA events. Constants come from single operators measured on
the same GPU; no layer was used.
"""

from __future__ import annotations

import csv
import json
import logging
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.cli.main import main
from netloom.compute.attention import fit_attention, work_s
from netloom.compute.calls import paces
from netloom.compute.device import GpuDevice, _tells, h200
from netloom.compute.gemm import MIN_S
from netloom.compute.kernels import Kernel
from netloom.compute.layers import GptLayer, LlamaLayer
from netloom.errors import SpecError
from netloom.validation.layers.loop_runs import SHIPPED
from netloom.validation.layers.suite import LayerSuite, read_timed, shipped_timed, validate_timed

if TYPE_CHECKING:
    from netloom.compute.tables import TimedOperator

pytestmark = pytest.mark.validation

LOG = logging.getLogger(__name__)
DATA = Path(__file__).parents[2] / "data"
GPT_HEAD = "hidden,heads,tp,micro_batch,seq,fwd_ms,bwd_ms"


@cache
def result() -> LayerSuite:
    return validate_timed(shipped_timed("layers"), "layers")


def test_layers_are_within_their_bound() -> None:
    found = result()
    dense = [row for row in found.per_row if row.group.split("_")[0] in {"gpt", "llama"}]
    assert len(dense) == 291
    assert sum(row.inside for row in dense) >= 0.965 * len(dense)
    assert found.median_abs_error_pct is not None
    assert found.median_abs_error_pct <= 4.0
    assert found.p90_abs_error_pct is not None
    assert found.p90_abs_error_pct <= 10.0
    assert found.bound_ok


@pytest.mark.parametrize(
    ("group", "middle", "tenth"),
    [
        # The goal is 6 and 15; these are what is achieved.
        ("moe_block, all", 4.0, 11.5),
        ("dit_block, all", 3.0, 7.0),
    ],
)
def test_blocks_are_within_their_bound(group: str, middle: float, tenth: float) -> None:
    found = next(one for one in result().groups if one.name == group)
    assert found.bound_ok
    assert (found.bound.median_pct, found.bound.p90_pct) == (6.0, 15.0)
    assert found.median_abs_error_pct <= middle
    assert found.p90_abs_error_pct <= tenth


@pytest.mark.parametrize("model", ["deepseek-v3", "qwen3-30b-a3b", "mixtral-8x7b"])
def test_no_model_of_the_mixtures_leans_on_the_others(model: str) -> None:
    """No constant is from these rows but how often they were repeated: each model stands alone."""
    rows = [row for row in shipped_timed("layers") if row.values.get("model") == model]
    found = validate_timed([row for row in rows if row.kind == "moe_block"], "layers")
    LOG.info("%s: %s, %s", model, found.median_abs_error_pct, found.p90_abs_error_pct)
    assert found.bound_ok


@pytest.mark.parametrize(
    ("group", "middle", "tenth"),
    [
        # The goal is 4 and 10 for all; these are what is achieved.
        ("gpt_layer_shard fwd_ms", 2.5, 9.0),
        ("gpt_layer_shard bwd_ms", 2.1, 5.0),
        ("llama_layer_shard eager fwd_ms", 1.5, 4.5),
        ("llama_layer_shard eager fwd_bwd_ms", 2.5, 8.0),
        ("llama_layer_shard eager fwd_bwd_recompute_ms", 2.5, 4.5),
        ("llama_layer_shard compiled fwd_ms", 2.0, 5.0),
        ("llama_layer_shard compiled fwd_bwd_ms", 2.5, 3.0),
    ],
)
def test_each_kind_of_layer_is_within_its_own(group: str, middle: float, tenth: float) -> None:
    found = next(one for one in result().groups if one.name == group)
    LOG.info(
        "%s: median %.2f, p90 %.2f", group, found.median_abs_error_pct, found.p90_abs_error_pct
    )
    assert found.bound_ok
    assert found.median_abs_error_pct <= middle
    assert found.p90_abs_error_pct <= tenth


def test_layers_on_a_gpu_at_rest_take_what_their_kernels_take() -> None:
    # Another H200, 1.5 s of rest before each: the median of the first five calls, which are over
    # before the power limit is reached (30 ms of load).
    device = h200()
    errors = []
    with (DATA / "layers_rested_h200.csv").open(encoding="ascii") as file:
        for row in csv.DictReader(file):
            boost = paces(kernels_of(row), device, launched=False).boost
            errors.append(100 * (1e3 * boost.duration_s / float(row["ms"]) - 1))
            LOG.info("%s %+.1f %%", row, errors[-1])
    assert len(errors) == 24
    assert median(map(abs, errors)) <= 1.0
    assert max(map(abs, errors)) <= 4.5


def kernels_of(row: dict[str, str]) -> list[Kernel]:
    hidden, heads, tensor, batch = (int(row[n]) for n in ("hidden", "heads", "tp", "micro_batch"))
    sequence = int(row["seq"])
    if row["mode"] == "gpt":
        layer = GptLayer(
            hidden=hidden, num_heads=heads, tensor=tensor, micro_batch=batch, sequence=sequence
        )
        return list(layer.forward() if row["timed"] == "fwd" else layer.backward())
    llama = LlamaLayer(
        hidden=hidden,
        num_heads=heads,
        num_kv_heads=8,
        ffn_hidden=int(row["ffn"]),
        tensor=tensor,
        micro_batch=batch,
        sequence=sequence,
        mode="compiled" if row["mode"] == "compiled" else "eager",
    )
    both = [] if row["timed"] == "fwd" else list(llama.backward())
    return [*llama.forward(), *both]


def test_rows_that_tell_how_a_table_was_repeated_are_not_judged() -> None:
    found = result()
    assert found.loop_runs == SHIPPED
    fitted = [row for row in found.per_row if row.fitted]
    assert {row.row_id for row in fitted} >= {"gpt_layer_shard-3", "llama_layer_shard-3"}
    parts = [group for group in found.groups if not group.name.endswith(", all")]
    assert sum(group.rows for group in parts) == sum(
        row.inside and not row.fitted for row in found.per_row
    )
    few = validate_timed([r for r in shipped_timed("layers") if r.number <= 10], "layers")
    assert not any(row.fitted for row in few.per_row)
    assert few.loop_runs.items() <= SHIPPED.items()


def test_a_model_of_a_chip_that_is_a_seventh_slower_fails() -> None:
    slow = h200()
    chip = replace(slow.chip, peak_flops=0.85 * slow.chip.peak_flops)
    slower = replace(slow, chip=chip)
    object.__setattr__(slower, "burst", slow.burst)  # the same efficiency of a slower chip
    assert not validate_timed(shipped_timed("layers"), "layers", slower).bound_ok


@pytest.mark.parametrize(
    ("rows_from", "middle", "tenth"),
    [
        # Products of 4096 rows and more were measured on a GPU at its power limit.
        (4096, 2.2, 5.5),
        # The others met its boost clock or its limit, 22 % apart, as it came.
        (1, 3.0, 11.5),
    ],
)
def test_products_left_out_are_met_from_the_others(
    rows_from: int, middle: float, tenth: float
) -> None:
    # A third of the 477 bf16 products over 60 us, drawn with three seeds, is predicted at the
    # power limit, by levels taken from the rest.
    device = h200()
    rows = [row for row in device.rows if is_telling_product(row)]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows))
        held, kept = order[: len(rows) // 3], order[len(rows) // 3 :]
        others = GpuDevice(rows=tuple(rows[at] for at in kept), chip=device.chip)
        errors = [
            100 * abs(alone_s(rows[at], others) / rows[at].time_s - 1)
            for at in held
            if rows[at].shape[0] >= rows_from
        ]
        found = median(errors), float(np.quantile(errors, 0.9))
        LOG.info(
            "%d rows, seed %d: %d, median %.2f, p90 %.2f", rows_from, seed, len(errors), *found
        )
        assert found[0] <= middle
        assert found[1] <= tenth


def is_telling_product(row: TimedOperator) -> bool:
    return row.operator == "gemm_tn" and row.precision == "bf16" and row.time_s >= MIN_S


def alone_s(row: TimedOperator, device: GpuDevice) -> float:
    kernel = Kernel(operator=row.operator, shape=row.shape)
    return device.time_s(kernel, device.slowdown([kernel]))


@pytest.mark.parametrize(
    ("operator", "middle", "tenth"),
    [("attention_forward", 1.5, 6.0), ("attention_backward", 2.0, 10.0)],
)
def test_attentions_left_out_are_met_from_the_others(
    operator: str, middle: float, tenth: float
) -> None:
    # Every combination of batch times heads and sequence in turn; shorter ones than 100 us wait
    # for the host.
    device = h200()
    errors = []
    for size in (64, 128):
        rows = [
            row
            for row in device.rows
            if row.operator == operator and row.shape[3] == size and _tells(row)
        ]
        for group in sorted({(row.shape[0] * row.shape[2], row.shape[1]) for row in rows}):
            held = [r for r in rows if (r.shape[0] * r.shape[2], r.shape[1]) == group]
            fitted = fit_attention([row for row in rows if row not in held], device.chip)
            errors += [
                100
                * abs(
                    fitted.time_s(work_s(operator, r.shape, device.chip), r.shape[1]) / r.time_s - 1
                )
                for r in held
                if r.time_s >= 100e-6
            ]
    found = median(errors), float(np.quantile(errors, 0.9))
    LOG.info("%s: %d, median %.2f, p90 %.2f", operator, len(errors), *found)
    assert found[0] <= middle
    assert found[1] <= tenth


def test_your_own_rows_are_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f"{GPT_HEAD}\n4096,32,1,1,4096,2.5,6.5\n4096,32,2,1,4096,1.3,nan\n")
    assert main(["validate", "layers", "--data", str(path), "--json", "--rows"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["rows"] == 3
    assert [(row["row_id"], row["quantity"]) for row in found["per_row"]] == [
        ("1", "fwd_ms"),
        ("1", "bwd_ms"),
        ("2", "fwd_ms"),
    ]
    keys = {"row_id", "quantity", "measured", "predicted", "error_pct", "inside", "reason"}
    assert keys <= set(found["per_row"][0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "its columns are those of no suite"),
        (f"{GPT_HEAD}\n", "has no rows"),
        (f"{GPT_HEAD}\n4096,32,1,1,many,2.5,6.5\n", "own.csv:2: seq: 'many' is not a whole number"),
        (f"{GPT_HEAD}\n4096,32,1,1,4096,-2.5,6.5\n", "own.csv:2: fwd_ms: '-2.5' is not a positive"),
        (f"{GPT_HEAD}\n4096,32,5,1,4096,2.5,6.5\n", "32 heads do not divide by 5"),
        (
            "layers,hidden,heads,seq,micro_batch,accumulate,vocab,ms\n2,1024,8,1024,1,1,1000,5\n",
            "those of suite 'gpu-steps'",
        ),
        (
            "mode,hidden,heads,kv_heads,ffn,tp,micro_batch,seq,fwd_ms\nlazy,1,1,1,1,1,1,1,1\n",
            "mode: 'lazy' is unknown",
        ),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(SpecError, match=message):
        read_timed(path, "layers")


def test_a_row_wider_than_any_measured_operator_is_outside() -> None:
    (row, *_) = shipped_timed("layers")
    wide = replace(row, values={**row.values, "hidden": "51200"})
    (found,) = validate_timed([wide], "layers").per_row
    assert not found.inside
    assert "25600 wide" in found.reason


def test_experts_of_shapes_that_no_table_has_come_out_as_near_as_those_that_were_seen() -> None:
    # Ten shapes measured afterwards (tools/measure_held_out.py); mixtures are held to 6 and 15 %.
    rows = read_timed(DATA / "held_out_h200" / "experts.csv", "layers")
    errors = [abs(row.error_pct or 0.0) for row in validate_timed(rows, "layers").per_row]
    LOG.info("held-out experts: median %.1f, p90 %.1f %%", median(errors), np.quantile(errors, 0.9))
    assert len(errors) == 2 * 2 * 10
    assert median(errors) <= 2.6
    assert np.quantile(errors, 0.9) <= 12.2


def test_a_mixture_row_needs_no_model_but_its_shape(tmp_path: Path) -> None:
    shape = "experts,grouped_mm,eager,6144,2560,160,20,8,16384,2.8"
    path = tmp_path / "own.csv"
    path.write_text(f"part,impl,mode,hidden,ffn,experts,local_experts,top_k,rows,fwd_ms\n{shape}\n")
    (row,) = validate_timed(read_timed(path, "layers"), "layers").per_row
    assert row.error_pct == pytest.approx(0.9, abs=5)


def test_a_wrong_row_is_named_by_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f"{GPT_HEAD}\n1024,16,1,1,2048,1,2\n1024,x,1,1,2048,1,2\n")
    with pytest.raises(SpecError) as error:
        read_timed(path, "layers")
    where = error.value.problems[0].where
    assert (where.file, where.line, where.key) == ("own.csv", 3, "heads")
