"""What the published recipe of a measured step sets, where the table of steps does not say.

Megatron-Bridge publishes its recipes with its releases: one for each model, GPU, precision and
plan. A row of its performance tables states the plan; dispatcher, overlap, graphs and recomputed
modules are in the recipe.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["PublishedRecipe", "recipe_of", "released_with", "with_recipe"]

_TABLE: Final = "moe_recipes.csv"
_NAME: Final = re.compile(
    r"(?P<model>.+?)(_PRETRAIN_CONFIG)?_(?P<gpu>[GV]?[BHR]\d00)(_(?P<precision>BF16|FP8_\w\w|NVFP4))?"
    r"(_V\d|_BASE_CONFIG|_LARGE_SCALE|_GBS\d+)?"
)
_RELEASE: Final = re.compile(r"bridge\D*(\d\d\.\d\d(?:\.\d\d)?)")
# Columns of degrees here and there.
_DEGREES: Final = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "ep": "expert_model_parallel_size",
    "micro_batch": "micro_batch_size",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRecipe:
    """One published recipe.

    Attributes:
        release: The container that it came with, such as ``26.04.01``.
        degrees: Its plan, by the columns of measured steps.
        texts: What it sets, by the columns of measured steps.
    """

    name: str
    release: str
    degrees: Mapping[str, int]
    global_batch: int
    texts: Mapping[str, str]


def with_recipe(row: MeasuredStep) -> tuple[MeasuredStep, tuple[str, ...]]:
    """Return *row* with what its recipe sets where it is silent, and which recipe that was."""
    found = recipe_of(row) or _automodel(row)
    if found is None:
        return row, ()
    new = {name: text for name, text in found.texts.items() if not row.text(name)}
    about = (
        f"What it leaves out of {', '.join(found.texts)} is as in {found.name}, {found.release}."
    )
    return replace(row, texts={**row.texts, **new}), (about,)


# NVIDIA-NeMo/Automodel, examples/benchmark/configs, *_te_deepep.yaml: activation_checkpointing and
# reshard_after_forward; attn, of gpt-oss flex, of the others Transformer Engine's.
_AUTOMODEL: Final = {
    "deepseek": {"recompute": "full", "reshard": "no"},
    "qwen330b": {"recompute": "full", "reshard": "no"},
    "kimik2": {"recompute": "full", "reshard": "no"},
    "gptoss20b": {"recompute": "none", "reshard": "no", "attention": "flash-2"},
    "gptoss120b": {"recompute": "none", "reshard": "yes", "attention": "flash-2"},
}


def _automodel(row: MeasuredStep) -> PublishedRecipe | None:
    """Return what AutoModel's benchmark of the row's model sets."""
    if "automodel" not in row.text("framework"):
        return None
    name = next((name for name in _AUTOMODEL if _letters(row.model).startswith(name)), None)
    if name is None:
        return None
    return PublishedRecipe(
        name=f"examples/benchmark/configs of {row.model}",
        release="AutoModel",
        degrees={},
        global_batch=row.global_batch,
        texts=_AUTOMODEL[name],
    )


def recipe_of(row: MeasuredStep) -> PublishedRecipe | None:
    """Return the recipe of the row's model, GPU, precision and plan, of its release or before.

    None where the row is not Megatron-Bridge's, or no recipe until then has its tensor, pipeline
    and expert degrees.
    """
    release = _RELEASE.search(row.text("framework"))
    if release is None:
        return None
    key = (_letters(row.model), row.gpu.lower().partition("-")[0], _precision(row))
    near = [
        one
        for one in _recipes().get(key, ())
        if _month(one.release) <= _month(release[1]) and _others(one, row) <= {"micro_batch"}
    ]
    return min(near, key=lambda one: _preference(one, row), default=None)


def released_with(recipe: PublishedRecipe, row: MeasuredStep) -> bool:
    """Return whether *recipe* is of the very release that *row* ran."""
    release = _RELEASE.search(row.text("framework"))
    return release is not None and release[1] == recipe.release


def _preference(recipe: PublishedRecipe, row: MeasuredStep) -> tuple[object, ...]:
    """Return what orders recipes: the plan, the newest, the batch."""
    batch = recipe.global_batch != row.global_batch
    large = "LARGE_SCALE" in recipe.name
    return len(_others(recipe, row)), -_month(recipe.release), batch, large, recipe.name


def _others(recipe: PublishedRecipe, row: MeasuredStep) -> set[str]:
    """Return which degrees differ."""
    return {name for name, size in recipe.degrees.items() if row.degrees.get(name, 1) != size}


def _month(release: str) -> float:
    """Return a number that grows with releases such as 26.04 and 26.04.01."""
    year, month, patch = [*map(int, release.split(".")), 0][:3]
    return 12 * year + month + patch / 10


@cache
def _recipes() -> Mapping[tuple[str, str, str], tuple[PublishedRecipe, ...]]:
    folder = resources.files("netloom.validation.steps").joinpath("data")
    text = folder.joinpath(_TABLE).read_text("utf-8")
    found: dict[tuple[str, str, str], list[PublishedRecipe]] = defaultdict(list)
    for line in csv.DictReader(text.splitlines()):
        named = _NAME.fullmatch(line["recipe"])
        if named is not None:
            precision = (named["precision"] or "").replace("_", "").lower()
            key = (_letters(named["model"]), named["gpu"].lower(), precision)
            found[key].append(_recipe(line))
    return {key: tuple(some) for key, some in found.items()}


def _recipe(line: Mapping[str, str]) -> PublishedRecipe:
    # An empty dispatcher is Megatron-Core's all-to-all; empty modules are none.
    modules = " ".join(re.findall(r"\w+", line["recompute_modules"]))
    return PublishedRecipe(
        name=line["recipe"],
        release=line["container_assumed"],
        degrees={ours: int(line[theirs] or 1) for ours, theirs in _DEGREES.items()},
        global_batch=int(line["global_batch_size"] or 0),
        texts={
            "dispatcher": line["moe_flex_dispatcher_backend"] or "alltoall",
            "ep_overlap": "yes" if line["moe_a2a_overlap"] == "True" else "no",
            "cuda_graphs": _graphs(line),
            "recompute_modules": modules or "none",
        },
    )


def _graphs(line: Mapping[str, str]) -> str:
    scope = " ".join(re.findall(r"\w+", line["cuda_graph_scope"]))
    return (scope or line["cuda_graph_impl"]) if line["cuda_graph_impl"] else "no"


def _precision(row: MeasuredStep) -> str:
    text = "".join(re.findall(r"\w", row.text("precision")))
    for name, words in (("fp8mx", ("mxfp8", "fp8mx")), ("nvfp4", ("nvfp4",)), ("fp8cs", ("fp8",))):
        if any(word in text for word in words):
            return name
    return "bf16"


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
