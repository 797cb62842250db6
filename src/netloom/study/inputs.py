"""What a scenario names, looked up: its catalogue and its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netloom.errors import SpecError, at
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Scenario

__all__ = ["catalog_of", "model_of"]


def catalog_of(scenario: Scenario, own: Path | None = None) -> Catalog:
    """Return the shipped parts, with those of the scenario's own file or of *own* over them.

    Raises:
        SpecError: both are given; which should win would be a guess.
    """
    if scenario.catalog is None:
        return load_catalog(own)
    if own is not None:
        raise SpecError(
            key="catalog",
            what=f"the scenario names {scenario.catalog}",
            remedy=f"drop that or --catalog {own}",
        )
    with at("catalog"):
        return load_catalog(Path(scenario.catalog))


def model_of(scenario: Scenario, catalog: Catalog) -> Model:
    """Return the scenario's model: of the catalogue, or of a Hugging Face config.json."""
    name = scenario.job.model
    with at("job.model"):
        if not name.endswith(".json"):
            return catalog.model(name)
        from netloom.workload.huggingface import read_config  # noqa: PLC0415  (few files name one)

        return read_config(Path(name))
