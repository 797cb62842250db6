"""The machines a plan may choose among, with what each costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.errors import CatalogError, InfeasibleError, SpecError
from netloom.fabric.cost.estimate import estimate
from netloom.spec.scenario import MAX_GPUS
from netloom.study.cluster import ClusterTotals
from netloom.study.economics import TokenCost
from netloom.study.goodput.model import goodput
from netloom.study.lossless import lossless
from netloom.study.networks import addressing, network_of, node_of, num_nodes_of
from netloom.study.size.request import topology_of
from netloom.units import MONEY, POWER, format_count, format_quantity

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.provenance import Validity
    from netloom.spec.scenario import Cluster, Economics, Scenario
    from netloom.spec.topology import Topology

__all__ = ["CandidateCluster", "PlanLimits", "Wanted", "machine_within", "machines"]

_KWH_J = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which machines to try instead of the scenario's own; an empty list keeps its choice.

    Attributes:
        gpu_ranges: Smallest and largest; tried are the sizes between whose number of nodes has no
            prime factor over 3, as the degrees of most jobs have none.
        software: Training software by name.
    """

    gpus: tuple[int, ...] = ()
    gpu_ranges: tuple[tuple[int, int], ...] = ()
    technologies: tuple[str, ...] = ()
    topologies: tuple[str, ...] = ()
    oversubscriptions: tuple[float, ...] = ()
    software: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """What a configuration may not exceed; None where nothing is said.

    Attributes:
        memory_bytes: Of a GPU, in place of its own.
        budget_usd: Nodes and network.
        power_w: Nodes and network, without cooling.
    """

    memory_bytes: float | None = None
    budget_usd: float | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCluster:
    """A cluster to run the job on.

    Attributes:
        capex_usd: Nodes and network; None where the node has no price.
        power_w: Nodes and network, without cooling.
        goodput: What failures and checkpoints leave of the time.
        validity: Of the machine, whatever runs on it: as ``netloom compare`` doubts it.
        software: The training software that is tried on it, where several are.
        network_usd: Of *capex_usd*, switches, transceivers and cables.
    """

    network: Network
    capex_usd: float | None
    power_w: float
    goodput: float
    economics: Economics
    validity: Validity
    software: str = ""
    network_usd: float = 0.0

    @property
    def name(self) -> str:
        """What tells it from other machines."""
        design = self.network.design
        own = _name(design.num_gpus, self.network.technology.name, design.topology)
        return f"{own}, {self.software}" if self.software else own

    def usd_per_trillion_tokens(self, tokens_per_s: float) -> float | None:
        """Return the money for a trillion tokens, failures included."""
        if self.capex_usd is None:
            return None
        return TokenCost(
            tokens_per_s=tokens_per_s,
            goodput=self.goodput,
            capex_usd=self.capex_usd,
            power_w=self.power_w,
            economics=self.economics,
        ).usd

    def kwh_per_trillion_tokens(self, tokens_per_s: float) -> float:
        """Return the energy of a trillion tokens, cooling and failures included."""
        seconds = 1e12 / (tokens_per_s * self.goodput)
        return self.power_w * self.economics.pue * seconds / _KWH_J


def machines(
    scenario: Scenario, catalog: Catalog, *, wanted: Wanted, limits: PlanLimits
) -> tuple[list[CandidateCluster], dict[str, str]]:
    """Return the machines within *limits*, and why each of the others was left out.

    Raises:
        InfeasibleError: not a single one is left.
        CatalogError: a budget is given, and the node has no price.
    """
    found: list[CandidateCluster] = []
    left_out: dict[str, str] = {}
    for name, cluster, num_nodes in _clusters(scenario, catalog, wanted):
        try:
            machine = _machine(scenario, catalog, cluster, num_nodes, limits)
        except InfeasibleError as error:
            left_out[name] = str(error)
            continue
        over = _over(machine, limits)
        if over:
            left_out[name] = over
        else:
            found.append(machine)
    if not found:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise InfeasibleError(
            key="cluster", what=f"no machine is within the limits ({reasons})", remedy="raise them"
        )
    return found, left_out


def machine_within(scenario: Scenario, catalog: Catalog, *, limits: PlanLimits) -> CandidateCluster:
    """Return the scenario's own machine.

    Raises:
        InfeasibleError: it cannot be built, or exceeds a limit.
        CatalogError: a budget is given, and the node has no price.
    """
    cluster = scenario.cluster
    num_nodes = num_nodes_of(cluster, node_of(cluster, catalog))
    machine = _machine(scenario, catalog, cluster, num_nodes, limits)
    over = _over(machine, limits)
    if over:
        raise InfeasibleError(what=over)
    return machine


