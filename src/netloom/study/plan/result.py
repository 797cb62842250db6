"""What a search found: configurations predicted in full, and the machines they run on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from netloom.results.table import Table
from netloom.results.tabular import Tabular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.provenance import Validity
    from netloom.spec.scenario import Scenario
    from netloom.step.model import Step
    from netloom.study.plan.machines import CandidateCluster
    from netloom.study.plan.space import Configuration, Standing

__all__ = ["Objective", "Plan", "PlannedConfiguration", "front"]

Objective: TypeAlias = Literal["time", "cost", "energy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedConfiguration:
    """One configuration, predicted in full.

    Attributes:
        standing: Where it lies to the range that steps were checked in.
        validity: Of the step, of the machine, and of how near to its peak it comes.
    """

    configuration: Configuration
    machine: CandidateCluster
    step: Step
    standing: Standing
    validity: Validity

    @property
    def usd_per_trillion_tokens(self) -> float | None:
        """Money for a trillion tokens; None where the node has no price."""
        return self.machine.usd_per_trillion_tokens(self.step.tokens_per_s)

    @property
    def kwh_per_trillion_tokens(self) -> float:
        """Energy of a trillion tokens."""
        return self.machine.kwh_per_trillion_tokens(self.step.tokens_per_s)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        design, own = self.machine.network.design, asdict(self.configuration)
        own.pop("machine")
        return {
            "gpus": design.num_gpus,
            "technology": self.machine.network.technology.name,
            "topology": design.topology.kind,
            "oversubscription": getattr(design.topology, "oversubscription", None),
            **own,
            "software": self.step.practice.name,
            "step_time_s": self.step.duration_s,
            "mfu": self.step.mfu,
            "tokens_per_s": self.step.tokens_per_s,
            "memory_bytes": self.step.memory.total_bytes,
            "usd_per_trillion_tokens": self.usd_per_trillion_tokens,
            "kwh_per_trillion_tokens": self.kwh_per_trillion_tokens,
            "capex_usd": self.machine.capex_usd,
            "power_w": self.machine.power_w,
            "breakdown_s": self.step.breakdown_s(),
            "standing": self.standing,
            "validity": self.validity.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Tabular):
    """What a search found.

    Attributes:
        configurations: Looked at.
        feasible: Of these, fit in memory.
        complete: Whether all were looked at; the search may have been interrupted.
        best: The ten best inside the range that steps were checked in, but that their MFU may be
            above what was measured; where there is none, the ten best of all.
        within: The best on the same machine that is inside in that as well, where the first of
            *best* is not.
        outside: The best outside that range, where it would beat the first of *best*.
        pareto: Machines at their best, no other being both faster and cheaper; fastest first.
        machines: Every machine at its best, in the order they were asked for.
        left_out: Machines that cannot be built or exceed a limit, and why.
        resumed: Configurations that an earlier search had looked at.
    """

    scenario: Scenario
    objective: Objective
    configurations: int
    feasible: int
    complete: bool
    best: tuple[PlannedConfiguration, ...]
    within: PlannedConfiguration | None
    outside: PlannedConfiguration | None
    pareto: tuple[PlannedConfiguration, ...]
    machines: tuple[PlannedConfiguration, ...]
    left_out: dict[str, str]
    resumed: int = 0

    def table(self) -> Table:
        """Return the best configurations, a row each."""
        nested = ("breakdown_s", "validity")
        rows = [one.to_json() for one in self.best]
        return Table.from_rows([{k: v for k, v in row.items() if k not in nested} for row in rows])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "objective": self.objective,
            "configurations": self.configurations,
            "feasible": self.feasible,
            "complete": self.complete,
            "best": [choice.to_json() for choice in self.best],
            "within": None if self.within is None else self.within.to_json(),
            "outside": None if self.outside is None else self.outside.to_json(),
            "pareto": [choice.to_json() for choice in self.pareto],
            "machines": [choice.to_json() for choice in self.machines],
            "left_out": self.left_out,
        }


def front(choices: Sequence[PlannedConfiguration]) -> tuple[PlannedConfiguration, ...]:
    """Return those that no other beats in both time and cost, fastest first."""
    found: list[PlannedConfiguration] = []
    cheapest = float("inf")
    for one in sorted(choices, key=lambda c: (c.step.duration_s, c.usd_per_trillion_tokens or 0)):
        usd = one.usd_per_trillion_tokens
        if usd is not None and usd < cheapest:
            found.append(one)
            cheapest = usd
    return tuple(found)
