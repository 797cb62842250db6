"""What a scenario sends: its traffic, or the collectives of its job's step, by seed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from netloom.spec.traffic import CollectiveTraffic
from netloom.study.inputs import model_of
from netloom.study.simulate.case import DrawnTraffic
from netloom.study.simulate.traffic import place_of, transfers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.spec.traffic import Traffic
    from netloom.workload.transfers import Transfers

__all__ = ["drawn_traffic"]


def drawn_traffic(scenario: Scenario, catalog: Catalog, network: Network) -> DrawnTraffic:
    """Return the traffic, or what a job's step sends."""
    if scenario.traffic is None:
        from netloom.study.simulate.step_traffic import step_traffic  # noqa: PLC0415  (all of a job)

        step = step_traffic(scenario.job, model=model_of(scenario, catalog), network=network)
        note = (
            "each distinct collective of a step once, one after another, without computation; "
            "names say how often a step runs it, and --step runs all of it"
        )

        @lru_cache(maxsize=1)
        def of_step(seed: int) -> Transfers:
            return step.transfers(np.random.default_rng(seed))

        return DrawnTraffic(transfers=of_step, jobs=step.jobs, notes=(note,))
    traffic, place = scenario.traffic, place_of(network)

    @lru_cache(maxsize=1)  # asked for before the run and for it
    def drawn(seed: int) -> Transfers:
        return transfers_of(traffic, place, rng=np.random.default_rng(seed))

    names = tuple(piece.name or f"{n + 1} {piece.kind}" for n, piece in enumerate(traffic))
    notes = _sampled(traffic, names, place.num_endpoints)
    return DrawnTraffic(transfers=drawn, jobs=names, notes=notes)


def _sampled(traffic: Sequence[Traffic], names: Sequence[str], most: int) -> tuple[str, ...]:
    """Return in words which pieces stand for more flows than are run."""
    return tuple(
        f"{name}: {piece.distances:,} of its distances are sent, with the bytes of all; when the "
        "last ends is what it tells, single flows are not as they would be"
        for piece, name in zip(traffic, names, strict=True)
        if isinstance(piece, CollectiveTraffic) and 0 < (piece.distances or 0) < most - 1
    )
