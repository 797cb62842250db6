"""Take the residual parameters of the step model from measured steps.

At most five a GPU generation, by least error on the named rows
(:data:`~netloom.validation.steps.fitted.FITTED`); large errors count by their size and not by its
square, so that a few odd rows do not decide. :mod:`netloom.step.residual` and
:mod:`netloom.step.practices` hold what this found; a test fits again and compares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.engines.analytic import AnalyticEngine
from netloom.errors import NetloomError
from netloom.step.predict import predict
from netloom.step.residual import RESIDUALS, generation_of
from netloom.step.software import practice_named
from netloom.validation.steps.suite import predict_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.validation.steps.cases import StepCase
    from netloom.validation.steps.measured import MeasuredStep
    from netloom.workload.collective import Collective

__all__ = ["PARAMETERS", "Fit", "Parameter", "fit", "predicted_s", "shipped_values"]

# Errors well above this count by their size, those below by their square.
_SMALL: Final = 0.03
# Steps of the search, as shares of a parameter's range.
_FIRST_STEP: Final = 0.08
_LAST_STEP: Final = 0.004


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One number that is taken from step times.

    Attributes:
        name: A field of Residual, or of Practice.
        practice: The practice it belongs to; empty for a field of the generation's Residual.
        also: Practices that take it from that one.
        low: The least it can be.
        high: The most.
        start: Where the search begins; not the shipped value, so that it is found again.
    """

    name: str
    practice: str = ""
    also: tuple[str, ...] = ()
    low: float
    high: float
    start: float

    @property
    def key(self) -> str:
        """How results name it."""
        return f"{self.practice}: {self.name}" if self.practice else self.name


Fit = dict[str, float]

PARAMETERS: Final[Mapping[str, tuple[Parameter, ...]]] = {
    "ampere": (
        Parameter(name="compute", low=0.7, high=1.3, start=1.0),
        Parameter(name="flash_1", low=1.0, high=4.0, start=2.0),
        Parameter(
            name="host_s",
            practice="megatron-2022",
            also=("deepspeed",),
            low=0.2e-3,
            high=3e-3,
            start=1e-3,
        ),
        Parameter(name="drag", practice="fsdp-2023", low=0.0, high=1.0, start=0.5),
    ),
    "hopper": (
        Parameter(name="compute", low=0.7, high=1.3, start=1.0),
        Parameter(name="compute_fp8", low=0.7, high=1.4, start=1.0),
        Parameter(name="flash_1", low=1.0, high=6.0, start=2.0),
        Parameter(name="unfused", low=1.0, high=3.0, start=1.5),
        Parameter(
            name="tensor_hidden",
            practice="megatron-core-2024",
            also=("nemo",),
            low=0.0,
            high=1.0,
            start=0.5,
        ),
    ),
    "blackwell": (
        Parameter(name="on_blackwell", practice="megatron-core-2025", low=1.0, high=1.5, start=1.1),
        Parameter(name="flash_3", low=1.0, high=3.0, start=1.0),
    ),
    "gb200": (
        Parameter(name="compute", low=0.6, high=1.3, start=1.0),
        Parameter(name="compute_fp8", low=0.6, high=1.3, start=1.0),
        Parameter(name="compute_mxfp8", low=0.6, high=1.3, start=1.0),
        Parameter(name="compute_nvfp4", low=0.6, high=1.5, start=1.0),
        Parameter(name="on_blackwell", practice="nemo", low=1.0, high=1.4, start=1.1),
    ),
    "gb300": (
        Parameter(name="compute_fp8", low=0.6, high=1.3, start=1.0),
        Parameter(name="compute_mxfp8", low=0.6, high=1.3, start=1.0),
        Parameter(name="compute_nvfp4", low=0.6, high=1.5, start=1.0),
    ),
}


class _Remembering:
    """The analytic engine, asked once for each collective on each network."""

    name = "analytic"

    def __init__(self) -> None:
        self._engine = AnalyticEngine()
        # The network is kept beside the answer, so that its id stays its own.
        self._known: dict[tuple[Collective, int], tuple[Outcome, Network]] = {}

    def run(self, collective: Collective, network: Network) -> Outcome:
        """Return what the engine says."""
        key = (collective, id(network))
        if key not in self._known:
            self._known[key] = (self._engine.run(collective, network), network)
        return self._known[key][0]


def shipped_values(generation: str) -> Fit:
    """Return the parameters of *generation* as they are shipped."""
    return {
        one.key: float(
            getattr(
                practice_named(one.practice) if one.practice else RESIDUALS[generation], one.name
            )
        )
        for one in PARAMETERS[generation]
    }


def fit(rows: Iterable[MeasuredStep], catalog: Catalog, generation: str) -> Fit:
    """Return the parameters of *generation* that suit *rows* best.

    What no row depends on stays where the search begins.
    """
    engine = _Remembering()
    cases = [case for row in rows if (case := _case(row, catalog, engine, generation))]
    start = {one.key: one.start for one in PARAMETERS[generation]}
    if not cases:
        return start
    return _least(
        lambda values: _loss(cases, engine, generation, values), start, PARAMETERS[generation]
    )


def predicted_s(case: StepCase, engine: Engine, generation: str, values: Fit) -> float:
    """Return the step of *case* with the parameters *values*."""
    own: dict[str, Any] = {}
    software: dict[str, Any] = {}
    for one in PARAMETERS[generation]:
        if not one.practice:
            own[one.name] = values[one.key]
        elif case.practice.name in (one.practice, *one.also):
            # The practice of a case has its age on this GPU already.
            name = "age" if one.name == "on_blackwell" else one.name
            software[name] = values[one.key]
    return predict(
        case.job,
        model=case.model,
        network=case.network,
        engine=engine,
        practice=replace(case.practice, **software),
        residual=replace(RESIDUALS[generation], **own),
    ).duration_s


def _case(row: MeasuredStep, catalog: Catalog, engine: Engine, generation: str) -> StepCase | None:
    try:
        case, _ = predict_case(row, catalog, engine)
    except NetloomError:
        return None
    return case if generation_of(case.network.gpu) == generation else None


def _loss(cases: Sequence[StepCase], engine: Engine, generation: str, values: Fit) -> float:
    errors = (
        math.log(predicted_s(case, engine, generation, values) / case.row.measured_s)
        for case in cases
    )
    return sum(math.hypot(error, _SMALL) for error in errors) / len(cases)


def _least(loss: Callable[[Fit], float], start: Fit, parameters: Sequence[Parameter]) -> Fit:
    """Return where *loss* is least near *start* (Hooke and Jeeves 1961, pattern search)."""
    found, least, share = start, loss(start), _FIRST_STEP
    while share > _LAST_STEP:
        before = found
        for one in parameters:
            for way in (share, -share):
                tried = _moved(found, one, way * (one.high - one.low))
                if (there := loss(tried)) < least:
                    found, least = tried, there
                    break
        if found is before:
            share /= 2
            continue
        ahead = found
        for one in parameters:
            ahead = _moved(ahead, one, found[one.key] - before[one.key])
        if (there := loss(ahead)) < least:
            found, least = ahead, there
    return found


def _moved(values: Fit, one: Parameter, by: float) -> Fit:
    return {**values, one.key: min(one.high, max(one.low, values[one.key] + by))}
