"""``netloom simulate``."""

from __future__ import annotations

import resource
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from netloom.app.simulate import (
    CaseFiles,
    PreparedCase,
    StepOptions,
    files_of,
    prepare,
    resumed,
    stragglers_of,
    workers_for,
)
from netloom.cli.arguments import Whole
from netloom.cli.design.simulate_output import announce, write_all
from netloom.cli.design.simulate_progress import Watcher, watching
from netloom.cli.exits import Exit
from netloom.cli.options import OwnParts, PageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Scenario
from netloom.study.inputs import catalog_of
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.jitter import jittered
from netloom.study.simulate.run import run_case, traced
from netloom.study.simulate.simulation import Simulation
from netloom.units import TIME, parse_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["simulate"]


def simulate(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    engine: Literal["packet", "flow"] = "packet",
    step: bool = False,
    straggler: tuple[str, ...] = (),
    full: bool = False,
    resume: Path | None = None,
    topology: Path | None = None,
    flows: Path | None = None,
    config: Path | None = None,
    technology: str = "",
    cc: str = "",
    load_balancing: str = "",
    transport: str = "",
    flow_control: str = "",
    ecn: str = "",
    settings: str = "",
    qps: Whole = 0,
    routes: Path | None = None,
    until: str = "",
    seed: Whole = 0,
    seeds: Whole = 1,
    jitter: str = "",
    out: Path | None = None,
    fct: Path | None = None,
    trace: Whole = 0,
    own: OwnParts = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Simulate traffic on a network, packet by packet or as flows.

    Ctrl-C ends a run with the results so far, marked partial; the exit code is then 3.

    Args:
        scenario: A scenario file with 'traffic'; default: the example 'incast-rocev2'.
        engine: packet: queues, pauses, marks and losses are seen. flow: larger, faster.
        step: Run one whole optimizer step of the scenario's job, beside its prediction.
        straggler: With --step, a GPU that computes longer, such as 7=1.2; may be repeated.
        full: With --step, move every packet, also of what is equal to others or alone.
        resume: With --step, keep the run in this file, and go on where it stopped.
        topology: Instead of a scenario, a topology of htsim (.topo) or of HPCC's ns-3.
        flows: What is sent on it: htsim's .cm, or HPCC's flow file.
        config: HPCC's config.txt, for its congestion control, buffers and marking.
        technology: Use this one instead of the scenario's; default with a topology: rocev2-400g.
        cc: Congestion control instead of the technology's, such as dcqcn, hpcc or none.
        load_balancing: Instead of the technology's, such as ecmp, adaptive, spray or reps.
        transport: What end points do about loss and order, such as rc, irn, uet or ndp.
        flow_control: Instead of the technology's: pfc, credits, trimming or none.
        ecn: Marking as Kmin-Kmax-Pmax, such as 100KB-400KB-20%, or off.
        settings: Published marks and congestion control by name, such as dcqcn-paper.
        qps: Connections that each transfer is spread over.
        routes: Forwarding tables to use, as OpenSM or dump_lfts dumps them (opensm-lfts.dump).
        until: Stop the simulated clock here, such as 2ms.
        seed: Draws traffic, paths and marks; equal seeds give equal results.
        seeds: Run this many seeds from SEED on, on all cores, with confidence intervals.
        jitter: Draw starts within this time; default: 2us with several seeds, else none.
        out: Write all tables into this folder as Arrow files.
        fct: Write completion times to this file in the columns of HPCC's fct.txt.
        trace: Keep the first departures of packets, this many, in OUT's trace.arrow.
    """
    choices = Choices(
        congestion_control=cc,
        load_balancing=load_balancing,
        transport=transport,
        flow_control=flow_control,
        ecn=ecn,
        settings=settings,
        qps=qps,
    )
    if trace and out is None:
        raise SpecError(
            key="trace", what="a trace is written to a folder", remedy="give --out as well"
        )
    files = files_of(topology, flows, config)
    slow = stragglers_of(straggler, step=step)
    asking = partial(
        prepare,
        engine=engine,
        technology=technology,
        choices=choices,
        routes=routes,
    )
    with resumed(resume, step=step) as states, _asked(scenario, files) as asked:
        catalog = load_catalog(own) if asked is None else catalog_of(asked, own)
        how = StepOptions(stragglers=slow, folds=not full, skips=not full, states=states)
        prepared = asking(asked, catalog, files=files, step=how if step else None)
        prepared = _jittered(prepared, jitter or ("2us" if seeds > 1 else ""))
        stop_s = _stop_s(until, prepared)
        found = _run(prepared, stop_s=stop_s, seeds=range(seed, seed + seeds), trace=trace)
    write_all(found, out=out, fct=fct, node=prepared.node)

    def page() -> str:
        from netloom.report.simulate.page import simulation_page  # noqa: PLC0415  (charts)

        return simulation_page(found)

    def text() -> RenderableType:
        from netloom.report.simulate.text import simulation_text  # noqa: PLC0415  (rich)

        return simulation_text(found)

    code = show(found, output, text, page=page)
    return Exit.PARTIAL if found.partial and stop_s is None else code


def _asked(
    scenario: Path | None, files: CaseFiles | None
) -> AbstractContextManager[Scenario | None]:
    """Give the scenario; none where files of another simulator are named instead."""
    if scenario is None and files is not None:
        return nullcontext()
    return scenario_at(scenario, built_in="incast-rocev2")


def _jittered(prepared: PreparedCase, within: str) -> PreparedCase:
    """Draw starts within a time; a step's are set by what it computes."""
    if not within or prepared.case.step is not None:
        return prepared
    within_s = parse_quantity(within, TIME, where="jitter")
    return replace(prepared, case=jittered(prepared.case, within_s)) if within_s else prepared


def _stop_s(until: str, prepared: PreparedCase) -> float | None:
    return parse_quantity(until, TIME, where="until") if until else prepared.stop_s


def _run(prepared: PreparedCase, *, stop_s: float | None, seeds: range, trace: int) -> Simulation:
    if not seeds or seeds[0] < 0:
        raise SpecError(
            key="seeds",
            what=f"{len(seeds)} from {seeds.start}",
            remedy="give at least 1, from 0 on",
        )
    case = traced(prepared.case, trace) if trace else prepared.case
    num_workers, is_short = workers_for(case, seeds)
    if is_short:
        print(f"netloom: {num_workers} seeds at a time, for want of memory", file=sys.stderr)
    announce(case, seeds[0])
    unit = "flows" if case.runner.name == "flow" else "events"
    watcher = Watcher(unit=unit, total=0, num_runs=len(seeds))
    until_ps = None if stop_s is None else round(stop_s * 1e12)
    watcher.until_ps = until_ps or 0
    with watching(watcher):
        found = run_case(
            case,
            seeds=seeds,
            until_ps=until_ps,
            on_progress=watcher,
            on_share=watcher.tell,
            clock=perf_counter,
            num_workers=num_workers,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return replace(found, peak_rss_bytes=peak)
