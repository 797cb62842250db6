"""One optimizer step of a scenario's job, ready to run packet by packet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from netloom.engines.packet.known.lanes import lane_image
from netloom.errors import InfeasibleError, SpecError
from netloom.step.schedule import Traffic
from netloom.study.inputs import catalog_of
from netloom.study.packet_step.phases import StepMeasure
from netloom.study.packet_step.program import stage_programs
from netloom.study.packet_step.unrolled import count_messages, unroll
from netloom.study.predict.engines import engine_of
from netloom.study.simulate.case import DRAWN, EqualLanes, apart_note
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.memory import need_of
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import DrawnTraffic, case_on
from netloom.study.trace.traces import step_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netloom.engines.packet.states import StateStore
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.packet_step.program import StageProgram
    from netloom.study.packet_step.unrolled import StepWork
    from netloom.study.simulate.run import SimulationCase
    from netloom.study.trace.traces import StepTraces
    from netloom.workload.transfers import Transfers

__all__ = ["MAX_BYTES", "step_case"]

_GIB: Final = 1 << 30
MAX_BYTES: Final = 8 * _GIB
MAX_APART: Final = 1_000_000


def step_case(  # noqa: PLR0913  (what the command line takes)
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    choices: Choices | None = None,
    routes: Mapping[str, Mapping[str, int]] | None = None,
    stragglers: Mapping[int, float] | None = None,
    folds: bool = True,
    skips: bool = True,
    lanes_from: int = MAX_APART,
    states: StateStore | None = None,
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
        lanes_from: Messages above which one of equal lanes stands for all, and tables are of it.
        states: Where runs are kept, and gone on with if they were stopped.

    Raises:
        NetloomError: the job or the network is impossible, or too large; nothing has run yet.
    """
    if scenario.traffic is not None:
        raise SpecError(
            key="traffic", what="a step is of a job", remedy="leave it out, or drop --step"
        )
    parts = catalog or catalog_of(scenario)
    traces = step_traces(scenario, parts, num_ranks=1)
    _check_stragglers(stragglers or {}, traces.prediction.network.design.num_gpus)
    chosen = choices or Choices()
    if not chosen.settings and scenario.cluster.fabric.settings:
        chosen = replace(chosen, settings=scenario.cluster.fabric.settings)
    traffic = _closed_form(traces)

    def case_on_network(drawn: DrawnTraffic) -> SimulationCase:
        return case_on(
            traces.prediction.network,
            scenario,
            parts,
            drawn,
            engine="packet",
            choices=chosen,
            routes=routes,
        )

    maker = _CaseMaker(
        case_on=case_on_network,
        traces=traces,
        traffic=traffic,
        programs=stage_programs(traces, traffic),
        stragglers=stragglers or {},
        folds=folds,
        skips=skips,
        states=states,
    )
    case = maker.of_lanes() if folds and maker.num_messages > lanes_from else maker.whole()
    _check_memory(case)
    return case


@dataclass(frozen=True, slots=True, kw_only=True)
class _CaseMaker:
    """Makes cases of a step, with all its lanes or with one."""

    case_on: Callable[[DrawnTraffic], SimulationCase]
    traces: StepTraces
    traffic: Traffic
    programs: Sequence[StageProgram]
    stragglers: Mapping[int, float]
    folds: bool
    skips: bool
    states: StateStore | None

    @property
    def num_messages(self) -> int:
        return count_messages(self.programs, self.traces.plan)

    def of_lanes(self) -> SimulationCase:
        """Return a case of one lane that stands for all, where they are equal; else of all."""
        work = unroll(self.programs, self.traces.plan, stragglers=self.stragglers, one_lane=True)
        if work.num_lanes == 1:
            return self._with(work)
        case = self._with(work)
        runner = case.runner
        assert isinstance(runner, PacketRunner), runner
        image = lane_image(
            runner.wiring,
            case.traffic(0),
            runner.settings,
            runner.faults,
            num_lanes=work.num_lanes,
        )
        if image.reason:
            return self.whole(image.reason)
        lanes = EqualLanes(count=work.num_lanes, link=image.link, whole=partial(self.whole, DRAWN))
        return replace(case, lanes=lanes)

    def whole(self, reason: str = "") -> SimulationCase:
        """Return a case of all lanes.

        Args:
            reason: Why one does not stand for all.

        Raises:
            InfeasibleError: they are too many messages.
        """
        plan = self.traces.plan
        work = unroll(self.programs, plan, stragglers=self.stragglers, apart=reason)
        case = self._with(work)
        if not reason:
            return case
        return replace(case, notes=(*case.notes, apart_note(reason)))

    def _with(self, work: StepWork) -> SimulationCase:
        @lru_cache(maxsize=1)
        def drawn(seed: int) -> Transfers:
            return work.transfers(seed)

        case = self.case_on(
            DrawnTraffic(transfers=drawn, jobs=work.names, notes=_notes(self.traffic))
        )
        assert isinstance(case.runner, PacketRunner), case.runner
        measure = StepMeasure(work=work, step=self.traces.prediction.step, traffic=self.traffic)
        runner = replace(
            case.runner,
            folds=self.folds and work.num_lanes == 1,
            skips=self.skips,
            states=self.states,
        )
        return replace(case, step=measure, runner=runner)


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
