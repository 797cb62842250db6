"""Run a scenario's traffic, or any transfers, through the flow or the packet engine."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from netloom.errors import SpecError, at
from netloom.fabric.build import build
from netloom.fabric.explicit import routed_by
from netloom.fabric.wiring.built import wiring_of
from netloom.fabric.wiring.wiring import PacketTopology
from netloom.spec.packets import MAX_TRACED
from netloom.spec.problems import did_you_mean
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of
from netloom.study.simulate.case import DRAWN, DrawnTraffic, SimulationCase, apart_note
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.drawn import drawn_traffic
from netloom.study.simulate.memory import check_drawing, check_fits, check_table, need_of
from netloom.study.simulate.runner import StopSignal, stopwatch
from netloom.study.simulate.seed_runs import noted, seed_run
from netloom.study.simulate.simulation import SeedRun, Simulation
from netloom.study.simulate.traffic import place_of
from netloom.study.simulate.traffic_size import size_of
from netloom.units import TIME, format_count, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netloom.engines.packet.faults import PacketFault
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Technology
    from netloom.spec.packets import PacketOptions
    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.runner import OnProgress, OnShare, SimulationRunner
    from netloom.study.simulate.simulation import Grid
    from netloom.study.simulate.sites import SimulatedSites
    from netloom.workload.transfers import Transfers

__all__ = [
    "DrawnTraffic",
    "SimulationCase",
    "case_of",
    "case_on",
    "run_case",
    "runner_on",
    "simulate",
    "traced",
]

EngineName = Literal["packet", "flow"]
ENGINES: Final[tuple[EngineName, ...]] = ("packet", "flow")
# GPUs up to which flows run on the wiring that packets do, so that one seed is one draw of the
# hash. Beyond, a wiring's table of ways takes gigabytes, and flows run on the fabric itself.
MAX_WIRED: Final = 8192
_NEVER_PS: Final = 2**62


def simulate(  # noqa: PLR0913  (a facade: what the command line takes)
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    engine: EngineName = "packet",
    choices: Choices | None = None,
    seeds: Sequence[int] = (0,),
    until_s: float | None = None,
    on_progress: OnProgress | None = None,
) -> Simulation:
    """Run the traffic of *scenario* and return what came of it.

    Args:
        scenario: A cluster and its traffic.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        engine: ``packet``, or ``flow``.
        choices: What to use instead of the technology's own.
        seeds: One run for each.
        until_s: Stop here, with the results so far.
        on_progress: Called now and then; true stops the run.

    Raises:
        NetloomError: the traffic or the network is impossible; nothing has run then.
    """
    case = case_of(scenario, catalog or catalog_of(scenario), engine=engine, choices=choices)
    until_ps = None if until_s is None else round(until_s * 1e12)
    return run_case(case, seeds=seeds, until_ps=until_ps, on_progress=on_progress)


def case_of(
    scenario: Scenario,
    catalog: Catalog,
    *,
    engine: EngineName = "packet",
    choices: Choices | None = None,
    routes: Mapping[str, Mapping[str, int]] | None = None,
) -> SimulationCase:
    """Return the traffic of *scenario* on its network, ready to run.

    Args:
        scenario: A cluster and its traffic.
        catalog: The parts to build it from.
        engine: ``packet`` or ``flow``.
        choices: What to use instead of the technology's own.
        routes: For each switch by name the port towards each NIC port by name, instead of every
            shortest way; packets only.

    Raises:
        NetloomError: something is wrong with it; nothing has run yet.
    """
    check_engine(engine)
    network = network_of(scenario.cluster, catalog)
    chosen = choices or Choices()
    if engine == "packet" and not chosen.settings and scenario.cluster.fabric.settings:
        chosen = replace(chosen, settings=scenario.cluster.fabric.settings)
    if scenario.traffic is not None:
        size = size_of(scenario.traffic, place_of(network))
        connections = chosen.qps or network.technology.flows_per_rank
        check_drawing(size, engine=engine, connections=connections)
    return case_on(
        network,
        scenario,
        catalog,
        drawn_traffic(scenario, catalog, network),
        engine=engine,
        choices=chosen,
        routes=routes,
    )


def case_on(  # noqa: PLR0913  (as case_of, and what it found)
    network: Network,
    scenario: Scenario,
    catalog: Catalog,
    traffic: DrawnTraffic,
    *,
    engine: EngineName,
    choices: Choices,
    routes: Mapping[str, Mapping[str, int]] | None = None,
) -> SimulationCase:
    """Return *traffic* on the network of *scenario*, ready to run; as :func:`case_of`."""
    chosen, notes = choices, traffic.notes
    probe = traffic.transfers(0)
    if routes is not None and engine == "flow":
        raise SpecError(
            key="routes",
            what="flows are routed by the fabric",
            remedy="leave them out, or use --engine packet",
        )
    ground: PacketTopology | Fabric
    sites = _sites(scenario, catalog, network, probe) if scenario.sites else None
    if sites is not None:
        ground, notes = _joined(sites, routes), (*notes, *sites.notes)
    else:
        ground = _ground(scenario, network, probe, engine=engine, routes=routes)
    if scenario.faults:
        _check_faults(engine)
    # What was chosen in its place is not the file's fault.
    with nullcontext() if chosen != Choices() else at("cluster.fabric.technology"):
        runner = runner_on(
            ground, network.technology, engine=engine, choices=chosen, network=network
        )
    if engine == "packet":
        runner = _as_deployed(runner, scenario, network, has_own_marks=bool(chosen.ecn))
    if scenario.faults:
        runner = _with_faults(runner, scenario)
    if sites is not None and engine == "packet":
        runner = _over_spans(runner, sites)
    if scenario.packets is not None:
        runner, said = _with_packets(runner, scenario.packets, engine=engine)
        notes += said
    return SimulationCase(
        title=scenario.name
        or f"{format_count(network.design.num_gpus, 'GPU')} on {network.technology.name}",
        technology=network.technology.name,
        runner=runner,
        traffic=traffic.transfers,
        jobs=traffic.jobs,
        notes=notes,
    )


def _ground(
    scenario: Scenario,
    network: Network,
    probe: Transfers,
    *,
    engine: EngineName,
    routes: Mapping[str, Mapping[str, int]] | None,
) -> PacketTopology | Fabric:
    """Return what one site's traffic runs on."""
    fabric = build(network.design, network.node, network.scale_up)
    if engine == "flow" and network.design.num_gpus > MAX_WIRED:
        return fabric
    wiring = _wiring(scenario, network, fabric, probe)
    return wiring if routes is None else routed_by(routes, wiring, fabric)


