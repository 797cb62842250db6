"""Traffic of a scenario, or of another simulator's files, run on the cores of this machine."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.memory import available_bytes
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.study.inputs import catalog_of
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.memory import need_of
from netloom.study.simulate.run import SimulationCase, case_of, run_case, runner_on, traced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.engines.base import Engine
    from netloom.engines.packet.states import StateStore
    from netloom.formats.simulators.case import ImportedCase
    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.results.state_file import StateFile
    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.run import EngineName
    from netloom.study.simulate.runner import SimulationRunner
    from netloom.study.simulate.simulation import Simulation

__all__ = [
    "CaseFiles",
    "PreparedCase",
    "StepOptions",
    "fct_text",
    "prepare",
    "resumed",
    "run_told",
    "simulate",
    "stragglers_of",
    "workers_for",
]

MILLE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFiles:
    """Another simulator's files.

    Attributes:
        topology: Of htsim (``.topo``) or of HPCC's ns-3.
        flows: htsim's ``.cm``, or HPCC's flow file.
        config: HPCC's ``config.txt``: its congestion control, buffers and marking.
    """

    topology: Path
    flows: Path
    config: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedCase:
    """Something to simulate, checked.

    Attributes:
        node: The number that files give each vertex; None for a scenario.
        stop_s: Where the files say to stop; None where they do not.
    """

    case: SimulationCase
    node: NDArray[np.int64] | None = None
    stop_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions:
    """How a whole step is run.

    Attributes:
        stragglers: GPUs whose computation takes this many times as long.
        folds: Whether one of equal components is run for all of them.
        skips: Whether, then, messages that meet no other take their time alone.
        states: Where runs are kept, and gone on with if they were stopped.
    """

    stragglers: Mapping[int, float] = field(default_factory=dict)
    folds: bool = True
    skips: bool = True
    states: StateStore | None = None


def simulate(  # noqa: PLR0913  (a facade: what the command line takes)
    scenario: Scenario | None = None,
    catalog: Catalog | None = None,
    *,
    topology: str | os.PathLike[str] | None = None,
    flows: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    engine: Engine | str = "packet",
    technology: str = "",
    choices: Choices | None = None,
    routes: str | os.PathLike[str] | None = None,
    seeds: Sequence[int] = (0,),
    until_s: float | None = None,
    trace: int = 0,
    step: bool | StepOptions = False,
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> Simulation:
    """Run the traffic of a scenario, or of another simulator's files, and return what came of it.

    >>> import netloom as nl
    >>> nl.simulate(nl.example("incast-rocev2")).to_json()["fct_s"]["p99"]  # doctest: +SKIP
    >>> nl.simulate(topology="leaf.topo", flows="incast.cm", engine="flow")  # doctest: +SKIP

    Args:
        scenario: A cluster and its traffic; not with *topology*.
        catalog: The parts; default: the shipped ones and the scenario's own.
        topology: A topology of htsim (``.topo``) or of HPCC's ns-3.
        flows: What is sent on it: htsim's ``.cm``, or HPCC's flow file.
        config: HPCC's ``config.txt``.
        engine: ``packet``, ``flow``, or an engine of that name.
        technology: In place of the scenario's; default with *topology*: rocev2-400g.
        choices: What to use instead of the technology's own.
        routes: Forwarding tables as OpenSM dumps them; of a scenario only.
        seeds: One run for each.
        until_s: Stop here, with the results so far; default: where *config* says.
        trace: Keep the first departures of packets, this many.
        step: Run one whole optimizer step of the scenario's job, and how.
        workers: Threads: for seeds and, where there are fewer of these, for components of a packet
            run that share nothing. Results are the same whatever their number.
        on_progress: Told how much of a run's payload has arrived, in thousandths, and 1000; an
            answer that is true stops the run.

    Raises:
        NetloomError: the traffic or the network is impossible; nothing has run then.
    """
    prepared = prepare(
        scenario,
        catalog,
        files=files_of(topology, flows, config),
        engine=engine,
        technology=technology,
        choices=choices,
        routes=None if routes is None else Path(routes),
        step=StepOptions() if step is True else step or None,
    )
    case = traced(prepared.case, trace) if trace else prepared.case
    stop_s = prepared.stop_s if until_s is None else until_s
    return run_told(case, seeds=seeds, until_s=stop_s, workers=workers, on_progress=on_progress)


def run_told(
    case: SimulationCase,
    *,
    seeds: Sequence[int],
    until_s: float | None = None,
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> Simulation:
    """Run a case and tell the share of its payload that has arrived, in thousandths."""
    share = 0.0

    def arrived(now: float) -> None:
        nonlocal share
        share = now

    def told(_ps: int, _count: int) -> bool:
        return on_progress is not None and bool(on_progress(round(MILLE * share), MILLE))

    return run_case(
        case,
        seeds=seeds,
        until_ps=None if until_s is None else round(until_s * 1e12),
        on_progress=told,
        on_share=arrived,
        num_workers=workers,
    )


def files_of(
    topology: str | os.PathLike[str] | None,
    flows: str | os.PathLike[str] | None,
    config: str | os.PathLike[str] | None,
) -> CaseFiles | None:
    """Return the files of a case; None where none is named.

    Raises:
        SpecError: some are, but not both topology and flows.
    """
    if topology is None and flows is None and config is None:
        return None
    if topology is None or flows is None:
        raise SpecError(_EITHER)
    return CaseFiles(
        topology=Path(topology),
        flows=Path(flows),
        config=None if config is None else Path(config),
    )


_EITHER = "give a scenario, or --topology and --flows (and perhaps --config) together"


def prepare(  # noqa: PLR0913
    scenario: Scenario | None = None,
    catalog: Catalog | None = None,
    *,
    files: CaseFiles | None = None,
    engine: Engine | str = "packet",
    technology: str = "",
    choices: Choices | None = None,
    routes: Path | None = None,
    step: StepOptions | None = None,
) -> PreparedCase:
    """Return a case that is ready to run, of a scenario or of files; as :func:`simulate`.

    Raises:
        NetloomError: both or neither are given, or something is wrong with them.
    """
    name: EngineName = engine if isinstance(engine, str) else engine.name  # type: ignore[assignment]
    if files is not None:
        if scenario is not None:
            raise SpecError(_EITHER)
        if routes is not None:
            raise SpecError(
                key="routes",
                what="they are for a scenario's switches",
                remedy="leave them out, or bring a scenario",
            )
        return _of_files(files, catalog, name, technology, choices or Choices())
    if scenario is None:
        raise SpecError(_EITHER)
    asked = _on(scenario, technology) if technology else scenario
    if step is not None:
        return PreparedCase(case=_of_step(asked, catalog, name, choices, routes, step))
    case = case_of(
        asked,
        catalog or catalog_of(asked),
        engine=name,
        choices=choices,
        routes=_routes(routes),
    )
    return PreparedCase(case=case)


def _of_step(
    scenario: Scenario,
    catalog: Catalog | None,
    engine: EngineName,
    choices: Choices | None,
    routes: Path | None,
    step: StepOptions,
) -> SimulationCase:
    if engine != "packet":
        raise SpecError(
            key="step", what="a whole step runs in packets", remedy="leave out --engine flow"
        )
    from netloom.study.packet_step.case import step_case  # noqa: PLC0415  (of a step alone)

    return step_case(
        scenario,
        catalog,
        choices=choices,
        routes=_routes(routes),
        stragglers=step.stragglers,
        folds=step.folds,
        skips=step.skips,
        states=step.states,
    )


def _routes(path: Path | None) -> Mapping[str, Mapping[str, int]] | None:
    if path is None:
        return None
    from netloom.formats.infiniband.forwarding import read_routes  # noqa: PLC0415  (rarely asked)

    return read_routes(path)


@contextmanager
def resumed(path: Path | None, *, step: bool) -> Iterator[StateFile | None]:
    """Give the file that runs of a step are kept in, if one is named.

    Raises:
        SpecError: there is no step.
        OutputError: the file cannot be used.
    """
    if path is None:
        yield None
        return
    if not step:
        raise SpecError(key="resume", what="only a step is kept", remedy="give --step as well")
    from netloom.results.state_file import StateFile  # noqa: PLC0415  (rarely asked)

    with StateFile(path, version=version("netloom"), clock=perf_counter) as states:
        yield states


def stragglers_of(texts: Sequence[str], *, step: bool = True) -> dict[int, float]:
    """Return the GPUs that compute longer, and how many times, from texts such as ``7=1.2``.

    Raises:
        SpecError: a text is no such pair, or there is no step.
    """
    if texts and not step:
        raise SpecError(
            key="straggler", what="only a step has computation", remedy="give --step as well"
        )
    found = {}
    for text in texts:
        gpu, _, factor = text.partition("=")
        try:
            found[int(gpu)] = float(factor)
        except ValueError as error:
            raise SpecError(
                key="straggler", what=f"{text!r} is no GPU", remedy="write GPU=FACTOR, as in 7=1.2"
            ) from error
    return found


def workers_for(case: SimulationCase, seeds: Sequence[int]) -> tuple[int, bool]:
    """Return how many threads to run on, and whether memory has room for fewer seeds than cores."""
    cores = os.cpu_count() or 1
    need = need_of(case.runner, case.traffic(seeds[0]))
    fit = need.most_workers(available_bytes(), num_runs=len(seeds))
    is_short = 0 < fit < min(cores, len(seeds))
    return fit if is_short else cores if fit else 1, is_short


def fct_text(found: Simulation, node: NDArray[np.int64] | None = None) -> str:
    """Return completion times in the columns of HPCC's ``fct.txt``; vertices are called *node*."""
    from netloom.formats.simulators.ns3 import write_fct  # noqa: PLC0415  (rarely asked)

    run = found.first
    return write_fct(
        run.transfers,
        np.arange(len(found.grid.name)) if node is None else node,
        start_ps=run.delivery.start_ps,
        finish_ps=run.delivery.finish_ps,
        ideal_ps=run.ideal_ps,
    )


