"""Read the catalogue: the shipped TOML files, then the user's own over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.catalog.parts import (
        Cable,
        Gpu,
        Model,
        Nic,
        Node,
        ScaleUp,
        Switch,
        Technology,
        Transceiver,
    )

__all__ = ["Catalog", "load_catalog"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Every known part, by kind and name."""

    gpus: Mapping[str, Gpu]
    scale_ups: Mapping[str, ScaleUp]
    nodes: Mapping[str, Node]
    nics: Mapping[str, Nic]
    switches: Mapping[str, Switch]
    transceivers: Mapping[str, Transceiver]
    cables: Mapping[str, Cable]
    models: Mapping[str, Model]
    technologies: Mapping[str, Technology]


def load_catalog(own: Path | None = None) -> Catalog:
    """Return the shipped catalogue with the parts of *own* added or laid over it.

    Raises:
        CatalogError: a file is not TOML, a key is unknown, a number has no unit or no source.
    """
    raise NotImplementedError
