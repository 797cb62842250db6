"""What a sweep can ask of every point.

A new question is one entry of :data:`QUESTIONS`: a function of
:class:`SweepRequest` that returns what the command of that name prints
with ``--json``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from netloom.spec.strict import Strict
from netloom.study.compare.comparison import compare
from netloom.study.inputs import catalog_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.prediction import predict
from netloom.study.serving.inference import infer
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.run import EngineName, simulate
from netloom.study.size.request import SizingRequest
from netloom.study.size.sizing import size
from netloom.study.sweep.question import SweepQuestion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.study.sweep.question import SweepRequest

__all__ = ["QUESTIONS"]


def _technologies(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    technologies: Sequence[Mapping[str, Any]] = answer["technologies"]
    return technologies


def _compare(asked: SweepRequest) -> dict[str, Any]:
    return compare(asked.scenario).to_json()


def _predict(asked: SweepRequest) -> dict[str, Any]:
    return predict(asked.scenario).to_json()


def _infer(asked: SweepRequest) -> dict[str, Any]:
    return infer(asked.scenario).to_json()


def _predict_flow(asked: SweepRequest) -> dict[str, Any]:
    assert asked.seed is not None
    engine = engine_named("flow", seed=asked.seed)
    return predict(asked.scenario, engine=engine).to_json()


class SimulateOptions(Strict):
    """How a simulated point runs."""

    engine: EngineName = Field(default="packet", description="packet or flow")
    congestion_control: str = Field(default="", description="Instead of the technology's own")
    load_balancing: str = Field(default="", description="Instead of the technology's own")


def _simulate(asked: SweepRequest) -> dict[str, Any]:
    options = asked.options
    assert isinstance(options, SimulateOptions)
    assert asked.seed is not None
    choices = Choices(
        congestion_control=options.congestion_control, load_balancing=options.load_balancing
    )
    found = simulate(asked.scenario, engine=options.engine, choices=choices, seeds=(asked.seed,))
    answer = found.to_json()
    for measured in ("wall_s", "peak_rss_bytes"):  # of the machine, not of what was asked
        answer.pop(measured, None)
    return answer


def _flows(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return one row with the percentiles beside the totals."""
    spread = {
        f"{name}_{percentile}{unit}": value
        for name, unit, key in (("fct", "_s", "fct_s"), ("slowdown", "", "slowdown"))
        for percentile, value in answer[key].items()
    }
    return [{**spread, **answer}]


def _size(asked: SweepRequest) -> dict[str, Any]:
    return size(SizingRequest.of(asked.scenario.cluster), catalog_of(asked.scenario)).to_json()


QUESTIONS: Final[Mapping[str, SweepQuestion]] = {
    "compare": SweepQuestion(
        ask=_compare,
        shown=("step_time_s", "mfu", "usd_per_trillion_tokens", "network_capex_usd"),
        rows=_technologies,
        label="technology",
    ),
    "predict": SweepQuestion(ask=_predict, shown=("step_time_s", "mfu", "exposed_share")),
    "predict-flow": SweepQuestion(
        ask=_predict_flow, shown=("step_time_s", "mfu", "exposed_share"), seeded=True
    ),
    "simulate": SweepQuestion(
        ask=_simulate,
        shown=("fct_p99_s", "slowdown_p99", "goodput_bps", "drops"),
        rows=_flows,
        seeded=True,
        options=SimulateOptions,
    ),
    "infer": SweepQuestion(
        ask=_infer, shown=("tokens_per_s_per_gpu", "time_to_first_token_s", "time_per_token_s")
    ),
    "size": SweepQuestion(ask=_size, shown=("capex_usd", "switches", "cables", "power_w")),
}
