"""From a published row's free text to a job on a network."""

from __future__ import annotations

from typing import Any

import pytest

from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.validation.steps.cases import cases_of
from netloom.validation.steps.contradicted import contradicted
from netloom.validation.steps.measured import MeasuredStep, read_step, read_steps
from netloom.validation.steps.suite import (
    read_step_rows,
    shipped_step_rows,
    validate_steps,
)
from netloom.workload.parameters import parameters

CATALOG = load_catalog()
ROW = {
    "row_id": "x-1",
    "source": "test",
    "model": "GPT 18.4B",
    "params_b": "18.4",
    "layers": "40",
    "hidden": "6144",
    "ffn_hidden": "24576",
    "heads": "48",
    "kv_heads": "=heads",
    "vocab": "50257",
    "seq_len": "2048",
    "gpu": "A100-SXM-80GB",
    "gpus_per_node": "8",
    "n_gpus": "256",
    "scaleout": "InfiniBand HDR200 x4 per node = 800 Gb/s",
    "precision": "fp16 (default)",
    "framework": "Megatron-DeepSpeed",
    "tp": "8",
    "pp": "1",
    "micro_batch": "4",
    "global_batch": "1024",
    "recompute": "full (shipped configs)",
    "seq_parallel": "no",
    "optimizer_sharding": "no (default)",
    "step_time_s": "9.6",
    "tier": "A",
}


def row(**changes: str) -> MeasuredStep:
    return read_step({**ROW, **changes}, where="test.csv")


def test_a_row_becomes_the_job_it_describes() -> None:
    (case,) = cases_of(row(), CATALOG)
    assert case.model.num_kv_heads == 48
    assert case.model.head_dim == 128
    assert case.job.trained.precision == "fp16"
    assert case.job.trained.recompute == "full"
    assert case.job.parallel.zero == 0
    assert not case.job.parallel.sequence_parallel
    assert case.practice.attention == "unfused"
    assert case.network.node.num_nics == 4
    assert case.network.technology.name == "infiniband-hdr"
    assert case.assumed == case.doubts == ()


@pytest.mark.parametrize(
    ("text", "num_nics", "technology"),
    [
        ("InfiniBand HDR200 x8 per node (Selene)", 8, "infiniband-hdr"),
        ("8x200Gb RoCE per node, 3-layer Clos", 8, "rocev2-200g"),
        ("RoCE 1600 Gb/s per node", 8, "rocev2-200g"),
        ("RDMA (RoCE backend) 400Gb/s per GPU", 8, "rocev2-400g"),
        ("InfiniBand NDR400 Quantum-2/CX7 reference", 8, "infiniband-ndr"),
    ],
)
def test_the_scale_out_network_is_read_from_free_text(
    text: str, num_nics: int, technology: str
) -> None:
    (case,) = cases_of(row(scaleout=text), CATALOG)
    assert case.network.node.num_nics == num_nics
    assert case.network.technology.name == technology


def test_what_is_not_said_is_assumed_aloud() -> None:
    case = cases_of(row(scaleout="", framework="NeMo", recompute="", tp="", pp=""), CATALOG)[0]
    said = " ".join(case.assumed)
    for word in ("NICs", "parallelism", "Recomputation"):
        assert word in said


def test_without_a_stated_recomputation_every_kind_is_a_case() -> None:
    kinds = [case.job.trained.recompute for case in cases_of(row(recompute=""), CATALOG)]
    assert kinds == ["none", "selective", "full"]


def test_a_power_limit_slows_the_clock_by_its_cube_root() -> None:
    text = "H100 96GB HBM2e 2.4TB/s, 500W cap"
    (case,) = cases_of(row(gpu=text), CATALOG)
    plain = CATALOG.gpu("H100-SXM-80GB")
    assert case.network.gpu.memory_rate_bps == pytest.approx(8 * 2.4e12)
    assert plain.peak.bf16 is not None
    expected = plain.peak.bf16 * (500 / plain.power_w) ** (1 / 3)
    assert case.network.gpu.peak.bf16 == pytest.approx(expected)


