"""Which topology for a job under a budget, and what a fat tree of equal cost would do."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import InfeasibleError
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.economics import TokenCost
from netloom.study.inputs import catalog_of
from netloom.study.plan.machines import PlanLimits, machine_within
from netloom.study.plan.topologies.failures import losses_of
from netloom.study.plan.topologies.proposals import FAT_TREE_TAPERS, fat_tree, proposals
from netloom.study.whatif.failure import UNMEASURED, bench_of
from netloom.units import MONEY, format_quantity

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.provenance import Validity
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.plan.machines import CandidateCluster
    from netloom.study.plan.topologies.failures import PartLoss
    from netloom.study.plan.topologies.proposals import ProposedTopology

__all__ = ["TopologyDesign", "TopologySearch", "search_topologies"]

_DAY_S: Final = 86_400.0
SEEDS: Final = (0, 1)  # of the hash, where paths are hashed
SAME_COST: Final = 1.005  # a fat tree that costs no more than this times as much is of equal cost


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopologyDesign:
    """A topology, built, costed and simulated.

    Attributes:
        machine: The cluster.
        network_usd: Switches, transceivers and cables.
        step_s: On the whole network, by the flow engine, mean over seeds.
        losses: What the failure of one part of each kind does.
        repair_days: Until a failed part works again.
    """

    proposal: ProposedTopology
    machine: CandidateCluster
    network_usd: float
    step_s: float
    tokens_per_s: float
    losses: tuple[PartLoss, ...]
    repair_days: float

    @property
    def name(self) -> str:
        """What it is called."""
        return self.proposal.name

    def wired_as(self, other: TopologyDesign) -> bool:
        """Return whether *other* is the same switches and cables under another name."""
        here, there = self.machine.network.design, other.machine.network.design
        return (here.num_rails, here.num_planes, here.tiers, here.stages) == (
            there.num_rails,
            there.num_planes,
            there.tiers,
            there.stages,
        )

    @property
    def lost_share(self) -> float:
        """What failures of the network cost of the job's speed, those that stop it left out."""
        return sum(one.expected_lost_share(self.repair_days) for one in self.losses)

    @property
    def stops_per_month(self) -> float:
        """Failures of the network a month that stop the job."""
        return sum(one.per_month for one in self.losses if one.stops)

    @property
    def expected_step_s(self) -> float:
        """A step with failures of the network as often as they are."""
        return self.step_s / (1 - min(self.lost_share, 0.99))

    @property
    def usd_per_trillion_tokens(self) -> float | None:
        """Nodes, network and power for a trillion tokens, failures included."""
        machine = self.machine
        if machine.capex_usd is None:
            return None
        return TokenCost(
            tokens_per_s=self.tokens_per_s * (1 - min(self.lost_share, 0.99)),
            goodput=machine.goodput,
            capex_usd=machine.capex_usd,
            power_w=machine.power_w,
            economics=machine.economics,
        ).usd

    def loss(self, kind: str) -> PartLoss | None:
        """Return the loss of one kind of part."""
        return next((one for one in self.losses if one.kind == kind), None)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        design = self.machine.network.design
        return {
            "name": self.name,
            "family": self.proposal.family,
            "topology": self.proposal.topology.model_dump(mode="json"),
            "switches": sum(tier.num_switches for tier in design.tiers),
            "tiers": len(design.tiers),
            "cables": sum(stage.num_cables for stage in design.stages),
            "network_capex_usd": self.network_usd,
            "capex_usd": self.machine.capex_usd,
            "power_w": self.machine.power_w,
            "step_time_s": self.step_s,
            "expected_step_s": self.expected_step_s,
            "tokens_per_s": self.tokens_per_s,
            "usd_per_trillion_tokens": self.usd_per_trillion_tokens,
            "lost_share": self.lost_share,
            "stops_per_month": self.stops_per_month,
            "failures": [one.to_json() for one in self.losses],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TopologySearch(Tabular):
    """What ``plan --topologies search`` found.

    Attributes:
        designs: The cheapest a token first.
        fat_trees: For each of *designs*, the least tapered fat tree that costs no more to build;
            None where even the most tapered costs more.
        left_out: Topologies that cannot be built or exceed a limit, and why.
        limits: Of budget and power.
        validity: Of all of it.
    """

    scenario: Scenario
    designs: tuple[TopologyDesign, ...]
    fat_trees: tuple[TopologyDesign | None, ...]
    left_out: dict[str, str]
    limits: PlanLimits
    validity: Validity

    def __repr__(self) -> str:
        """Return one line."""
        return f"<TopologySearch {self.title}: {self.best.name}>"

    @property
    def best(self) -> TopologyDesign:
        """The cheapest a token."""
        return self.designs[0]

    @property
    def title(self) -> str:
        """One line: the job, the machines, the budget."""
        design = self.best.machine.network.design
        budget = self.limits.budget_usd
        under = "" if budget is None else f" for {format_quantity(budget, MONEY, digits=4)}"
        return f"{self.scenario.job.model} on {design.num_gpus:,} GPUs{under}: which topology"

    def table(self) -> Table:
        """Return one row a design."""
        return Table.from_rows(
            {
                key: value
                for key, value in one.to_json().items()
                if value is None or isinstance(value, (str, int, float))
            }
            for one in self.designs
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "technology": self.best.machine.network.technology.name,
            "gpus": self.best.machine.network.design.num_gpus,
            "budget_usd": self.limits.budget_usd,
            "best_topology": self.best.name,
            "designs": [
                {
                    **one.to_json(),
                    "fat_tree_of_equal_cost": None if tree is None else tree.to_json(),
                }
                for one, tree in zip(self.designs, self.fat_trees, strict=True)
            ],
            "left_out": self.left_out,
            "validity": self.validity.to_json(),
        }


def search_topologies(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    limits: PlanLimits | None = None,
    on_progress: OnProgress | None = None,
) -> TopologySearch:
    """Return the topologies within *limits*, each simulated with failures, best first.

    The job keeps the scenario's own parallelism and technology.

    Args:
        scenario: Cluster and job.
        catalog: The parts; default: the shipped ones and the scenario's own.
        limits: Of budget (nodes and network) and power.
        on_progress: Told how many topologies are done, and how many there are.

    Raises:
        InfeasibleError: none can be built within the limits.
        CatalogError: a budget is given, and the node has no price.
    """
    builder = _Builder(scenario, catalog or catalog_of(scenario), limits or PlanLimits())
    asked = tuple(proposals())
    advance = counter(on_progress, 2 * len(asked))
    found: list[TopologyDesign] = []
    for proposal in asked:
        design = builder.design(proposal)
        twin = next((one for one in found if design is not None and one.wired_as(design)), None)
        if twin is not None:
            builder.left_out[proposal.name] = f"at this size the same network as {twin.name}"
        elif design is not None:
            found.append(design)
        advance()
    if not found:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in builder.left_out.items())
        raise InfeasibleError(
            key="cluster", what=f"no topology is within the limits ({reasons})", remedy="raise them"
        )
    found.sort(key=lambda one: (one.usd_per_trillion_tokens or one.expected_step_s, one.name))
    left_out = dict(builder.left_out)
    trees = []
    for one in found:
        trees.append(builder.fat_tree_for(one))
        advance()
    advance(len(asked) - len(found))
    validity = UNMEASURED
    for one in found:
        validity &= one.machine.validity
    return TopologySearch(
        scenario=scenario,
        designs=tuple(found),
        fat_trees=tuple(trees),
        left_out=left_out,
        limits=builder.limits,
        validity=validity,
    )


