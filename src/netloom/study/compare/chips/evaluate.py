"""Put one chip through everything a comparison of chips asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.fabric.wire.link_retry import residual_loss
from netloom.study.compare.chips.design import base_design
from netloom.study.compare.chips.limits import limits_of
from netloom.study.compare.chips.ranked import SPREADING, ChipBuffer, RankedChip
from netloom.study.compare.chips.reference import ReferenceTraffic
from netloom.study.compare.chips.runs import ChipBench, run_chip
from netloom.study.compare.evaluate import evaluate
from netloom.study.inputs import model_of
from netloom.study.networks import network_of
from netloom.study.predict.prediction import step_on

if TYPE_CHECKING:
    from netloom.engines.base import Engine
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.compare.chips.design import ChipDesign
    from netloom.study.compare.chips.entry import ChipArchitecture
    from netloom.study.compare.chips.message import JobMessage
    from netloom.study.compare.chips.runs import ChipRuns

__all__ = ["BenchPlan", "ChipOnJob", "evaluate_chip", "on_job"]

LEAST_SPREAD_BYTES: Final = 1_000_000  # shorter flows do not settle: what they reach is latency's
# Keys of a figure that the step follows, and what of the technology each is.
_STEPPED: Final = {"path_efficiency": "path_efficiency", "switch_s": "latency_switch_s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """What is run on the reference network.

    Attributes:
        message: The job's own.
        seeds: Runs of each traffic.
    """

    message: JobMessage
    seeds: tuple[int, ...]

    @property
    def traffic(self) -> ReferenceTraffic:
        """All that is sent: the job's message where it is of that pattern."""
        if self.message.is_exchanged:
            return ReferenceTraffic(message_bytes=self.message.size_bytes)
        return ReferenceTraffic(permutation_bytes=max(self.message.size_bytes, LEAST_SPREAD_BYTES))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipOnJob:
    """A chip's parts in place of the scenario's.

    Attributes:
        scenario: On the chip's technology and topology.
        catalog: With the chip's technology and switch.
    """

    scenario: Scenario
    catalog: Catalog

    @property
    def network(self) -> Network:
        """The cluster built of the chip.

        Raises:
            InfeasibleError: it cannot be.
        """
        return network_of(self.scenario.cluster, self.catalog)


def on_job(design: ChipDesign, scenario: Scenario, catalog: Catalog) -> ChipOnJob:
    """Return *scenario* on *design*."""
    technology, switch = design.technology, design.switch
    parts = replace(
        catalog,
        technologies={**catalog.technologies, technology.name: technology},
        switches={**catalog.switches, switch.name: switch},
    )
    changed: dict[str, Any] = {"technology": technology.name, "switch": None, "settings": None}
    if design.topology is not None:
        changed["topology"] = design.topology
    if design.retries_links:
        given = scenario.cluster.fabric.loss
        changed["loss"] = residual_loss(technology.loss if given is None else given)
    if design.in_network_reduction:
        changed["in_network_reduction"] = True
    fabric = scenario.cluster.fabric.model_copy(update=changed)
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    return ChipOnJob(scenario=scenario.model_copy(update={"cluster": cluster}), catalog=parts)