def _on(scenario: Scenario, technology: str) -> Scenario:
    fabric = scenario.cluster.fabric.model_copy(update={"technology": technology})
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    return scenario.model_copy(update={"cluster": cluster})


def _of_files(
    files: CaseFiles,
    catalog: Catalog | None,
    engine: EngineName,
    technology: str,
    choices: Choices,
) -> PreparedCase:
    """Return a case from files; an HPCC configuration takes the technology's place."""
    from netloom.app.cases import import_case  # noqa: PLC0415  (of files alone)

    brought = import_case(files.topology, files.flows, files.config)
    part = (catalog or load_catalog()).technology(technology or "rocev2-400g")
    if brought.config is None:
        name = part.name
        runner, notes = _with_queues(
            runner_on(brought.wiring, part, engine=engine, choices=choices, faults=brought.faults),
            brought.queue_bytes,
        )
    else:
        _check_configured(engine, technology, choices)
        name = "as configured"
        runner, notes = _configured(brought)
    transfers = brought.transfers_on(part)
    case = SimulationCase(
        title=f"{brought.simulator} case on {brought.wiring.num_endpoints:,} hosts",
        technology=name,
        runner=runner,
        traffic=lambda _seed: transfers,
        notes=(*brought.notes, *notes),
    )
    stop_s = None if brought.config is None else brought.config.stop_s
    return PreparedCase(case=case, node=brought.node, stop_s=stop_s)