def _sites(
    scenario: Scenario, catalog: Catalog, network: Network, probe: Transfers
) -> SimulatedSites:
    from netloom.study.simulate.sites import sites_of  # noqa: PLC0415  (native code)

    return sites_of(scenario, catalog, network, probe)


def _joined(
    sites: SimulatedSites, routes: Mapping[str, Mapping[str, int]] | None
) -> PacketTopology:
    if routes is not None:
        raise SpecError(
            key="routes", what="sites are routed by their fabrics", remedy="leave them out"
        )
    return sites.wiring


def _over_spans(runner: SimulationRunner, sites: SimulatedSites) -> SimulationRunner:
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    assert isinstance(runner, PacketRunner), runner
    return replace(
        runner,
        settings=sites.settings(runner.settings),
        faults=(*runner.faults, *sites.faults),
    )


def traced(case: SimulationCase, max_trace: int) -> SimulationCase:
    """Return *case* with the first departures of packets kept in the table ``trace``.

    Raises:
        SpecError: it has no packets, or the number cannot be.
    """
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    if not isinstance(case.runner, PacketRunner):
        raise SpecError(
            key="trace", what="flows have no packets", remedy="leave it out, or use --engine packet"
        )
    if not 0 <= max_trace <= MAX_TRACED:
        raise SpecError(
            key="trace", what=f"{max_trace} departures", remedy=f"keep 0 to {MAX_TRACED}"
        )
    return replace(case, runner=replace(case.runner, max_trace=max_trace))