class _Builder:
    """Builds and simulates topologies, each once."""

    def __init__(self, scenario: Scenario, catalog: Catalog, limits: PlanLimits) -> None:
        self.limits = limits
        self.left_out: dict[str, str] = {}
        self._scenario = scenario
        self._catalog = catalog
        self._built: dict[str, TopologyDesign | None] = {}

    def design(self, proposal: ProposedTopology) -> TopologyDesign | None:
        """Return *proposal* simulated; None where it cannot be built or exceeds a limit."""
        if proposal.name not in self._built:
            self._built[proposal.name] = self._simulated(proposal)
        return self._built[proposal.name]

    def fat_tree_for(self, design: TopologyDesign) -> TopologyDesign | None:
        """Return the least tapered fat tree that costs no more than *design*."""
        for over in FAT_TREE_TAPERS:
            proposal = fat_tree(over)
            machine = self._machine(proposal)
            if machine is None or machine.network_usd > SAME_COST * design.network_usd:
                continue
            return self.design(proposal)
        return None

    def _simulated(self, proposal: ProposedTopology) -> TopologyDesign | None:
        machine = self._machine(proposal)
        if machine is None:
            return None
        scenario = self._on(proposal)
        spread = machine.network.technology.load_balancing in {"adaptive", "spray", "cells"}
        bench = bench_of(scenario, self._catalog, seeds=SEEDS[:1] if spread else SEEDS)
        runs = bench.healthy()
        step_s = fmean(run.duration_s for run in runs)
        return TopologyDesign(
            proposal=proposal,
            machine=machine,
            network_usd=machine.network_usd,
            step_s=step_s,
            tokens_per_s=runs[0].step.tokens_per_s * runs[0].step.duration_s / step_s,
            losses=tuple(losses_of(bench, step_s)),
            repair_days=scenario.job.reliability.repair_s / _DAY_S,
        )

    def _machine(self, proposal: ProposedTopology) -> CandidateCluster | None:
        try:
            return machine_within(self._on(proposal), self._catalog, limits=self.limits)
        except InfeasibleError as error:
            self.left_out[proposal.name] = str(error)
            return None

    def _on(self, proposal: ProposedTopology) -> Scenario:
        own = self._scenario.cluster
        fabric = own.fabric.model_copy(update={"topology": proposal.topology})
        cluster = own.model_copy(update={"fabric": fabric})
        return self._scenario.model_copy(update={"cluster": cluster})
