"""Which network for this job: every technology on the same cluster, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError, SpecError
from netloom.results.explained import ALL
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.compare.evaluate import evaluate
from netloom.study.compare.explain import explain
from netloom.study.compare.recommend import Recommendation, recommend
from netloom.study.compare.sensitivity import placement_doubt
from netloom.study.inputs import catalog_of
from netloom.study.predict.engines import engine_of
from netloom.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.engines.base import Engine
    from netloom.parts.load import Catalog
    from netloom.provenance import Why
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.compare.candidate import Candidate
    from netloom.study.compare.chips.ranking import ChipComparison

__all__ = ["Comparison", "Refusal", "compare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A technology that cannot do the job, and why."""

    technology: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Tabular):
    """What ``compare`` found.

    Attributes:
        contenders: In the order asked for.
        refused: Technologies that cannot build this cluster.
        notes: What a reader should know: parts of the scenario that some rows could not use.
    """

    scenario: Scenario
    contenders: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    recommendation: Recommendation
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line; the whole comparison is what printing its table shows."""
        names = ", ".join(contender.name for contender in self.contenders)
        return f"<Comparison {self.title}: {names}; {self.recommendation.technology} recommended>"

    @property
    def title(self) -> str:
        """One line: the job and the machines."""
        design = self.contenders[0].network.design
        return self.scenario.name or (
            f"{self.scenario.job.model} on {format_count(design.num_gpus, 'GPU')}"
        )

    @property
    def subtitle(self) -> str:
        """One line: on how many machines, and how the job is divided and wired."""
        design = self.contenders[0].network.design
        training, parallel = self.scenario.job.trained, self.scenario.job.parallel
        return (
            f"{format_count(design.num_gpus, 'GPU')} in {design.num_nodes:,} x "
            f"{self.scenario.cluster.node}, {self.scenario.cluster.fabric.topology.kind}; "
            f"sequence {training.sequence:,}, global batch {training.global_batch:,}, "
            f"{training.precision}; tensor {parallel.tensor}, pipeline {parallel.pipeline}, "
            f"context {parallel.context}, expert {parallel.expert}, ZeRO {parallel.zero}"
        )

    def contender(self, technology: str) -> Candidate:
        """Return the contender of that name.

        Raises:
            KeyError: it does not take part.
        """
        for contender in self.contenders:
            if contender.name == technology:
                return contender
        raise KeyError(technology)

    def why(self, question: str) -> Why:
        """Return how a number came about.

        Args:
            question: ``FIELD`` or ``FIELD:TECHNOLOGY``, FIELD a key of :meth:`to_json` or ``all``;
                the recommended technology when none is named.

        Raises:
            SpecError: there is no such field, or the technology does not take part.
        """
        field, _, technology = question.partition(":")
        name = technology.casefold() or self.recommendation.technology
        names = [contender.name for contender in self.contenders]
        if name not in names:
            raise SpecError(
                option="--why",
                what=f"{name!r} is not compared here",
                remedy=f"it is one of {', '.join(names)}",
            )
        found = explain(self.contender(name), field)
        return found if field == ALL else replace(found, name=f"{name} {found.name}")

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "scenario": self.scenario.model_dump(mode="json", by_alias=True),
            "technologies": [contender.to_json() for contender in self.contenders],
            "notes": list(self.notes),
            "refused": [
                {"technology": refusal.technology, "reason": refusal.reason}
                for refusal in self.refused
            ],
            "recommendation": {
                "technology": self.recommendation.technology,
                "reasons": list(self.recommendation.reasons),
                "doubts": list(self.recommendation.doubts),
                "alike": list(self.recommendation.alike),
            },
        }

    def table(self) -> Table:
        """Return one row a technology, as an Arrow-exporting table."""
        return Table.from_rows([contender.row() for contender in self.contenders])


@overload
def compare(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    chips: None = None,
    engine: Engine | str = "analytic",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Comparison: ...


@overload
def compare(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    chips: Sequence[str],
    engine: Engine | str = "analytic",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> ChipComparison: ...


def compare(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    chips: Sequence[str] | None = None,
    engine: Engine | str = "analytic",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Comparison | ChipComparison:
    """Return every technology of ``scenario.compare`` on the scenario's cluster and job.

    >>> import netloom as nl
    >>> nl.compare(nl.example()).recommendation.technology  # doctest: +SKIP
    >>> nl.compare(nl.example(), chips=()).best.name  # doctest: +SKIP

    Args:
        scenario: What was asked for.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        chips: Compare chip architectures of these names in place of technologies; empty for all.
        engine: Asked for the steps' collectives: ``analytic``, ``flow``, ``packet``, or an engine.
        seed: Which draw of the hash, for an engine named here that draws.
        on_progress: Told how many technologies are done, and how many there are.

    Raises:
        InfeasibleError: none of the technologies can build the cluster.
    """
    if chips is not None:
        from netloom.study.compare.chips.ranking import compare_chips  # noqa: PLC0415  (native)

        return compare_chips(
            scenario, catalog, chips=chips, engine=engine, seed=seed, on_progress=on_progress
        )
    parts = catalog or catalog_of(scenario)
    asked = engine_of(engine, seed=seed, fabric=scenario.cluster.fabric)
    contenders: list[Candidate] = []
    refused: dict[str, InfeasibleError] = {}
    names = {name.casefold(): name for name in scenario.compare}.values()
    advance = counter(on_progress, len(names))
    for name in names:
        try:
            contenders.append(evaluate(scenario, parts, technology=name, engine=asked))
        except InfeasibleError as error:
            refused[parts.technology(name).name] = error
        advance()
    if not contenders:
        raise _nothing_will_do(refused)
    return Comparison(
        scenario=scenario,
        contenders=tuple(contenders),
        refused=tuple(Refusal(technology=name, reason=str(e)) for name, e in refused.items()),
        recommendation=recommend(
            contenders,
            further_doubts=[
                *_draw_doubt(contenders, asked),
                placement_doubt(scenario, parts, contenders, engine=asked),
            ],
        ),
        notes=tuple(_switch_notes(scenario, contenders)),
    )


def _draw_doubt(contenders: Sequence[Candidate], engine: Engine) -> Iterator[str]:
    """Say whose step is one draw of the hash: another seed may turn the choice."""
    hashed = [c.name for c in contenders if c.technology.load_balancing == "ecmp"]
    if hashed and not isinstance(engine, AnalyticEngine):
        yield (
            f"One draw of the hash decides the step of {', '.join(hashed)}; draws differ, and "
            "--engine flow --seeds 20 tells by how much."
        )


def _nothing_will_do(refused: Mapping[str, InfeasibleError]) -> InfeasibleError:
    reasons = {error.problems for error in refused.values()}
    if len(reasons) == 1:
        return InfeasibleError.of(*reasons.pop())
    each = "\n".join(f"  {technology}: {error}" for technology, error in refused.items())
    return InfeasibleError(what=f"none of the technologies can do this:\n{each}")


def _switch_notes(scenario: Scenario, contenders: Sequence[Candidate]) -> Iterator[str]:
    """Say which rows are built of another switch than the one the scenario names."""
    asked = scenario.cluster.fabric.switch
    for contender in contenders:
        used = contender.network.design.switch.name
        if asked is not None and used.casefold() != asked.casefold():
            yield f"{contender.name} is built of its own {used}: {asked} speaks another protocol."