def _check_faults(engine: EngineName) -> None:
    if engine == "flow":
        raise SpecError(
            key="faults",
            what="flows know no faults in time",
            remedy="use --engine packet, or leave them out",
        )


def _with_faults(runner: SimulationRunner, scenario: Scenario) -> SimulationRunner:
    from netloom.study.simulate.faults import faults_of  # noqa: PLC0415
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    assert isinstance(runner, PacketRunner), runner
    control = runner.settings.flow_control
    for number, fault in enumerate(scenario.faults):
        if fault.kind == "pause" and control != "pfc":
            raise SpecError(
                key=f"faults.{number}",
                what=f"pause faults need flow control pfc, not {control}",
                remedy="use pfc, or a link that is 'slow' or 'down'",
            )
    return replace(runner, faults=faults_of(scenario.faults, runner.wiring))


def _as_deployed(
    runner: SimulationRunner, scenario: Scenario, network: Network, *, has_own_marks: bool
) -> SimulationRunner:
    from netloom.study.simulate.as_deployed import as_deployed  # noqa: PLC0415  (native code)
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415

    assert isinstance(runner, PacketRunner), runner
    floor = scenario.cluster.fabric.floor
    settings = as_deployed(
        runner.settings, runner.wiring, network, floor, has_own_marks=has_own_marks
    )
    return replace(runner, settings=settings)


def _with_packets(
    runner: SimulationRunner, asked: PacketOptions, *, engine: EngineName
) -> tuple[SimulationRunner, tuple[str, ...]]:
    if engine == "flow":
        return runner, ("flows see nothing of what the scenario says under 'packets'",)
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)
    from netloom.study.simulate.packet_settings import packet_settings_of  # noqa: PLC0415

    assert isinstance(runner, PacketRunner), runner
    with at("packets"):
        settings = packet_settings_of(asked, runner.settings)
    return replace(runner, settings=settings, max_trace=asked.trace), ()


def _wiring(
    scenario: Scenario, network: Network, fabric: Fabric, probe: Transfers
) -> PacketTopology:
    """Return the wiring of *fabric*, with scale-up networks where some transfer needs them."""
    node = fabric.vertex_node
    inside = bool((node[probe.source] == node[probe.target]).any())
    many = any(piece.kind in {"permutation", "poisson"} for piece in scenario.traffic or ())
    inside |= many and network.node.num_gpus > 1  # another seed may draw a pair inside a node
    if inside:
        check_table(len(fabric.vertex_node), network.design.num_gpus)
    return wiring_of(fabric, network, scenario.cluster.fabric.floor, scale_up=inside)


def check_engine(engine: str) -> None:
    """Raise SpecError unless *engine* is one that simulates."""
    if engine not in ENGINES:
        raise SpecError(
            key="engine", what=f"{engine!r} is not known", remedy=did_you_mean(engine, ENGINES)
        )


def runner_on(
    ground: PacketTopology | Fabric,
    technology: Technology,
    *,
    engine: EngineName,
    choices: Choices,
    network: Network | None = None,
    faults: Sequence[PacketFault] = (),
) -> SimulationRunner:
    """Return *engine* on *ground*, set up as *technology* says but for *choices*.

    Args:
        ground: What it runs on; the packet engine needs a wiring.
        technology: Gives what *choices* leave open.
        engine: ``packet`` or ``flow``.
        choices: What to use instead.
        network: Where it comes from, when it is a cluster's own.
        faults: What goes wrong with its links; packets only.

    Raises:
        SpecError: a scheme is not known, or no engine can do it.
    """
    if engine == "flow" and faults:
        raise SpecError(
            key="faults",
            what="flows lose nothing",
            remedy="use --engine packet, or a topology without loss",
        )
    if engine == "flow":
        from netloom.study.simulate.flow import FlowRunner  # noqa: PLC0415  (native code)

        wired = isinstance(ground, PacketTopology)
        settings = choices.flow_settings(technology, network, wired=wired)
        return FlowRunner(network=ground, settings=settings)
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    assert isinstance(ground, PacketTopology), ground
    packets = choices.packet_settings(technology)
    return PacketRunner(wiring=ground, settings=packets, faults=faults)


