"""Measured steps that their own source contradicts: they are predicted, and vouch for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.validation.steps.recipes import recipe_of, released_with

if TYPE_CHECKING:
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["contradicted"]

# Single rows of Megatron-Bridge's performance tables, and what is beside them there.
_ROWS: Final = {
    "megatron_bridge-0036": "the releases before and after run this with 5 virtual stages and "
    "micro-batches of 1; as printed its activations do not fit, and 3 of 11 passes are a bubble",
    "megatron_bridge-0239": "the releases before and after took 2.47 and 2.48 s for the same",
}


def contradicted(row: MeasuredStep) -> tuple[str, ...]:
    """Return how the source of *row* contradicts it; empty when it does not."""
    single = _ROWS.get(row.row_id)
    return (*([single] if single else []), *_by_neighbours(row), *_by_recipe(row))


def _by_neighbours(row: MeasuredStep) -> tuple[str, ...]:
    found = (
        "vtrain" in row.source.lower()
        and row.shape.get("hidden") == 8192
        and row.num_gpus == 512
        and row.degrees.get("tp") == 2
    )
    if not found:
        return ()
    doubt = (
        "vTrain's 39B runs on 512 GPUs with tensor 2 are 17 to 36 % slower than its own with "
        "tensor 1, 4 and 8; interference is suspected"
    )
    return (doubt,)


def _by_recipe(row: MeasuredStep) -> tuple[str, ...]:
    """Return that the recipe of the row's release, plan and batch has other micro-batches."""
    recipe = recipe_of(row)
    if recipe is None or not released_with(recipe, row) or recipe.global_batch != row.global_batch:
        return ()
    stated, size = row.degrees.get("micro_batch", 1), recipe.degrees["micro_batch"]
    if stated == size:
        return ()
    return (f"the recipe of its release has micro-batches of {size}, the table {stated}",)
