"""What each framework is told becomes the scenario that says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netloom as nl
from netloom.errors import NetloomError, SpecError
from netloom.formats.register import detect, formats_of
from netloom.formats.training.megatron_arguments import KNOWN_OPTIONS, UNMODELLED, WITHOUT_EFFECT
from netloom.formats.training.statements import Statements
from netloom.spec.load import load

RECIPES = Path(__file__).parents[2] / "data" / "recipes"
SMALL = RECIPES / "small_llama.config.json"
# Layers, width, heads and vocabulary of the small model above, as Megatron-LM is told of it.
ARGUMENTS = (
    "--num-layers 22 --hidden-size 2048 --ffn-hidden-size 5632 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 4 --vocab-size 32000 --swiglu "
    "--disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope "
    "--max-position-embeddings 2048 --seq-length 2048 --micro-batch-size 2 --bf16"
)


def _job(name: str, **supplied: Any) -> dict[str, Any]:
    job: dict[str, Any] = nl.convert(RECIPES / name, **supplied).scenario["job"]
    return job


def _converted(tmp_path: Path, text: str, **supplied: Any) -> Any:
    file = tmp_path / "job.sh"
    file.write_text(f"torchrun --nproc_per_node 8 pretrain_gpt.py {text}\n")
    return nl.convert(file, tmp_path / "out.yaml", **supplied)


def _named(outcomes: Any) -> dict[str, Any]:
    return {one.name: one for one in outcomes}


def test_a_megatron_script_becomes_the_job_that_it_starts() -> None:
    found = nl.convert(RECIPES / "llama3_8b.sh")
    assert found.scenario["cluster"]["gpus"] == 16
    job = found.scenario["job"]
    assert job["model"] == "llama-3-8b"
    assert job["training"] == {
        "sequence": 8192,
        "global_batch": 128,
        "micro_batch": 1,
        "precision": "fp8",
        "recompute": "none",
    }
    assert (job["parallel"]["tensor"], job["parallel"]["zero"]) == (2, 1)
    assert job["software"] == {
        "name": "megatron-core-2025",
        "tensor_overlap": True,
        "pipeline_overlap": False,
        "data_overlap": True,
        "gradient_type": "fp32",
        "cuda_graphs": False,
        "manual_gc": False,
        "parameter_type": "fp8",
    }


def test_every_statement_of_a_script_is_named_once_with_its_line() -> None:
    found = nl.convert(RECIPES / "llama3_8b.sh")
    lost = {one.name: one.line for one in found.not_taken}
    lines = (RECIPES / "llama3_8b.sh").read_text().splitlines()
    assert lost.keys() == {
        "NCCL_ALGO",
        "LOGGING_ARGS",
        "--qk-layernorm",
        "--brand-new-switch",
        "${EXTRA_ARGS[@]}",
    }
    for one in (*found.taken, *found.without_effect, *found.not_taken):
        said = one.name.removeprefix("#SBATCH ")
        assert said in lines[one.line - 1]
    options = {word for line in lines for word in line.split() if word.startswith("--")}
    options -= {"--attention-dropout", "--brand-old-switch", "--wandb-project"}  # not reached
    told = {one.name for one in (*found.taken, *found.without_effect, *found.not_taken)}
    assert {one.partition("=")[0].strip('"') for one in options} <= {
        name.removeprefix("#SBATCH ") for name in told
    } | {"--fp8-format", "--fp8-param-gather"}


def test_what_is_left_out_has_megatrons_own_default(tmp_path: Path) -> None:
    job = _converted(tmp_path, ARGUMENTS).scenario["job"]
    assert job["training"]["global_batch"] == 2 * 8  # a micro-batch for each copy
    assert job["training"]["recompute"] == "none"
    assert job["parallel"]["zero"] == 0
    switches = ("tensor_overlap", "pipeline_overlap", "data_overlap", "cuda_graphs", "manual_gc")
    assert not any(job["software"][name] for name in switches)


def test_a_shape_of_its_own_is_written_beside_the_scenario(tmp_path: Path) -> None:
    _converted(tmp_path, ARGUMENTS)
    shape = json.loads((tmp_path / "out.model.json").read_text())
    assert shape["vocab_size"] == 32000  # 250 times 128: nothing to pad
    assert load(tmp_path / "out.yaml").job.model == str(tmp_path / "out.model.json")
    ours = nl.predict(nl.load(tmp_path / "out.yaml"))
    same = nl.convert(SMALL, gpus=8, sequence=2048, global_batch=16, micro_batch=2)
    assert same.scenario["job"]["model"].endswith("small_llama.config.json")
    assert ours.step.duration_s > 0


def test_the_vocabulary_is_padded_as_megatron_pads_it(tmp_path: Path) -> None:
    text = ARGUMENTS.replace("32000", "32001") + " --tensor-model-parallel-size 2"
    _converted(tmp_path, text)
    shape = json.loads((tmp_path / "out.model.json").read_text())
    assert shape["vocab_size"] == 126 * 256  # the next multiple of 128 x 2 above 32,001


@pytest.mark.parametrize(
    ("more", "key", "value"),
    [
        ("--recompute-activations", "training.recompute", "selective"),
        ("--recompute-granularity full --recompute-method uniform", "training.recompute", "full"),
        (
            "--recompute-granularity selective --recompute-modules layernorm",
            "training.recompute",
            "light",
        ),
        ("--use-distributed-optimizer", "parallel.zero", 1),
        (
            "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params",
            "parallel.zero",
            3,
        ),
        ("--use-torch-fsdp2", "parallel.zero", 3),
        (
            "--context-parallel-size 2 --cp-comm-type allgather",
            "parallel.context_exchange",
            "all-gather",
        ),
        (
            "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1",
            "parallel.virtual_pipeline",
            11,
        ),
        (
            "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 11",
            "software.pipeline_overlap",
            True,
        ),
        ("--grad-reduce-in-bf16", "software.gradient_type", "bf16"),
        ("--ddp-bucket-size 10000000", "software.bucket", "40MB"),
        ("--optimizer-cpu-offload", "software.optimizer_offload", "100%"),
        ("--attention-backend unfused", "software.attention", "unfused"),
        ("--cuda-graph-impl local", "software.cuda_graphs", True),
        ("--manual-gc --manual-gc-interval 10", "software.manual_gc", True),
        ("--use-legacy-models", "software.name", "megatron-2022"),
    ],
)
def test_an_option_becomes_the_key_that_means_it(
    tmp_path: Path, more: str, key: str, value: object
) -> None:
    section, name = key.split(".")
    assert _converted(tmp_path, f"{ARGUMENTS} {more}").scenario["job"][section][name] == value


def test_sequence_parallelism_and_tensor_overlap_need_tensor_parallelism(tmp_path: Path) -> None:
    text = f"{ARGUMENTS} --sequence-parallel --tp-comm-overlap"
    alone = _converted(tmp_path, text).scenario["job"]
    divided = _converted(tmp_path, f"{text} --tensor-model-parallel-size 2").scenario["job"]
    for job, wanted in ((alone, False), (divided, True)):
        assert job["parallel"]["sequence_parallel"] is wanted
        assert job["software"]["tensor_overlap"] is wanted


def test_the_last_of_several_counts_and_the_others_are_named(tmp_path: Path) -> None:
    found = _converted(tmp_path, f"{ARGUMENTS} --micro-batch-size 1")
    assert found.scenario["job"]["training"]["micro_batch"] == 1
    lost = _named(found.not_taken)["--micro-batch-size"]
    assert (lost.value, "given again" in lost.reason) == ("2", True)


def test_thirty_two_bits_are_not_taken_for_sixteen_in_silence(tmp_path: Path) -> None:
    found = _converted(tmp_path, ARGUMENTS.replace("--bf16", ""))
    assert "32-bit" in _named(found.not_taken)["precision"].reason


def test_sixteen_bits_with_fewer_bits_of_exponent_sum_their_gradients_in_sixteen(
    tmp_path: Path,
) -> None:
    job = _converted(tmp_path, ARGUMENTS.replace("--bf16", "--fp16")).scenario["job"]
    assert job["training"]["precision"] == "fp16"
    assert job["software"]["gradient_type"] == "bf16"  # two bytes


def test_a_value_that_is_needed_and_cannot_be_expanded_is_asked_for(tmp_path: Path) -> None:
    text = f"{ARGUMENTS} --tensor-model-parallel-size $TP"
    with pytest.raises(SpecError, match=r"job\.sh:1: .*\$TP cannot be expanded.*--set TP=VALUE"):
        _converted(tmp_path, text)
    assert (
        _converted(tmp_path, text, variables={"TP": "4"}).scenario["job"]["parallel"]["tensor"] == 4
    )


def test_what_is_missing_is_asked_for_all_at_once_by_option() -> None:
    with pytest.raises(SpecError) as caught:
        nl.convert(SMALL)
    options = [problem.where.option for problem in caught.value.problems]
    assert options == ["--gpus", "--sequence", "--global-batch"]
    with pytest.raises(SpecError) as caught:
        nl.convert(RECIPES / "deepspeed_zero3.json")
    assert [problem.where.option for problem in caught.value.problems] == ["--sequence", "--model"]


def test_a_vocabulary_that_only_the_tokenizer_knows_is_asked_for(tmp_path: Path) -> None:
    text = ARGUMENTS.replace("--vocab-size 32000", "--tokenizer-type HuggingFaceTokenizer")
    with pytest.raises(SpecError) as caught:
        _converted(tmp_path, text)
    assert caught.value.problems[0].where.option == "--vocabulary"
    _converted(tmp_path, text, vocabulary=50000)
    assert json.loads((tmp_path / "out.model.json").read_text())["vocab_size"] == 50048


def test_a_merge_file_is_of_gpt_2s_tokenizer(tmp_path: Path) -> None:
    text = ARGUMENTS.replace("--vocab-size 32000", "--vocab-file a.json --merge-file $MERGES")
    _converted(tmp_path, text)
    shape = json.loads((tmp_path / "out.model.json").read_text())
    assert shape["vocab_size"] == 393 * 128  # 50,257 padded


def test_it_is_taken_from_the_catalogue_where_one_model_has_that_shape(tmp_path: Path) -> None:
    text = (RECIPES / "mixtral.args").read_text().replace("--tokenizer-type Llama2Tokenizer", "")
    (tmp_path / "x.args").write_text(text)
    found = nl.convert(tmp_path / "x.args", gpus=64)
    assert found.scenario["job"]["model"] == "mixtral-8x7b"
    assert "job.model vocabulary" in {one.key for one in found.assumed}


def test_a_mixture_keeps_its_experts_and_how_tokens_reach_them() -> None:
    job = _job("mixtral.args", gpus=64)
    assert job["model"] == "mixtral-8x7b"
    assert job["parallel"]["expert"] == 8
    assert job["parallel"]["expert_dispatch"] == "all-to-all"
    assert job["parallel"]["virtual_pipeline"] == 8  # 32 layers, 4 stages, one a chunk
    assert job["software"]["recompute_modules"] == ["moe_act", "layernorm"]


def test_options_as_keys_of_a_mapping_are_the_same_options() -> None:
    job = _job("deepseek_v3.yaml", gpus=1024)
    assert job["model"] == "deepseek-v3"
    assert job["parallel"]["expert_dispatch"] == "deepep"
    assert job["parallel"]["virtual_pipeline"] == 2  # the layout has 32 stages on 16 ranks
    assert job["software"]["recompute_modules"] == ["mla_up_proj", "mlp"]


def test_a_script_of_2021_names_the_software_of_its_models() -> None:
    job = _job("gpt3_175b_2021.sh")
    assert (job["model"], job["training"]["recompute"]) == ("megatron-175b", "full")
    assert job["software"] == {"name": "megatron-2022"}
    assert job["training"]["global_batch"] == 1536


def test_a_nemo_recipe_says_what_its_keys_say() -> None:
    found = nl.convert(RECIPES / "nemo_gpt3.yaml")
    job = found.scenario["job"]
    assert found.scenario["cluster"]["gpus"] == 128
    assert job["model"] == "gpt-3-175b"
    assert job["training"]["sequence"] == 2048
    assert job["parallel"]["virtual_pipeline"] == 6
    assert job["software"]["bucket"] == "125MiB"
    assert found.not_taken == ()


def test_nemo_2_and_megatron_bridge_say_it_in_other_places() -> None:
    nemo = _job("nemo2_llama3_8b.yaml")
    assert (nemo["model"], nemo["parallel"]["context"]) == ("llama-3-8b", 2)
    assert nemo["software"] == {"name": "nemo", "data_overlap": True, "gradient_type": "bf16"}
    bridge = _job("bridge_llama3_70b.yaml", gpus=64)
    assert (bridge["model"], bridge["training"]["precision"]) == ("llama-3-70b", "fp8")
    assert bridge["software"]["bucket"] == "160MB"  # 40 million gradients of 32 bits
    assert bridge["software"]["manual_gc"] is True


def test_torchtitan_shares_weights_and_divides_what_is_left() -> None:
    found = nl.convert(RECIPES / "llama3_405b.toml", gpus=128)
    job = found.scenario["job"]
    assert job["model"] == "llama-3.1-405b"
    assert job["training"]["global_batch"] == 2 * 128 // 8
    assert (job["parallel"]["zero"], job["training"]["precision"]) == (3, "fp8")
    assert job["software"]["tensor_overlap"] is True
    lines = (RECIPES / "llama3_405b.toml").read_text().splitlines()
    for one in found.taken:
        assert one.name.rpartition(".")[2] in lines[one.line - 1]


def test_deepspeed_says_how_many_gpus_by_its_batches() -> None:
    found = nl.convert(RECIPES / "deepspeed_zero3.json", model=str(SMALL), sequence=2048)
    assert found.scenario["cluster"]["gpus"] == 64 // 4
    job = found.scenario["job"]
    assert job["parallel"]["zero"] == 3
    assert job["software"]["optimizer_offload"] == "100%"
    assert job["software"]["bucket"] == "1GB"  # half a milliard of gradients of 16 bits
    assert "job.training.recompute" in {one.key for one in found.assumed}


def test_batches_that_do_not_multiply_out_are_refused(tmp_path: Path) -> None:
    text = (RECIPES / "deepspeed_zero3.json").read_text().replace("64", "63", 1)
    (tmp_path / "ds.json").write_text(text)
    with pytest.raises(SpecError, match=r"ds\.json:2: .*no multiple of 1 sequences in each of 4"):
        nl.convert(tmp_path / "ds.json", model=str(SMALL), sequence=2048)


def test_what_a_user_supplies_wins() -> None:
    found = nl.convert(
        RECIPES / "nemo2_llama3_8b.yaml",
        gpus=32,
        node="dgx-a100",
        technology="infiniband-hdr",
        global_batch=64,
        recompute="full",
        software="megatron-core-2024",
    )
    assert found.scenario["cluster"]["gpus"] == 32
    assert found.scenario["cluster"]["node"] == "dgx-a100"
    assert found.scenario["job"]["training"]["recompute"] == "full"
    assert found.scenario["job"]["software"]["name"] == "megatron-core-2024"
    assert {one.key for one in found.assumed} == {"job.model"}


def test_part_of_each_node_is_used_where_the_launcher_says_so(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(f"torchrun --nnodes=4 --nproc-per-node=4 pretrain_gpt.py {ARGUMENTS}\n")
    cluster = nl.convert(file).scenario["cluster"]
    assert (cluster["gpus"], cluster["gpus_per_node"]) == (16, 4)


def test_every_format_recognises_its_own_files_alone() -> None:
    wanted = {
        "llama3_8b.sh": "megatron-lm",
        "mixtral.args": "megatron-lm",
        "gpt3_175b_2021.sh": "megatron-lm",
        "deepseek_v3.yaml": "megatron-lm-yaml",
        "nemo_gpt3.yaml": "nemo",
        "nemo2_llama3_8b.yaml": "nemo",
        "bridge_llama3_70b.yaml": "megatron-bridge",
        "llama3_405b.toml": "torchtitan",
        "deepspeed_zero3.json": "deepspeed",
        "small_llama.config.json": "huggingface",
        "adapter_config.json": "huggingface-peft",
        "bridge_llama3_70b_lora.yaml": "megatron-bridge",
        "nemo_gpt3_lora.yaml": "nemo",
    }
    assert {path.name for path in RECIPES.iterdir()} == wanted.keys()
    for name, known in wanted.items():
        text = (RECIPES / name).read_text()
        assert detect(text, name=name, holds="recipe").name == known
        assert [one.name for one in formats_of("recipe") if one.sniff(text)] == [known]
    with pytest.raises(NetloomError, match="not a file that holds a framework's training job"):
        detect("hello", name="x.txt", holds="recipe")


def test_a_name_is_taken_quiet_or_unmodelled_and_never_two_of_these() -> None:
    assert not {name for name in UNMODELLED if WITHOUT_EFFECT.holds(name)}
    taken = {option.removeprefix("--").replace("-", "_") for option in KNOWN_OPTIONS}
    assert not {
        name for name in taken - {"train_iters", "train_samples"} if WITHOUT_EFFECT.holds(name)
    }
    assert Statements((), file="x").sorted(WITHOUT_EFFECT, UNMODELLED)["taken"] == ()