def evaluate_chip(
    architecture: ChipArchitecture,
    scenario: Scenario,
    catalog: Catalog,
    *,
    bench: BenchPlan,
    engine: Engine,
) -> RankedChip:
    """Return what *architecture* does for *scenario*.

    Raises:
        InfeasibleError: the cluster cannot be built of it, or the model does not fit.
        CatalogError: nothing of its family runs at the scenario's rate.
    """
    design = architecture.design(base_design(architecture.family, scenario, catalog), catalog)
    design = _priced(design, architecture)
    floor = scenario.cluster.fabric.floor
    built = ChipBench.of(design, on_job(design, scenario, catalog).network, floor)
    runs = run_chip(built, bench.traffic, seeds=bench.seeds)
    design = with_measured_paths(design, runs)
    job = on_job(design, scenario, catalog)
    candidate = evaluate(
        job.scenario, job.catalog, technology=design.technology.name, engine=engine
    )
    model = model_of(scenario, catalog)
    return RankedChip(
        architecture=architecture,
        design=design,
        candidate=candidate,
        runs=runs,
        is_exchanged=bench.message.is_exchanged,
        buffer=_buffer(built.runner.settings, candidate.network, runs),
        limits=limits_of(
            candidate.network, job.scenario, model=model, engine=engine, step=candidate.step
        ),
        step_range_s=_step_range(architecture, design, scenario, catalog, engine),
        power_range_w=_power_range(architecture, candidate.network, candidate.network_power_w),
    )


def with_measured_paths(design: ChipDesign, runs: ChipRuns) -> ChipDesign:
    """Return *design* with the share of its paths that packets reached, where it spreads them.

    Hashed paths keep the closed form of collisions, which knows how many links there are.
    """
    if design.technology.load_balancing not in SPREADING:
        return design
    return design.with_technology(path_efficiency=runs.path_share)


def _priced(design: ChipDesign, architecture: ChipArchitecture) -> ChipDesign:
    """Return *design* with the range of its switch's price on the bill."""
    price = architecture.figure("price_usd")
    if price is None:
        return design
    ranged = design.switch.model_copy(update={"price_range_usd": (price.low, price.high)})
    return replace(design, switch=ranged)


def _buffer(settings: PacketSettings, network: Network, runs: ChipRuns) -> ChipBuffer:
    """Return what a switch must hold with every port busy."""
    ports, has_bytes = network.design.radix, network.design.switch.buffer_bytes
    rooms, queue = settings.pfc.headroom_bytes, settings.switch.queue_bytes
    if settings.switch.ingress_bytes:
        each, what = settings.switch.ingress_bytes, "buffer of an input"
    elif settings.flow_control == "pfc" and isinstance(rooms, tuple):
        each, what = max(rooms), "headroom behind the threshold of a priority"
    elif settings.flow_control in {"credits", "scheduled"}:
        each, what = settings.credits.buffer_bytes, "credits of an input"
    elif isinstance(queue, int) and queue:
        each, what = queue, "queue of an output"
    else:
        how = "longest queue seen, of one port: nothing is set aside"
        return ChipBuffer(needed_bytes=runs.peak_queue_bytes, has_bytes=has_bytes, how=how)
    how = f"{what}, {each:,} bytes, at each of {ports} ports"
    return ChipBuffer(needed_bytes=float(each * ports), has_bytes=has_bytes, how=how)


def _step_range(
    architecture: ChipArchitecture,
    design: ChipDesign,
    scenario: Scenario,
    catalog: Catalog,
    engine: Engine,
) -> tuple[float, float]:
    """Return the least and the longest step over the ends of every figure that it follows."""
    designs = [design]
    for name, key in _STEPPED.items():
        figure = architecture.figure(name)
        if figure is not None:
            designs += [design.with_technology(**{key: end}) for end in (figure.low, figure.high)]
    model = model_of(scenario, catalog)
    steps = []
    for one in designs:
        job = on_job(one, scenario, catalog)
        steps.append(step_on(job.network, job.scenario, model=model, engine=engine).duration_s)
    return min(steps), max(steps)


def _power_range(
    architecture: ChipArchitecture, network: Network, power_w: float
) -> tuple[float, float]:
    """Return the network's power over the range of its switch's."""
    figure, own_w = architecture.figure("power_w"), network.design.switch.power_w
    if figure is None or own_w is None:
        return power_w, power_w
    count = sum(tier.num_switches for tier in network.design.tiers)
    ends = [power_w + count * (end - own_w) for end in (figure.low, figure.high)]
    return min(*ends, power_w), max(*ends, power_w)
