"""The model of a recipe: of the catalogue where the shape is one of its shapes, else a file."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netloom.app.convert.supplied import unsaid
from netloom.errors import Problem, SpecError, at
from netloom.formats.training.recipe import Unstated
from netloom.workload.huggingface import parse_config, read_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.app.convert.supplied import Supplied
    from netloom.formats.training.recipe import Recipe
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model

__all__ = ["ModelChoice", "model_choice"]

ROUTER: Final = "grouped_router"
_ABOUT: Final = frozenset({"name", "title", "parameters", "sources", "notes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """How a scenario names the model.

    Attributes:
        name: The value of ``job.model``; relative to the scenario where it is a path.
        shape: What the file holds that must be written beside the scenario; None when none must.
        assumed: What the file does not state.
    """

    name: str
    shape: Mapping[str, Any] | None = None
    assumed: tuple[Unstated, ...] = ()


def model_choice(
    recipe: Recipe, supplied: Supplied, catalog: Catalog, *, file: Path
) -> ModelChoice | Problem:
    """Return how the scenario names the model, or what is missing.

    Raises:
        SpecError: the shape is no transformer's that netloom can count.
        CatalogError: ``--model`` names none.
    """
    if supplied.model is not None:
        return _supplied(supplied.model, supplied, catalog)
    if recipe.model:
        return ModelChoice(name=catalog.model(recipe.model).name)
    if recipe.model_is_file:
        return _of_file(file, supplied, catalog)
    if not recipe.shape:
        return unsaid("--model", "the model", "name it, or the path of its config.json")
    return _of_shape(recipe, supplied, catalog, file=file)


def _supplied(name: str, supplied: Supplied, catalog: Catalog) -> ModelChoice:
    with at("--model"):
        if name.endswith(".json"):
            return _of_file(Path(name), supplied, catalog)
        return ModelChoice(name=catalog.model(name).name)


def _of_file(path: Path, supplied: Supplied, catalog: Catalog) -> ModelChoice:
    alike = _alike(read_config(path), catalog)
    if alike:
        return ModelChoice(name=alike[0], assumed=_others(alike))
    folder = supplied.out.parent if supplied.out else Path()
    relative = os.path.relpath(path.absolute(), folder.absolute())
    if relative.endswith(".json"):
        return ModelChoice(name=relative)
    raise SpecError(
        file=str(path), what="its name does not end in .json", remedy="name it config.json"
    )


def _of_shape(
    recipe: Recipe, supplied: Supplied, catalog: Catalog, *, file: Path
) -> ModelChoice | Problem:
    stated = supplied.vocabulary or recipe.shape.get("vocab_size")
    if not isinstance(stated, int):
        return _without_vocabulary(recipe, catalog, file=file)
    padded = math.ceil(stated / recipe.vocabulary_padding) * recipe.vocabulary_padding
    for vocabulary, router in ((padded, ""), (stated, ""), (padded, ROUTER), (stated, ROUTER)):
        model = _parsed(recipe, vocabulary, file)
        alike = _alike(model, catalog, but=router)
        if alike and not (router and model.grouped_router):
            assumed = (*_unpadded(vocabulary, padded), *_grouped(router), *_others(alike))
            return ModelChoice(name=alike[0], assumed=assumed)
    _parsed(recipe, padded, file)
    return ModelChoice(name="", shape=_written(recipe, padded))


def _without_vocabulary(recipe: Recipe, catalog: Catalog, *, file: Path) -> ModelChoice | Problem:
    """Return the model of the catalogue that is alike in all else, if all such agree."""
    sizes = {model.vocabulary for model in catalog.models.values()}
    fitting = {size: _alike(_parsed(recipe, size, file), catalog) for size in sizes}
    found = {size: names for size, names in fitting.items() if names}
    if len(found) != 1:
        what = "the size of the vocabulary, which the tokenizer decides"
        return unsaid("--vocabulary", what, "give the tokens before padding, such as 128256")
    ((size, names),) = found.items()
    reason = f"the tokenizer decides; {names[0]} has this shape; --vocabulary changes it"
    return ModelChoice(
        name=names[0],
        assumed=(Unstated(key="job.model vocabulary", value=size, reason=reason), *_others(names)),
    )


def _parsed(recipe: Recipe, vocabulary: int, file: Path) -> Model:
    return parse_config(_written(recipe, vocabulary), where=str(file))


def _written(recipe: Recipe, vocabulary: int) -> dict[str, Any]:
    return {**recipe.shape, "vocab_size": vocabulary}


def _alike(model: Model, catalog: Catalog, *, but: str = "") -> list[str]:
    """Return the models of the catalogue with the same shape, *but* one field, in its order."""
    left_out = {*_ABOUT, but}
    wanted = model.model_dump(exclude=left_out)
    return [
        name for name, one in catalog.models.items() if one.model_dump(exclude=left_out) == wanted
    ]


def _grouped(router: str) -> tuple[Unstated, ...]:
    if not router:
        return ()
    reason = "as the catalogue has it; the file does not say (--moe-router-num-groups)"
    return (Unstated(key="job.model router", value="groups of experts", reason=reason),)


def _unpadded(vocabulary: int, padded: int) -> tuple[Unstated, ...]:
    if vocabulary == padded:
        return ()
    reason = f"as the catalogue has it; the job pads it to {padded}"
    return (Unstated(key="job.model vocabulary", value=vocabulary, reason=reason),)


def _others(alike: list[str]) -> tuple[Unstated, ...]:
    if len(alike) == 1:
        return ()
    reason = f"{', '.join(alike)} have this one shape"
    return (Unstated(key="job.model", value=alike[0], reason=reason),)
