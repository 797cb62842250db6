"""A measured step beside its prediction: where they differ, and what explains it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Any

from netloom.errors import SpecError
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.explain.causes import Cause, StepEvidence, causes_of, logged_causes
from netloom.study.explain.phases import predicted_phases, recorded_step
from netloom.study.explain.rates import CollectiveRate, rates_of
from netloom.study.explain.timers import timed_lines
from netloom.study.explain.variants import Variant, recomputing, variants_of
from netloom.study.inputs import catalog_of
from netloom.study.predict.prediction import Prediction, predict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Recompute, Scenario
    from netloom.study.explain.logged import LoggedSteps
    from netloom.study.explain.phases import RecordedStep
    from netloom.study.explain.timeline import RankTimeline

__all__ = ["Explanation", "PhaseLine", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLine:
    """One phase; None where one side does not know it."""

    phase: str
    predicted_s: float | None
    measured_s: float | None

    @property
    def difference_s(self) -> float | None:
        """Measured less predicted."""
        if self.measured_s is None or self.predicted_s is None:
            return None
        return self.measured_s - self.predicted_s

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "phase": self.phase,
            "predicted_s": self.predicted_s,
            "measured_s": self.measured_s,
            "difference_s": self.difference_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Tabular):
    """Why a step takes as long as it does.

    Attributes:
        measured_s: The step.
        lines: Phase by phase; empty where only the step's time is known.
        causes: What explains the difference, worth most first.
        rates: The recorded collectives beside their prediction.
        variants: What the step would be with one thing changed, nearest to the measured first.
    """

    prediction: Prediction
    measured_s: float
    lines: tuple[PhaseLine, ...]
    causes: tuple[Cause, ...]
    rates: tuple[CollectiveRate, ...]
    variants: tuple[Variant, ...]

    def __repr__(self) -> str:
        """Return one line."""
        predicted_s = self.prediction.step.duration_s
        named = ", ".join(one.name for one in self.causes) or "no cause named"
        return f"<Explanation {self.measured_s:.4g} s for {predicted_s:.4g} predicted: {named}>"

    def table(self) -> Table:
        """Return the phases, one row each."""
        return Table.from_rows(one.to_json() for one in self.lines)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        step = self.prediction.step
        return {
            "measured_s": self.measured_s,
            "predicted_s": step.duration_s,
            "difference_s": self.measured_s - step.duration_s,
            "lines": [one.to_json() for one in self.lines],
            "causes": [
                {"name": one.name, "what": one.what, "remedy": one.remedy, "worth_s": one.worth_s}
                for one in self.causes
            ],
            "collectives": [
                {
                    "operation": one.operation,
                    "size_bytes": one.size_bytes,
                    "ranks": one.num_ranks,
                    "per_step": one.num,
                    "recorded_s": one.recorded_s,
                    "predicted_s": one.predicted_s,
                    "exposed_s": one.exposed_s,
                }
                for one in self.rates
            ],
            "variants": [
                {"change": one.change, "step_time_s": one.step_s, "off": one.off}
                for one in self.variants
            ],
            "validity": step.validity.to_json(),
        }


def explain(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    measured_s: float | None = None,
    traces: Sequence[RankTimeline] = (),
    log: LoggedSteps | None = None,
) -> Explanation:
    """Return why a step of *scenario* takes as long as it was measured to.

    Give one of them: the time alone, traces (one a rank), or a log with timers.

    Args:
        scenario: What was run.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        measured_s: How long a step took.
        traces: What profilers recorded.
        log: What the training program logged.

    Raises:
        SpecError: none of them is given, or several, or a scenario does not describe the run.
    """
    parts = catalog or catalog_of(scenario)
    _check_one(measured_s, traces, log)
    prediction = predict(scenario, parts)
    if traces:
        return _from_traces(prediction, traces, parts)
    lines: tuple[PhaseLine, ...] = ()
    causes: tuple[Cause, ...] = ()
    if log is not None:
        measured_s = log.step_s
        stages = scenario.job.parallel.pipeline
        causes = logged_causes(log, prediction.network.design.num_gpus // stages)
        lines = tuple(PhaseLine(**one) for one in timed_lines(prediction.step, log))
    assert measured_s is not None  # one of the three is given
    return Explanation(
        prediction=prediction,
        measured_s=measured_s,
        lines=lines,
        causes=causes,
        rates=(),
        variants=variants_of(scenario, parts, measured_s=measured_s),
    )


def _check_one(
    measured_s: float | None, traces: Sequence[RankTimeline], log: LoggedSteps | None
) -> None:
    given = [measured_s is not None, bool(traces), log is not None]
    if sum(given) != 1:
        raise SpecError(
            option="--measured",
            what=f"{sum(given)} ways to say how long the step took",
            remedy="give one of --measured, --trace and --log",
        )


def _from_traces(
    prediction: Prediction, traces: Sequence[RankTimeline], parts: Catalog
) -> Explanation:
    parallel = prediction.scenario.job.parallel
    ranks = [recorded_step(one, parallel) for one in traces]
    middle = _middle(ranks)
    predicted_s = predicted_phases(prediction.step)
    rates = rates_of(traces, middle, prediction.scenario.job, prediction.network)
    evidence = StepEvidence(
        ranks=ranks,
        step=middle,
        predicted_s=predicted_s,
        predicted_communication_s=prediction.step.communication_s,
        recompute=_stated(prediction.scenario),
        recompute_s=_recompute_s(prediction, parts),
        rates=rates,
    )
    phases = dict.fromkeys((*predicted_s, *middle.phases_s))
    lines = (
        PhaseLine(
            phase=phase,
            predicted_s=predicted_s.get(phase, 0.0),
            measured_s=middle.phases_s.get(phase, 0.0),
        )
        for phase in phases
    )
    return Explanation(
        prediction=prediction,
        measured_s=middle.duration_s,
        lines=tuple(one for one in lines if one.predicted_s or one.measured_s),
        causes=causes_of(evidence),
        rates=rates,
        variants=(),
    )


def _middle(ranks: Sequence[RecordedStep]) -> RecordedStep:
    """Return the rank whose computation is the median, which says most about the others."""
    middle_s = median_low(one.compute_s for one in ranks)
    return next(one for one in ranks if one.compute_s == middle_s)


def _stated(scenario: Scenario) -> Recompute:
    """Return what the scenario says of attention that is computed twice."""
    modules = scenario.job.software.recompute_modules
    if modules is None:
        return scenario.job.trained.recompute
    return "selective" if "core_attn" in modules else "none"


def _recompute_s(prediction: Prediction, parts: Catalog) -> float:
    """Return how much longer the step is predicted with whole layers computed twice."""
    scenario = prediction.scenario
    twice = predict(recomputing(scenario, "full"), parts)
    return twice.step.duration_s - prediction.step.duration_s