def _clusters(
    scenario: Scenario, catalog: Catalog, wanted: Wanted
) -> list[tuple[str, Cluster, int]]:
    own = scenario.cluster
    node = node_of(own, catalog)
    sizes = _sizes(wanted, node.num_gpus)
    found = []
    for num_nodes in sizes or [num_nodes_of(own, node)]:
        for technology in wanted.technologies or (own.fabric.technology,):
            for topology in _topologies(own, wanted):
                changed: dict[str, object] = {"technology": technology, "topology": topology}
                if technology != own.fabric.technology:
                    changed["switch"] = None
                fabric = own.fabric.model_copy(update=changed)
                name = _name(num_nodes * node.num_gpus, technology, topology)
                found.append((name, own.model_copy(update={"fabric": fabric}), num_nodes))
    return found


def _name(num_gpus: int, technology: str, topology: Topology) -> str:
    over = getattr(topology, "oversubscription", None)
    taper = "" if over is None else f" {over:g}:1"
    return f"{format_count(num_gpus, 'GPU')}, {technology}, {topology.kind}{taper}"


def _topologies(own: Cluster, wanted: Wanted) -> list[Topology]:
    named = [topology_of(kind) for kind in wanted.topologies]
    kinds: list[Topology] = [one for one in named if one is not None] or [own.fabric.topology]
    found: list[Topology] = []
    for topology in kinds:
        if not wanted.oversubscriptions or not hasattr(topology, "oversubscription"):
            found.append(topology)
            continue
        for over in wanted.oversubscriptions:
            topology_of(topology.kind, oversubscription=over)  # says what is wrong with it
            found.append(topology.model_copy(update={"oversubscription": over}))
    return found


def _sizes(wanted: Wanted, per_node: int) -> list[int]:
    """Return the numbers of nodes to try, smallest first."""
    found = {_num_nodes(size, per_node) for size in wanted.gpus}
    for low, high in wanted.gpu_ranges:
        if not 1 <= low <= high <= MAX_GPUS:
            raise SpecError(
                key="gpus",
                what=f"{low}-{high} is no range",
                remedy=f"write the smaller first, up to {MAX_GPUS:,}",
            )
        between = [n for n in _smooth(high // per_node) if low <= n * per_node]
        if not between:
            raise SpecError(
                key="gpus",
                what=(
                    f"{low}-{high} has no number of nodes of {per_node} GPUs without prime "
                    "factors over 3"
                ),
                remedy="widen the range or list sizes",
            )
        found.update(between)
    return sorted(found)


def _smooth(most: int) -> list[int]:
    """Return the numbers up to *most* whose only prime factors are 2 and 3."""
    twos = [2**k for k in range(most.bit_length())]
    threes = [3**k for k in range(most.bit_length())]
    return [two * three for two in twos for three in threes if two * three <= most]


def _num_nodes(num_gpus: int, per_node: int) -> int:
    if num_gpus < 1 or num_gpus % per_node:
        raise SpecError(
            key="gpus",
            what=f"{num_gpus} GPUs do not fill nodes of {per_node}",
            remedy=f"use a multiple, such as {max(1, num_gpus // per_node) * per_node}",
        )
    return num_gpus // per_node


def _machine(
    scenario: Scenario, catalog: Catalog, cluster: Cluster, num_nodes: int, limits: PlanLimits
) -> CandidateCluster:
    network = network_of(cluster, catalog, num_nodes=num_nodes)
    costs = estimate(
        network.design,
        node=network.node,
        nic=network.nic,
        floor=cluster.fabric.floor,
        cables=catalog.cables.values(),
        transceivers=catalog.transceivers.values(),
    )
    totals = ClusterTotals(network=network, bill=costs.bill, own_nic=catalog.nic(network.node.nic))
    kept = goodput(network.design, scenario.job.reliability, num_hosts=network.node.num_hosts)
    reach = lossless(network, longest_m=costs.longest_m)
    return CandidateCluster(
        network=_with_memory(network, limits.memory_bytes),
        capex_usd=totals.capex_usd,
        power_w=totals.power_w,
        goodput=kept.share,
        economics=scenario.economics,
        validity=addressing(network) & kept.validity & reach.validity,
        network_usd=costs.bill.capex_usd,
    )


def _with_memory(network: Network, memory_bytes: float | None) -> Network:
    if memory_bytes is None:
        return network
    return replace(network, gpu=network.gpu.model_copy(update={"memory_bytes": memory_bytes}))


def _over(machine: CandidateCluster, limits: PlanLimits) -> str:
    """Return which limit *machine* exceeds, or nothing."""
    if limits.power_w is not None and machine.power_w > limits.power_w:
        drawn, allowed = (format_quantity(w, POWER) for w in (machine.power_w, limits.power_w))
        return f"draws {drawn}, over the {allowed} allowed"
    if limits.budget_usd is None:
        return ""
    if machine.capex_usd is None:
        name = machine.network.node.name
        raise CatalogError(
            what=f"{name} has no price, so that no budget can be kept",
            remedy=f'add one in a catalogue file of your own: [nodes.{name}] price = "300000USD"',
        )
    if machine.capex_usd <= limits.budget_usd:
        return ""
    spent_usd = (machine.capex_usd, limits.budget_usd)
    costs, allowed = (format_quantity(usd, MONEY, digits=4) for usd in spent_usd)
    return f"costs {costs}, over the {allowed} allowed"
