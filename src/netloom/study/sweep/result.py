"""What a sweep found: a row for every point, and means over seeds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.results.tabular import Tabular
from netloom.study.sweep.rows import aggregate, rows_of, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.results.table import Cell, Table
    from netloom.spec.nodes import Plain
    from netloom.study.sweep.drive import Found
    from netloom.study.sweep.plan import SweepPlan

__all__ = ["Answer", "Sweep", "gathered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found at one point.

    Attributes:
        values: What varies, by path.
        key: The SHA-256 under which the store keeps it.
        result: What the question's command prints with ``--json``; None when it failed.
        error: Why it failed.
        from_store: Whether it had been computed before, or by another process meanwhile.
    """

    point: int
    values: Mapping[str, Plain]
    key: str
    result: Mapping[str, Any] | None
    error: str = ""
    from_store: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/models/sweep.md documents."""
        return {
            "point": self.point,
            "values": dict(self.values),
            "key": self.key,
            "from_store": self.from_store,
            "error": self.error or None,
            "result": self.result,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sweep(Tabular):
    """All answers of a sweep, in the order of its points."""

    plan: SweepPlan
    answers: tuple[Answer, ...]
    wall_s: float

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<Sweep {self.plan.question_name} over {len(self.answers)} points: "
            f"{self.num_from_store} from the store, {self.num_computed} computed, "
            f"{len(self.failed)} failed>"
        )

    @property
    def failed(self) -> tuple[Answer, ...]:
        """The points without a result."""
        return tuple(answer for answer in self.answers if answer.result is None)

    @property
    def num_from_store(self) -> int:
        """How many points were not computed here."""
        return sum(answer.from_store for answer in self.answers)

    @property
    def num_computed(self) -> int:
        """How many points were computed here."""
        return len(self.answers) - self.num_from_store - len(self.failed)

    def rows(self) -> list[dict[str, Cell]]:
        """Return the rows of :meth:`table`."""
        question = self.plan.question
        return [
            row
            for answer in self.answers
            for row in rows_of(answer.point, answer.values, answer.result, answer.error, question)
        ]

    def table(self) -> Table:
        """Return a row for each point, or for each technology of a point that compares them.

        A point that failed has a row with ``error`` and nothing else.
        """
        return table_of(self.rows())

    def means(self) -> Table | None:
        """Return the mean over seeds of every number, and where it lies; None without seeds.

        A row for each point but for its seed. The interval is Student's t at 95 %.
        """
        if not self.plan.varies_seed:
            return None
        return table_of(aggregate(self.rows(), keys=self.keys))

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell rows apart, but for the seed."""
        label = self.plan.question.label
        return (*self.plan.axes, *((label,) if label else ()))

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/models/sweep.md documents."""
        means = self.means()
        return {
            "question": self.plan.question_name,
            "netloom": self.plan.release,
            "points": len(self.answers),
            "from_store": self.num_from_store,
            "computed": self.num_computed,
            "failed": len(self.failed),
            "wall_s": self.wall_s,
            "results": [answer.to_json() for answer in self.answers],
            "means": None if means is None else means.rows(),
        }


def gathered(plan: SweepPlan, found: Mapping[str, Found], *, wall_s: float) -> Sweep:
    """Return the answers of *plan* from what was found for its keys."""
    answers = []
    for point in plan.points:
        this = found[point.key]
        answers.append(
            Answer(
                point=point.index,
                values=point.values,
                key=point.key,
                result=None if this.text is None else json.loads(this.text),
                error=this.error,
                from_store=this.from_store,
            )
        )
    return Sweep(plan=plan, answers=tuple(answers), wall_s=wall_s)
