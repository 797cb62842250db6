"""``netloom simulate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netloom.cli.arguments import Whole
from netloom.cli.exits import Exit
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.formats.simulators.cases import ImportedCase
    from netloom.study.simulate.choices import Choices
    from netloom.study.simulate.run import SimulationCase
    from netloom.study.simulate.runner import SimulationRunner
    from netloom.study.simulate.simulation import Simulation

__all__ = ["simulate"]


def simulate(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    engine: Literal["packet", "flow"] = "packet",
    topology: Path | None = None,
    flows: Path | None = None,
    config: Path | None = None,
    technology: str = "",
    cc: str = "",
    load_balancing: str = "",
    transport: str = "",
    flow_control: str = "",
    ecn: str = "",
    qps: Whole = 0,
    routes: Path | None = None,
    until: str = "",
    seed: Whole = 0,
    seeds: Whole = 1,
    own: Path | None = None,
    json: bool = False,
    out: Path | None = None,
    report: Path | None = None,
    fct: Path | None = None,
    trace: Whole = 0,
) -> int:
    """Simulate traffic on a network, packet by packet or as flows.

    Ctrl-C ends a run with the results so far, marked partial; the exit code is then 3.

    Args:
        scenario: A scenario file with 'traffic'; without, the example 'incast-rocev2'.
        engine: packet: queues, pauses, marks and losses are seen. flow: larger, faster.
        topology: Instead of a scenario, a topology of htsim (.topo) or of HPCC's ns-3.
        flows: What is sent on it: htsim's .cm, or HPCC's flow file.
        config: HPCC's config.txt, for its congestion control, buffers and marking.
        technology: Use this one instead of the scenario's; with a topology, rocev2-400g.
        cc: Congestion control instead of the technology's, such as dcqcn, hpcc or none.
        load_balancing: Instead of the technology's, such as ecmp, adaptive, spray or reps.
        transport: What end points do about loss and order, such as rc, irn, uet or ndp.
        flow_control: Instead of the technology's: pfc, credits, trimming or none.
        ecn: Marking as Kmin-Kmax-Pmax, such as 100KB-400KB-20%, or off.
        qps: Connections that each transfer is spread over.
        routes: Forwarding tables to use, as OpenSM or dump_lfts dumps them (opensm-lfts.dump).
        until: Stop the simulated clock here, such as 2ms.
        seed: Draws traffic, paths and marks; equal seeds give equal results.
        seeds: Run this many seeds from SEED on, on all cores, with confidence intervals.
        own: A TOML file with parts of your own.
        json: Print JSON; keys are documented in docs/json.md.
        out: Write all tables into this folder as Arrow files.
        report: Write a self-contained HTML page to this file.
        fct: Write completion times to this file in the columns of HPCC's fct.txt.
        trace: Keep the first so many departures of packets in OUT's trace.arrow.
    """
    from netloom.cli.design.simulate_output import show, write_all  # noqa: PLC0415
    from netloom.study.simulate.choices import Choices  # noqa: PLC0415

    choices = Choices(
        congestion_control=cc,
        load_balancing=load_balancing,
        transport=transport,
        flow_control=flow_control,
        ecn=ecn,
        qps=qps,
    )
    if trace and out is None:
        message = "trace: a trace is written to a folder; give --out as well"
        raise SpecError(message)
    brought = _brought(scenario, topology, flows, config)
    if brought is not None and routes is not None:
        message = "routes: they are for a scenario's switches; leave them out, or bring a scenario"
        raise SpecError(message)
    if brought is None:
        found = _of_scenario(
            scenario,
            technology,
            engine,
            choices,
            own=own,
            routes=routes,
            until=until,
            seeds=(seed, seeds),
            trace=trace,
        )
    else:
        case = _brought_case(brought, technology, engine, choices, own=own)
        if not until and brought.config is not None and brought.config.stop_s is not None:
            until = f"{brought.config.stop_s}s"
        found = _run(case, until=until, seeds=(seed, seeds), trace=trace)
    node = None if brought is None else brought.node
    write_all(found, out=out, report=report, fct=fct, node=node)
    show(found, json=json, report=report)
    return Exit.PARTIAL if found.partial and not until else 0


def _brought(
    scenario: Path | None, topology: Path | None, flows: Path | None, config: Path | None
) -> ImportedCase | None:
    if topology is None and flows is None and config is None:
        return None
    if scenario is not None or topology is None or flows is None:
        message = "give a scenario, or --topology and --flows (and perhaps --config) together"
        raise SpecError(message)
    from netloom.formats.simulators.cases import import_case  # noqa: PLC0415

    return import_case(topology, flows, config)


def _of_scenario(  # noqa: PLR0913
    scenario: Path | None,
    technology: str,
    engine: Literal["packet", "flow"],
    choices: Choices,
    *,
    own: Path | None,
    routes: Path | None,
    until: str,
    seeds: tuple[int, int],
    trace: int,
) -> Simulation:
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.formats.infiniband.forwarding import read_routes  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.simulate.run import case_of  # noqa: PLC0415

    with scenario_at(scenario, built_in="incast-rocev2") as asked:
        if technology:
            fabric = asked.cluster.fabric.model_copy(update={"technology": technology})
            cluster = asked.cluster.model_copy(update={"fabric": fabric})
            asked = asked.model_copy(update={"cluster": cluster})  # noqa: PLW2901
        tables = None if routes is None else read_routes(routes)
        case = case_of(asked, catalog_of(asked, own), engine=engine, choices=choices, routes=tables)
        return _run(case, until=until, seeds=seeds, trace=trace)


def _brought_case(
    brought: ImportedCase,
    technology: str,
    engine: Literal["packet", "flow"],
    choices: Choices,
    *,
    own: Path | None,
) -> SimulationCase:
    """Return a case from files; an HPCC configuration takes the technology's place."""
    from netloom.parts.load import load_catalog  # noqa: PLC0415
    from netloom.study.simulate.choices import Choices  # noqa: PLC0415
    from netloom.study.simulate.run import SimulationCase, runner_on  # noqa: PLC0415

    part = load_catalog(own).technology(technology or "rocev2-400g")
    if brought.config is not None and engine == "packet":
        from netloom.formats.simulators.ns3_settings import (  # noqa: PLC0415
            HEADER_BYTES,
            case_notes,
            in_turn,
            packet_settings,
        )
        from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415

        if choices != Choices() or technology:
            message = (
                "--config says how everything behaves; drop --technology, --cc and their like, "
                "or the file"
            )
            raise SpecError(message)
        settings = packet_settings(brought.config, brought.wiring)
        settings = in_turn(settings, brought.transfers)
        runner: SimulationRunner = PacketRunner(
            wiring=brought.wiring,
            settings=settings,
            faults=brought.faults,
            hpcc_header_bytes=HEADER_BYTES,
        )
        name = "as configured"
        notes = case_notes(brought.config, brought.wiring, brought.transfers)
    else:
        if brought.config is not None:
            message = "--config sets up packets; flows know none of it: drop it, or --engine flow"
            raise SpecError(message)
        runner, notes = _with_queues(
            runner_on(brought.wiring, part, engine=engine, choices=choices, faults=brought.faults),
            brought.queue_bytes,
        )
        name = part.name
    transfers = brought.transfers_on(part)
    return SimulationCase(
        title=f"{brought.simulator} case on {brought.wiring.num_endpoints:,} hosts",
        technology=name,
        runner=runner,
        traffic=lambda _seed: transfers,
        notes=(*brought.notes, *notes),
    )


