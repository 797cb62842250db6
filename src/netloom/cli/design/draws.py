"""Draws of the hash, for the commands that tell a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.predict.hash_variance import HashVariance

__all__ = ["draws"]


def draws(
    scenario: Scenario,
    catalog: Catalog,
    seeds: Sequence[int],
    technologies: Sequence[str] | None = None,
) -> tuple[HashVariance, ...]:
    """Return the distribution over *seeds*, of the scenario's own technology or of each."""
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.study.predict.hash_variance import luck  # noqa: PLC0415

    names = [""] if technologies is None else list(technologies)
    with progress("drawing hashes", len(names) * len(seeds)) as advance:
        return tuple(
            luck(scenario, catalog, seeds=seeds, technology=name, advance=advance) for name in names
        )