def test_part_of_a_node_is_a_node_of_that_many_gpus() -> None:
    (case,) = cases_of(row(n_gpus="4", tp="4", global_batch="16"), CATALOG)
    assert case.network.design.num_gpus == 4
    assert case.network.node.num_gpus == 4


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"gpu": "TPU v5"}, "TPU v5"),
        ({"model": "BERT"}, "BERT"),
        ({"step_time_s": ""}, "step_time"),
    ],
)
def test_a_row_that_cannot_be_read_says_which_and_why(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(SpecError, match=what) as error:
        cases_of(row(**changes), CATALOG)
    assert "x-1" in str(error.value)


def test_rows_that_cannot_be_predicted_are_named_and_counted_apart() -> None:
    found = validate_steps([row(), row(row_id="x-2", tp="7")], CATALOG)
    good, bad = found.per_row
    assert good.inside
    assert good.predicted is not None
    assert not bad.inside
    assert bad.predicted is None
    assert "tensor 7" in bad.reason
    assert (found.rows, found.inside) == (2, 1)


def test_a_shape_that_is_not_stated_is_taken_by_size() -> None:
    case = cases_of(row(model="GPT 5B", params_b="5", layers="", heads=""), CATALOG)[0]
    assert 4e9 < parameters(case.model) < 6e9
    assert "shape" in " ".join(case.assumed)


def test_the_shipped_table_is_whole() -> None:
    rows = shipped_step_rows()
    assert len(rows) == len({one.row_id for one in rows}) == 1297


def test_a_file_without_rows_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("row_id,gpu\n")
    with pytest.raises(SpecError, match="has no rows"):
        read_step_rows(path)


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("FP8-MX", "mxfp8"),
        ("MXFP8", "mxfp8"),
        ("FP8-CS", "fp8"),
        ("fp8 (fp8 all-gather)", "fp8"),
        ("NVFP4", "nvfp4"),
        ("amp_bf16", "bf16"),
        ("", "bf16"),
    ],
)
def test_precision_is_read_however_a_table_writes_it(text: str, precision: str) -> None:
    (case,) = cases_of(row(precision=text, gpu="B200"), CATALOG)
    assert case.job.trained.precision == precision


def test_degrees_that_are_not_stated_are_tried_until_the_model_fits() -> None:
    stated = {"tp": "", "pp": "", "n_gpus": "96", "layers": "96", "hidden": "12288"}
    big = row(**stated, heads="96", ffn_hidden="49152", params_b="175", global_batch="1152")
    (result,) = validate_steps([big], CATALOG).per_row
    assert result.predicted is not None
    assert not result.inside
    assert "no parallelism is stated; tensor 8, pipeline" in result.reason


def test_weights_are_shared_by_as_many_ranks_as_the_row_states() -> None:
    told = {"framework": "MaxText", "optimizer_sharding": "", "tp": "1", "micro_batch": "2"}
    sharing = [
        cases_of(row(fsdp=ranks, **told), CATALOG)[0].job.parallel.zero_ranks
        for ranks in ("128", "256")
    ]
    assert sharing == [128, None]  # of 256 copies


def test_a_stage_alone_takes_the_largest_micro_batch_that_is_not_stated() -> None:
    # 1,024 sequences over 256 / 8 = 32 copies are 32 of each; a pipeline takes one at a time.
    sizes = [one.job.trained.micro_batch for one in cases_of(row(micro_batch=""), CATALOG)]
    assert sizes == [32, 16, 8, 4, 2, 1]
    (piped,) = cases_of(row(micro_batch="", pp="2"), CATALOG)
    assert piped.job.trained.micro_batch == 1
    (stated,) = cases_of(row(), CATALOG)
    assert stated.job.trained.micro_batch == 4


def test_weights_that_ranks_divide_need_no_other_degrees() -> None:
    whole = cases_of(row(tp="", pp=""), CATALOG)
    divided = cases_of(row(tp="", pp="", fsdp="256"), CATALOG)
    assert {case.job.parallel.tensor for case in whole} == {1, 2, 4, 8}
    assert [case.job.parallel.tensor for case in divided] == [1]


def test_a_flag_for_divided_weights_is_no_degree_of_one() -> None:
    assert row(fsdp="1", framework="Megatron-Bridge 26.02").divides_weights
    assert not row(fsdp="1").divides_weights
    assert not row(fsdp="0", framework="Megatron-Bridge 26.02").divides_weights


def lines(*rows: dict[str, str]) -> list[str]:
    names = list(rows[0])
    quoted = [",".join(f'"{one[name]}"' for name in names) for one in rows]
    return [",".join(names), *quoted]


