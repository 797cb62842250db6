"""Whether the recommendation survives what is not known yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.spec.scenario import Placement
from netloom.study.compare.recommend import cheapest_to_buy
from netloom.study.inputs import model_of
from netloom.study.predict.prediction import step_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.engines.base import Engine
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.compare.candidate import Candidate

__all__ = ["placement_doubt"]

PLACEMENTS: Final = {
    "packed with no spare in use": Placement.model_construct(kind="packed", displaced=0.0),
    "scattered over the cluster": Placement.model_construct(kind="scattered", displaced=0.0),
}


def placement_doubt(
    scenario: Scenario, catalog: Catalog, contenders: Sequence[Candidate], *, engine: Engine
) -> str:
    """Return what other placements of the job's nodes would do to the choice."""
    chosen = cheapest_to_buy(contenders)
    others = []
    for words, placement in PLACEMENTS.items():
        job = scenario.job.model_copy(update={"placement": placement})
        moved = scenario.model_copy(update={"job": job})
        best = cheapest_to_buy(_placed(moved, catalog, contenders, engine=engine))
        if best.name != chosen.name:
            others.append(f"{best.name} if nodes were {words}")
    if others:
        return f"The cheapest a token would be {', and '.join(others)}."
    return "The choice is the same whether the job's nodes are packed or scattered."


def _placed(
    moved: Scenario, catalog: Catalog, contenders: Sequence[Candidate], *, engine: Engine
) -> list[Candidate]:
    model = model_of(moved, catalog)
    return [
        replace(c, step=step_on(c.network, moved, model=model, engine=engine)) for c in contenders
    ]