def run_case(  # noqa: PLR0913
    case: SimulationCase,
    *,
    seeds: Sequence[int] = (0,),
    until_ps: int | None = None,
    on_progress: OnProgress | None = None,
    on_share: OnShare | None = None,
    clock: Callable[[], float] | None = None,
    num_workers: int = 1,
) -> Simulation:
    """Return *case* run with each of *seeds*; equal seeds give equal results.

    Nothing begins that memory would not suffice for.

    Args:
        case: What to run.
        seeds: One run each.
        until_ps: Stop each run here.
        on_progress: Called by every run now and then; true stops it.
        on_share: Told before that what share of a run's payload has arrived.
        clock: Gives seconds, for the time that each run took; default: not timed.
        num_workers: Threads that runs are spread over and, where they are more, components of each
            run that share nothing; the engines let go of Python's lock.

    Raises:
        NetloomError: the traffic is impossible on this network, or too much for memory.
    """
    if not seeds:
        raise SpecError(key="seeds", what="give at least 1")
    transfers = case.traffic(seeds[0])
    _check_until(until_ps, transfers)
    need = need_of(case.runner, transfers)
    engine = case.runner.name
    num_parts = check_fits(need, engine=engine, num_runs=len(seeds), num_workers=num_workers)

    def one(seed: int, case: SimulationCase = case) -> SeedRun:
        passed_s = stopwatch(clock)
        transfers = case.traffic(seed)
        told = StopSignal(on_progress)
        delivery, ideal_ps = case.runner.run(
            transfers,
            seed=seed,
            until_ps=until_ps,
            on_progress=told,
            on_share=on_share,
            num_workers=num_parts,
        )
        if case.lanes is not None and delivery.num_draws:
            return noted(one(seed, case.lanes.whole()), apart_note(DRAWN))
        run = SeedRun(
            seed=seed,
            transfers=transfers,
            delivery=delivery,
            ideal_ps=ideal_ps,
            cut_off=told.to_stop and delivery.partial,
            wall_s=passed_s(),
        )
        return seed_run(run, case.step, case.lanes)

    passed_s = stopwatch(clock)
    if min(num_workers, len(seeds)) == 1:
        runs = tuple(one(seed) for seed in seeds)
    else:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (it logs)

        with ThreadPoolExecutor(min(num_workers, len(seeds))) as pool:
            runs = tuple(pool.map(one, seeds))
    return Simulation(
        title=case.title,
        engine=case.runner.name,
        technology=case.technology,
        choices=case.runner.choices,
        grid=case.runner.grid,
        runs=runs,
        jobs=case.jobs,
        wall_s=passed_s(),
        notes=(
            *case.notes,
            *case.runner.notes,
            *dict.fromkeys(note for run in runs for note in run.delivery.notes),
            *_stops(runs, case.runner.grid),
        ),
    )


def _check_until(until_ps: int | None, transfers: Transfers) -> None:
    first_ps = int(transfers.start_ps.min(initial=_NEVER_PS))
    if until_ps is not None and until_ps <= first_ps < _NEVER_PS:
        until, first = (format_quantity(ps * 1e-12, TIME) for ps in (until_ps, first_ps))
        raise SpecError(
            key="until",
            what=f"{until}, but the first transfer starts at {first}",
            remedy="stop after that",
        )


def _stops(runs: Sequence[SeedRun], grid: Grid) -> list[str]:
    """Return in words why runs stopped before their end, but for a time that was set."""
    found = []
    if len(runs) > 1 and (count := sum(run.cut_off for run in runs)):
        found.append(f"{count} of {len(runs)} seeds were cut off; means over seeds leave them out")
    for run in runs:
        delivery = run.delivery
        if delivery.stuck == "deadlock":
            circle = [grid.link(int(link)) for link in delivery.tables["deadlock"]["link"]]
            found.append(f"seed {run.seed}: credit-loop deadlock through {', '.join(circle)}")
        if delivery.stuck == "silence":
            num = len(run.transfers)
            found.append(
                f"seed {run.seed}: {num - len(run.done):,} of {num:,} transfers never end: nothing "
                "arrives any more, and nothing is left that would change it"
            )
    return found