def test_a_row_without_a_name_has_its_number() -> None:
    found = read_steps(lines({**ROW, "row_id": ""}, {**ROW, "row_id": ""}), where="own.csv")
    assert [one.row_id for one in found] == ["1", "2"]


def test_a_row_that_lacks_something_leaves_the_others_their_score() -> None:
    table = lines(ROW, {**ROW, "row_id": "x-2", "seq_len": ""})
    good, bad = validate_steps(read_steps(table, where="own.csv"), CATALOG).per_row
    assert good.predicted is not None
    assert bad.error_pct is None
    assert bad.measured == 9.6
    assert "x-2: has no seq_len" in bad.reason


def test_commas_part_thousands_of_counts_and_are_refused_in_times() -> None:
    (found,) = read_steps(lines({**ROW, "n_gpus": "1,024"}), where="own.csv")
    assert found.num_gpus == 1024
    with pytest.raises(SpecError, match="has a comma"):
        read_step({**ROW, "step_time_s": "9,613"}, where="own.csv")


@pytest.mark.parametrize("text", ["16,32", "1.2.3", "many"])
def test_what_is_no_number_is_not_read_as_its_first_digits(text: str) -> None:
    with pytest.raises(SpecError, match="n_gpus"):
        row(n_gpus=text)


def test_rows_that_their_own_source_contradicts_are_few_and_named() -> None:
    found = {one.row_id: contradicted(one) for one in shipped_step_rows()}
    named = {row_id for row_id, why in found.items() if why}
    vtrain = {f"vtrain_multi-00{number}" for number in (44, 51, 81)}
    tables = {f"bridge25-00{number}" for number in ("04", "15", "16", "34")}
    assert named == vtrain | tables | {"megatron_bridge-0036", "megatron_bridge-0239"}
    assert found["bridge25-0034"] == (
        "the recipe of its release has micro-batches of 4, the table 1",
    )


@pytest.mark.parametrize(
    ("framework", "attention", "parameters"),
    [
        ("NeMo, MLPerf v3.0", 3, 2),
        ("NeMo, MLPerf v3.1", 2, 2),  # its container has flash-attn 2.0.8
        ("NeMo, MLPerf v5.0", 3, 1),  # holds FP8 parameters
    ],
)
def test_submissions_to_mlperf_are_run_with_what_their_round_had(
    framework: str, attention: int, parameters: int
) -> None:
    case = cases_of(row(framework=framework, gpu="H100-SXM-80GB", precision="fp8"), CATALOG)[0]
    assert (case.practice.flash, case.practice.parameter_bytes) == (attention, parameters)


@pytest.mark.parametrize(
    ("framework", "source", "name"),
    [
        ("Megatron-LM", "Narayanan et al. 2021 (SC21, arXiv:2104.04473)", "megatron-2021"),
        ("Megatron-LM r0.8", "Some et al. 2021", "megatron-core-2024"),  # it names its release
        ("Megatron-LM", "MegaScale NSDI24 (arXiv:2402.15627)", "megatron-core-2024"),
    ],
)
def test_software_without_a_release_is_of_the_year_of_its_source(
    framework: str, source: str, name: str
) -> None:
    case = cases_of(row(framework=framework, source=source), CATALOG)[0]
    assert case.practice.name == name


@pytest.mark.parametrize(
    ("gpu", "node"),
    [
        ("H800", "hgx-h800"),
        ("H20-SXM 96GB", "hgx-h20"),
        ("A800-SXM-80GB", "hgx-a800"),
        ("GH200 96GB", "gh200-4"),
        ("Gaudi 3", "gaudi3-8"),
        ("Ascend 910B", "atlas-800t-a2"),
    ],
)
def test_a_gpu_is_taken_for_no_other_whose_name_its_own_holds(gpu: str, node: str) -> None:
    case = cases_of(row(gpu=gpu, scaleout=""), CATALOG)[0]
    assert case.network.node.name == node


def test_how_far_apart_the_steps_of_a_run_are_stands_beside_its_error() -> None:
    told, silent = row(step_p5_s="9.5", step_p95_s="9.88"), row(row_id="x-2")
    spreads = [one.spread_pct for one in validate_steps([told, silent], CATALOG).per_row]
    assert spreads == [pytest.approx(4.0), None]
