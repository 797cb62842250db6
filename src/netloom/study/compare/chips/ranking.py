"""Which chip for this job: every architecture on the same cluster, ranked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import CatalogError, InfeasibleError, SpecError
from netloom.provenance import Why
from netloom.results.explained import ALL, unknown_field
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.compare.chips.design import base_design
from netloom.study.compare.chips.entry import CHIPS
from netloom.study.compare.chips.evaluate import BenchPlan, evaluate_chip, on_job
from netloom.study.compare.chips.message import job_message
from netloom.study.compare.chips.reference import REFERENCE
from netloom.study.compare.chips.runs import SEEDS
from netloom.study.inputs import catalog_of, model_of
from netloom.study.predict.engines import engine_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.engines.base import Engine
    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.compare.chips.entry import ChipArchitecture
    from netloom.study.compare.chips.ranked import RankedChip

__all__ = ["ALIKE", "BASELINE", "ChipComparison", "ChipRefusal", "chips_named", "compare_chips"]

BASELINE: Final = "roce-ecmp"
ALIKE: Final = 0.01  # steps nearer than that are alike: the tail then decides


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipRefusal:
    """A chip that cannot do the job, and why."""

    chip: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChipComparison(Tabular):
    """What ``compare --chips`` found.

    Attributes:
        ranked: The best first: by step, and by tail where steps are alike.
        catalogued: Architectures that no engine runs, for their figures.
        refused: Chips that cannot build this cluster.
        bench: What was run on the reference network.
    """

    scenario: Scenario
    ranked: tuple[RankedChip, ...]
    catalogued: tuple[ChipArchitecture, ...]
    refused: tuple[ChipRefusal, ...]
    bench: BenchPlan

    def __repr__(self) -> str:
        """Return one line."""
        return f"<ChipComparison {self.title}: {', '.join(one.name for one in self.ranked)}>"

    @property
    def title(self) -> str:
        """One line: the job and the machines."""
        design = self.ranked[0].candidate.network.design
        own = f"{self.scenario.job.model} on {design.num_gpus:,} GPUs"
        return f"Chips for {self.scenario.name or own}"

    @property
    def subtitle(self) -> str:
        """One line: what tails were run on."""
        return (
            f"Step: the whole cluster. Tail: packets on {REFERENCE.words}; p99 of a "
            f"{self.bench.message.words}; mean of {len(self.bench.seeds)} seeds."
        )

    @property
    def best(self) -> RankedChip:
        """The first."""
        return self.ranked[0]

    @property
    def baseline(self) -> RankedChip | None:
        """RoCEv2 as deployed, where it takes part."""
        return next((one for one in self.ranked if one.name == BASELINE), None)

    def chip(self, name: str) -> RankedChip:
        """Return the chip of that name.

        Raises:
            KeyError: it does not take part.
        """
        for one in self.ranked:
            if one.name == name:
                return one
        raise KeyError(name)

    def why(self, question: str) -> Why:
        """Return how a number came about.

        Args:
            question: ``FIELD`` or ``FIELD:CHIP``; the first chip when none is named.

        Raises:
            SpecError: there is no such field or chip.
        """
        field, _, name = question.partition(":")
        names = [one.name for one in self.ranked]
        if name and name not in names:
            raise SpecError(
                option="--why",
                what=f"{name!r} is not compared here",
                remedy=f"it is one of {', '.join(names)}",
            )
        chip = self.chip(name) if name else self.best
        known = chip.explanations()
        if field == ALL:
            return Why(name=chip.name, value=chip.name, parts=tuple(known.values()))
        if field not in known:
            raise unknown_field(field, known)
        return replace(known[field], name=f"{chip.name} {known[field].name}")

    def table(self) -> Table:
        """Return one row a chip."""
        return Table.from_rows([one.row() for one in self.ranked])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "scenario": self.scenario.model_dump(mode="json", by_alias=True),
            "baseline": BASELINE,
            "reference": {
                "hosts": REFERENCE.num_hosts,
                "words": REFERENCE.words,
                "message": self.bench.message.words,
                **asdict(self.bench.traffic),
                "seeds": list(self.bench.seeds),
            },
            "chips": [one.to_json() for one in self.ranked],
            "catalogued": [_catalogued(one) for one in self.catalogued],
            "refused": [{"chip": one.chip, "reason": one.reason} for one in self.refused],
        }


def _catalogued(one: ChipArchitecture) -> dict[str, Any]:
    return {
        "chip": one.name,
        "title": one.title,
        "changes": one.changes,
        "stated_limits": list(one.limits),
        "figures": [figure.to_json() for figure in one.figures],
        "sources": [{"citation": s.citation, "confidence": s.confidence} for s in one.sources],
    }


def chips_named(names: Sequence[str]) -> tuple[ChipArchitecture, ...]:
    """Return the architectures of these names, or all.

    Raises:
        SpecError: there is no such architecture.
    """
    for name in names:
        if name not in CHIPS:
            raise SpecError(
                key="architectures", what=f"{name!r} is not known", remedy=CHIPS.hint(name)
            )
    return tuple(CHIPS.get(name) for name in dict.fromkeys(names)) or CHIPS.entries()


def compare_chips(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    chips: Sequence[str] = (),
    engine: Engine | str = "analytic",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> ChipComparison:
    """Return every chip of *chips*, or all, on the scenario's cluster and job, ranked.

    Args:
        scenario: What was asked for.
        catalog: The parts; default: the shipped ones and the scenario's own.
        chips: Names of the register; default: all of them.
        engine: Asked for the steps' collectives: ``analytic`` or ``flow``, or an engine.
        seed: The first of the seeds of the packets' runs.
        on_progress: Told how many chips are done, and how many there are.

    Raises:
        SpecError: there is no such chip.
        InfeasibleError: none of them can do the job.
    """
    parts = catalog or catalog_of(scenario)
    asked = chips_named(chips)
    solver, seeds = engine_of(engine, seed=seed), tuple(seed + one for one in SEEDS)
    base = on_job(base_design("rocev2", scenario, parts), scenario, parts)
    message = job_message(scenario, base.network, model=model_of(scenario, parts))
    bench = BenchPlan(message=message, seeds=seeds)
    run = [one for one in asked if one.is_run]
    advance = counter(on_progress, len(run))
    found: list[RankedChip] = []
    refused: list[ChipRefusal] = []
    for one in run:
        try:
            found.append(evaluate_chip(one, scenario, parts, bench=bench, engine=solver))
        except (InfeasibleError, CatalogError) as error:
            refused.append(ChipRefusal(chip=one.name, reason=str(error)))
        advance()
    if not found:
        reasons = "; ".join(f"{one.chip}: {one.reason}" for one in refused)
        raise InfeasibleError(what=f"no chip can do this ({reasons or 'none was asked for'})")
    return ChipComparison(
        scenario=scenario,
        ranked=_ranked(found),
        catalogued=tuple(one for one in asked if not one.is_run),
        refused=tuple(refused),
        bench=bench,
    )


def _ranked(found: Sequence[RankedChip]) -> tuple[RankedChip, ...]:
    """Return *found* by step in classes of one per cent, then by tail."""
    least_s = min(one.step_s for one in found)

    def key(one: RankedChip) -> tuple[int, float, str]:
        grade = math.floor(math.log(one.step_s / least_s) / math.log1p(ALIKE) + 1e-9)
        return grade, one.tail_s, one.name

    return tuple(sorted(found, key=key))