def _check_configured(engine: str, technology: str, choices: Choices) -> None:
    if engine != "packet":
        raise SpecError(
            what="--config sets up packets",
            remedy="flows know none of it: drop it, or --engine flow",
        )
    if choices != Choices() or technology:
        raise SpecError(
            what="--config says how everything behaves",
            remedy="drop --technology, --cc and their like, or the file",
        )


def _configured(brought: ImportedCase) -> tuple[SimulationRunner, tuple[str, ...]]:
    """Return what runs packets as an HPCC configuration says, and what to know of it."""
    from netloom.formats.simulators import ns3_settings as ns3  # noqa: PLC0415  (of files alone)
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    assert brought.config is not None
    settings = ns3.in_turn(ns3.packet_settings(brought.config, brought.wiring), brought.transfers)
    runner = PacketRunner(
        wiring=brought.wiring,
        settings=settings,
        faults=brought.faults,
        hpcc_header_bytes=ns3.HEADER_BYTES,
    )
    return runner, tuple(ns3.case_notes(brought.config, brought.wiring, brought.transfers))


def _with_queues(
    runner: SimulationRunner, queue_bytes: tuple[int, ...]
) -> tuple[SimulationRunner, tuple[str, ...]]:
    """Bound the switches' queues as files say, and say where that is not possible."""
    if not queue_bytes:
        return runner, ()
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    bounded = runner.with_queues(queue_bytes) if isinstance(runner, PacketRunner) else None
    if bounded is None:
        return runner, ("queue sizes of the .topo file are not used: nothing is dropped here",)
    return bounded, ()
