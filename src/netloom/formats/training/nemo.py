"""Recipes of NeMo 1 and 2 and of Megatron-Bridge, written out as YAML."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.formats.training.documents import flat_document
from netloom.formats.training.megatron_arguments import RENAMED
from netloom.formats.training.megatron_job import MegatronDialect, megatron_recipe
from netloom.formats.training.peft import PEFT_NAMES
from netloom.formats.training.statements import Statements

if TYPE_CHECKING:
    from netloom.formats.training.recipe import Recipe, RecipeStatement, RecipeText

__all__ = ["is_bridge", "is_nemo", "parse_bridge", "parse_nemo"]

NEMO: Final = MegatronDialect(
    software="nemo", complete=False, groups_switched=False, dispatcher="alltoall"
)
BRIDGE: Final = MegatronDialect(
    software="megatron-bridge", complete=False, groups_switched=False, dispatcher="alltoall"
)
DATA_SEQUENCE: Final = "data_seq_length"
# Where settings of Megatron stand in these files, the one that counts last.
_SECTIONS: Final = (
    "data",
    "dataset",
    "model",
    "model.config",
    "model.optim",
    "model.tokenizer",
    "tokenizer",
    "trainer",
    "trainer.plugins",
    "trainer.strategy",
    "trainer.strategy.ddp",
    "train",
    "optim.config",
    "optimizer",
    "ddp",
    "mixed_precision",
    "comm_overlap",
    "dist",
)
# Sections that change no step; of the others each key is judged by its name.
_QUIET: Final = (
    "exp_manager",
    "logger",
    "checkpoint",
    "scheduler",
    "rng",
    "profiling",
    "straggler",
    "rerun_state_machine",
    "inprocess_restart",
    "resume",
    "log",
    "callbacks",
    "trainer.callbacks",
    "trainer.logger",
    "trainer.val_check_interval",
    "trainer.limit_",
    "trainer.max_",
    "trainer.log_every_n_steps",
    "trainer.enable_",
    "trainer.use_distributed_sampler",
    "trainer.replace_sampler_ddp",
    "trainer.num_sanity_val_steps",
    "trainer.accelerator",
    "trainer.benchmark",
    "trainer.gradient_clip_val",
    "trainer.accumulate_grad_batches",
    "trainer.strategy._target_",
    "trainer.strategy.ckpt_",
    "model.data",
    "model.tokenizer",
    "model.optim.sched",
    "model.optim.lr",
    "model.optim.betas",
    "model.optim.weight_decay",
    "model.nsys_profile",
    "model.native_amp_",
    "model.resume_from_checkpoint",
    "optim.lr_scheduler",
    "optim.config.lr",
    "optim.config.weight_decay",
    "optim.config.adam_",
    "optim.config.clip_grad",
    "optimizer.lr",
    "optimizer.weight_decay",
    "optimizer.adam_",
    "optimizer.clip_grad",
    "name",
    "restore_from_path",
    "peft.alpha",
    "peft.dropout",
    "peft.lora_",
    "model.peft.restore_from",
    "model.peft.lora_tuning.alpha",
    "model.peft.lora_tuning.adapter_dropout",
    "model.peft.lora_tuning.column_init",
    "model.peft.lora_tuning.row_init",
    "run",
    "hydra",
    "defaults",
)
_NAMES: Final = {
    "trainer.num_nodes": "launch.num_nodes",
    "trainer.devices": "launch.nproc_per_node",
    "trainer.precision": "precision",
    "trainer.plugins.precision": "precision",
    "mixed_precision": "mixed_precision",
    "mixed_precision.name": "mixed_precision",
    "model.tokenizer.type": "tokenizer_name",
    "tokenizer.tokenizer_type": "tokenizer_type",
    "tokenizer.vocab_size": "vocab_size",
    "data.seq_length": DATA_SEQUENCE,
    "dataset.seq_length": DATA_SEQUENCE,
    "dataset.sequence_length": DATA_SEQUENCE,
    "model.data.seq_length": DATA_SEQUENCE,
    "model.optim.name": "optimizer_name",
    "model.optim.bucket_cap_mb": "bucket_cap_mb",
    **PEFT_NAMES,
}


def is_nemo(head: str) -> bool:
    """Return whether a text begins as a recipe of NeMo does."""
    return _has(head, "trainer") and _has(head, "model")


def is_bridge(head: str) -> bool:
    """Return whether a text begins as a written-out ConfigContainer does."""
    return _has(head, "model") and (_has(head, "train") or _has(head, "ddp"))


def parse_nemo(given: RecipeText) -> Recipe:
    """Return the job that a NeMo recipe describes (megatron_gpt_config.yaml, or NeMo 2 as YAML).

    Raises:
        SpecError: it is no YAML, or a value is wrong.
    """
    return megatron_recipe(_read(given), NEMO)


def parse_bridge(given: RecipeText) -> Recipe:
    """Return the job that a Megatron-Bridge ConfigContainer describes.

    Raises:
        SpecError: it is no YAML, or a value is wrong.
    """
    return megatron_recipe(_read(given), BRIDGE)


def _has(head: str, section: str) -> bool:
    return re.search(rf"^{section}\s*:", head, re.MULTILINE) is not None


def _read(given: RecipeText) -> Statements:
    document = flat_document(given)
    stated = [_named(one) for one in document.statements]
    stated.sort(key=lambda one: _rank(one.name))
    if not any(one.canonical == "seq_length" and one.value is not None for one in stated):
        stated = [_as_sequence(one) for one in stated]
    found = Statements(stated, file=given.name)
    for problem in document.problems:
        found.add_not_taken(problem)
    return found


def _rank(name: str) -> int:
    """Return the order in which sections are read: a later one has the last word."""
    section = name.rpartition(".")[0]
    return _SECTIONS.index(section) if section in _SECTIONS else -1


def _named(one: RecipeStatement) -> RecipeStatement:
    section, _, key = one.name.rpartition(".")
    if one.name in _NAMES:
        canonical = _NAMES[one.name]
    elif one.name.startswith(_QUIET) or key == "_target_":
        canonical = f"launch.{one.name}"  # with what launchers say that matters as little
    elif section in _SECTIONS:
        canonical = RENAMED.get(key, key)
    else:
        canonical = one.name
    return _in_megatrons_words(replace(one, canonical=canonical))


def _as_sequence(one: RecipeStatement) -> RecipeStatement:
    """Return the data's sequence length as the model's, which does not state one."""
    return replace(one, canonical="seq_length") if one.canonical == DATA_SEQUENCE else one


def _in_megatrons_words(one: RecipeStatement) -> RecipeStatement:
    if one.canonical == "optimizer_name":
        shares = "distributed" in str(one.value)
        canonical = "use_distributed_optimizer" if shares else "optimizer"
        return replace(one, canonical=canonical, value=True if shares else one.value)
    if one.canonical == "bucket_cap_mb" and isinstance(one.value, int):
        # Megatron counts a bucket in gradients, of four bytes.
        return replace(one, canonical="ddp_bucket_size", value=one.value * 2**20 // 4)
    if one.canonical == "tokenizer_name":
        known = one.value == "GPT2BPETokenizer"
        return replace(one, canonical="tokenizer_type" if known else one.name)
    return one
