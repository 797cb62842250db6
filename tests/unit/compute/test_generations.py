"""Everything said of a GPU generation stands in one entry."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from netloom.compute.generation import GENERATIONS, GpuGeneration
from netloom.engines.analytic.profile import is_measured, profile_of
from netloom.parts.load import load_catalog
from netloom.step.efficiency import highest_of
from netloom.step.residual import residual_of

CATALOG = load_catalog()
TRAITS: dict[str, Any] = {
    "name": "new",
    "product": None,
    "num_multiprocessors": None,
    "has_measured_operators": False,
    "collectives": None,
    "nearest": "",
    "nccl": None,
    "residual": None,
    "superchips": {},
}


@pytest.mark.parametrize("trait", [field.name for field in fields(GpuGeneration)])
def test_a_generation_that_lacks_a_trait_fails_where_it_is_defined(trait: str) -> None:
    given = {name: value for name, value in TRAITS.items() if name != trait}
    with pytest.raises(TypeError, match=trait):
        GpuGeneration(**given)


def test_every_gpu_of_the_catalogue_is_of_a_registered_generation() -> None:
    for gpu in CATALOG.gpus.values():
        name = gpu.architecture.lower()
        assert any(known in name for known in GENERATIONS.names()), gpu.architecture


def test_who_stands_in_was_measured_itself() -> None:
    for one in GENERATIONS.entries():
        assert (one.collectives is None) or not one.nearest
        if one.nearest:
            assert GENERATIONS.get(one.nearest).collectives is not None


def test_a_profile_names_a_row_that_nccl_has() -> None:
    for one in GENERATIONS.entries():
        if one.collectives is not None:
            assert GENERATIONS.get(one.collectives.generation).nccl is not None


def test_a_superchip_has_its_own_steps_and_its_architectures_collectives() -> None:
    # GB200: a Blackwell with Grace beside it. Operators in a step take 0.797 of the time alone
    # there, and 11.8 % more on a B200: its best product is nearer its peak, with 5 % less power.
    grace, lone = CATALOG.gpus["GB200"], CATALOG.gpus["B200-SXM"]
    assert residual_of(grace).compute == 0.797
    assert residual_of(lone).compute == pytest.approx(0.797 * 0.776 / 0.729 * 1.05)
    assert profile_of(grace.architecture) is profile_of(lone.architecture)
    highest = highest_of(grace, "fp8")
    assert highest is not None
    assert highest.mfu == 0.4361
    assert highest_of(lone, "fp8") is None


def test_an_unmeasured_generation_borrows_with_a_doubt() -> None:
    assert profile_of("Rubin") is profile_of("Blackwell")
    assert not is_measured("Rubin")
    assert is_measured("CDNA 3")
    assert profile_of("nothing known") is profile_of("Ampere")


@pytest.mark.parametrize(
    ("gpu", "doubted"), [("H100-SXM-80GB", False), ("H800-SXM", False), ("H20-SXM", True)]
)
def test_a_gpu_that_is_far_slower_than_the_measured_ones_is_doubted(
    gpu: str, *, doubted: bool
) -> None:
    found = residual_of(load_catalog().gpu(gpu)).validity
    assert found.inside is not doubted
    assert ("peak of 989 TFLOP/s; H20-SXM has 148" in " ".join(found.doubts)) == doubted
