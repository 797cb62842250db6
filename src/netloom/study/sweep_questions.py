"""What a sweep can ask of every point.

A new question is one entry of :data:`QUESTIONS`: a function of
:class:`~netloom.study.sweep_question.Asked` that returns what the command of that name prints
with ``--json``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.study.compare import compare
from netloom.study.predict import catalog_of, predict
from netloom.study.serve import infer
from netloom.study.size import size
from netloom.study.sweep_question import Question
from netloom.study.wish import Wish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.study.sweep_question import Asked

__all__ = ["QUESTIONS"]


def _technologies(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    technologies: Sequence[Mapping[str, Any]] = answer["technologies"]
    return technologies


def _compare(asked: Asked) -> dict[str, Any]:
    return compare(asked.scenario).to_json()


def _predict(asked: Asked) -> dict[str, Any]:
    return predict(asked.scenario).to_json()


def _infer(asked: Asked) -> dict[str, Any]:
    return infer(asked.scenario).to_json()


def _size(asked: Asked) -> dict[str, Any]:
    return size(Wish.of(asked.scenario.cluster), catalog_of(asked.scenario)).to_json()


QUESTIONS: Final[Mapping[str, Question]] = {
    "compare": Question(
        ask=_compare,
        shown=("step_time_s", "mfu", "usd_per_trillion_tokens", "network_capex_usd"),
        rows=_technologies,
        label="technology",
    ),
    "predict": Question(ask=_predict, shown=("step_time_s", "mfu", "exposed_share")),
    "infer": Question(
        ask=_infer, shown=("tokens_per_s_per_gpu", "time_to_first_token_s", "time_per_token_s")
    ),
    "size": Question(ask=_size, shown=("capex_usd", "switches", "cables", "power_w")),
}