def _with_queues(
    runner: SimulationRunner, queue_bytes: tuple[int, ...]
) -> tuple[SimulationRunner, tuple[str, ...]]:
    """Bound the switches' queues as files say, and say where that is not possible."""
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415

    if not queue_bytes:
        return runner, ()
    bounded = runner.with_queues(queue_bytes) if isinstance(runner, PacketRunner) else None
    if bounded is None:
        return runner, ("queue sizes of the .topo file are not used: nothing is dropped here",)
    return bounded, ()


def _run(case: SimulationCase, *, until: str, seeds: tuple[int, int], trace: int) -> Simulation:
    import resource  # noqa: PLC0415
    from time import perf_counter  # noqa: PLC0415

    from netloom.cli.design.simulate_output import announce  # noqa: PLC0415
    from netloom.cli.design.simulate_progress import Watcher, watching  # noqa: PLC0415
    from netloom.study.simulate.run import run_case, traced  # noqa: PLC0415
    from netloom.units import TIME, parse_quantity  # noqa: PLC0415

    first, count = seeds
    if count < 1 or first < 0:
        message = f"seeds: {count} from {first}; give at least 1, from 0 on"
        raise SpecError(message)
    case = traced(case, trace) if trace else case
    until_ps = round(parse_quantity(until, TIME, where="until") * 1e12) if until else None
    num_workers = _workers(case, range(first, first + count))
    announce(case, first)
    unit = "flows" if case.runner.name == "flow" else "events"
    watcher = Watcher(unit=unit, total=0, num_runs=count)
    watcher.until_ps = until_ps or 0
    with watching(watcher):
        found = run_case(
            case,
            seeds=range(first, first + count),
            until_ps=until_ps,
            on_progress=watcher,
            on_share=watcher.tell,
            clock=perf_counter,
            num_workers=num_workers,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return replace(found, peak_rss_bytes=peak)


def _workers(case: SimulationCase, seeds: range) -> int:
    """Return how many seeds run at a time: on all cores, but no more than memory has room for."""
    import os  # noqa: PLC0415
    import sys  # noqa: PLC0415

    from netloom.engines.memory import available_bytes  # noqa: PLC0415
    from netloom.study.simulate.memory import need_of  # noqa: PLC0415

    cores = min(os.cpu_count() or 1, len(seeds))
    need = need_of(case.runner, case.traffic(seeds[0]))
    fit = need.most_workers(available_bytes(), num_runs=len(seeds))
    if 0 < fit < cores:
        print(f"netloom: {fit} seeds at a time, for want of memory", file=sys.stderr)
    return min(cores, max(fit, 1))
