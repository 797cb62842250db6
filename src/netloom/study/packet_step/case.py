"""One optimizer step of a scenario's job, ready to run packet by packet."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError, SpecError
from netloom.step.schedule import Traffic
from netloom.study.inputs import catalog_of
from netloom.study.packet_step.phases import StepMeasure
from netloom.study.packet_step.program import stage_programs
from netloom.study.packet_step.unrolled import unroll
from netloom.study.predict.engines import engine_of
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.memory import need_of
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import DrawnTraffic, case_on
from netloom.study.trace.traces import step_traces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.run import SimulationCase
    from netloom.study.trace.traces import StepTraces
    from netloom.workload.transfers import Transfers

__all__ = ["MAX_BYTES", "step_case"]

_GIB: Final = 1 << 30
MAX_BYTES: Final = 8 * _GIB


def step_case(  # noqa: PLR0913  (what the command line takes)
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    choices: Choices | None = None,
    routes: Mapping[str, Mapping[str, int]] | None = None,
    stragglers: Mapping[int, float] | None = None,
    folds: bool = True,
    skips: bool = True,
) -> SimulationCase:
    """Return one step of the job of *scenario*, all of it, for packets.

    Args:
        scenario: A cluster and its job.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        choices: What to use instead of the technology's own.
        routes: For each switch by name the port towards each NIC port by name.
        stragglers: GPUs whose computation takes this many times as long.
        folds: Whether one of equal components is run for all of them.
        skips: Whether, then, messages that meet no other take their time alone.

    Raises:
        NetloomError: the job or the network is impossible, or too large; nothing has run yet.
    """
    if scenario.traffic is not None:
        raise SpecError(
            key="traffic", what="a step is of a job", remedy="leave it out, or drop --step"
        )
    parts = catalog or catalog_of(scenario)
    traces = step_traces(scenario, parts, num_ranks=1)
    network = traces.prediction.network
    _check_stragglers(stragglers or {}, network.design.num_gpus)
    traffic = _closed_form(traces)
    work = unroll(stage_programs(traces, traffic), traces.plan, stragglers=stragglers)

    @lru_cache(maxsize=1)
    def drawn(seed: int) -> Transfers:
        return work.transfers(seed)

    chosen = choices or Choices()
    if not chosen.settings and scenario.cluster.fabric.settings:
        chosen = replace(chosen, settings=scenario.cluster.fabric.settings)
    case = case_on(
        network,
        scenario,
        parts,
        DrawnTraffic(transfers=drawn, jobs=work.names, notes=_notes(traffic)),
        engine="packet",
        choices=chosen,
        routes=routes,
    )
    assert isinstance(case.runner, PacketRunner), case.runner
    case = replace(case, runner=replace(case.runner, folds=folds, skips=skips))
    _check_memory(case)
    step = traces.prediction.step
    return replace(case, step=StepMeasure(work=work, step=step, traffic=traffic))


def _check_memory(case: SimulationCase) -> None:
    need = need_of(case.runner, case.traffic(0)).peak_bytes(num_runs=1, num_workers=1)
    if need > MAX_BYTES:
        raise InfeasibleError(
            key="memory",
            what=f"the step would need about {need / _GIB:,.1f} GiB, and {MAX_BYTES / _GIB:g} are "
            "the most that a step may take",
            remedy="use fewer micro-batches or a smaller cluster, or 'netloom predict'",
        )


def _closed_form(traces: StepTraces) -> Traffic:
    """Return how long every collective of the step takes in closed form."""
    engine = engine_of("analytic", seed=0)
    items = tuple(
        dict.fromkeys(item for work in traces.stages for item in work.demand.communications)
    )
    network = traces.prediction.network
    return Traffic(
        communications=items,
        durations_s={
            what: engine.run(what, network).duration_s
            for what in dict.fromkeys(item.collective for item in items)
        },
        practice=traces.prediction.step.practice,
    )


def _check_stragglers(stragglers: Mapping[int, float], num_gpus: int) -> None:
    for gpu, factor in stragglers.items():
        if not 0 <= gpu < num_gpus:
            raise SpecError(
                key="stragglers", what=f"there is no GPU {gpu}", remedy=f"give 0 to {num_gpus - 1}"
            )
        if not 1 <= factor <= 1000:
            raise SpecError(
                key="stragglers",
                what=f"GPU {gpu} takes {factor:g} times as long",
                remedy="give 1 to 1000",
            )


def _notes(traffic: Traffic) -> tuple[str, ...]:
    inside = [item for item in traffic.communications if not traffic.is_between_nodes(item)]
    axes = ", ".join(dict.fromkeys(item.axis.value for item in inside))
    whole = (
        "a whole step: all micro-batches, computation as time, everything that crosses a NIC in "
        "packets"
    )
    inner = (
        f"collectives inside nodes ({axes}) take their time in closed form: nothing else uses "
        "those links meanwhile, and the closed form knows what the library costs"
    )
    return (whole, inner) if axes else (whole,)
