"""What a sweep can ask of every point.

A new question is one entry of :data:`QUESTIONS`: a function of :class:`Asked` that returns what
the command of that name prints with ``--json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from netloom.study.compare import compare
from netloom.study.predict import catalog_of, predict
from netloom.study.serve import infer
from netloom.study.size import size
from netloom.study.wish import Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netloom.spec.scenario import Scenario
    from netloom.spec.strict import Strict

    Json: TypeAlias = dict[str, Any]

__all__ = ["QUESTIONS", "Asked", "Question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one point asks.

    Attributes:
        options: Of the question's own type; None where it has none.
        seed: None where the question has no randomness.
    """

    scenario: Scenario
    options: Strict | None = None
    seed: int | None = None


def _whole(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [answer]


def _technologies(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    technologies: Sequence[Mapping[str, Any]] = answer["technologies"]
    return technologies


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and how its answers become rows of a table.

    Attributes:
        ask: Answers it, as plain data; a function at the top of its module, since other
            processes look it up by its name. Equal arguments give equal answers.
        shown: Numbers of a row that reports show, the most important first.
        rows: The parts of an answer that are one row each.
        label: The text in a row that tells it from others of the same point; empty for none.
        seeded: Whether the seed matters.
        options: What options it takes; None for none.
    """

    ask: Callable[[Asked], Json]
    shown: tuple[str, ...]
    rows: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]] = _whole
    label: str = ""
    seeded: bool = False
    options: type[Strict] | None = None


def _compare(asked: Asked) -> Json:
    return compare(asked.scenario).to_json()


def _predict(asked: Asked) -> Json:
    return predict(asked.scenario).to_json()


def _infer(asked: Asked) -> Json:
    return infer(asked.scenario).to_json()


def _size(asked: Asked) -> Json:
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
