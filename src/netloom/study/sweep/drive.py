"""Drive a sweep: hand out what is not yet answered, and keep every answer as it comes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.results.store import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from netloom.results.store import AnswerStore
    from netloom.study.sweep.plan import PlannedPoint, SweepPlan
    from netloom.study.sweep.task import Done, TaskRunner

__all__ = ["Found", "drive"]

# How soon a driver notices that another one, or a grown cluster, left it something to do.
POLL_S: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is known of a key at the end.

    Attributes:
        text: The answer as JSON; None when there is none.
        error: Why there is none.
        from_store: Whether it was there already, or another driver put it there meanwhile.
    """

    text: str | None = None
    error: str = ""
    from_store: bool = False


def drive(
    plan: SweepPlan,
    *,
    store: AnswerStore,
    runner: TaskRunner,
    advance: Callable[[int], object] = lambda _num_points: None,
) -> dict[str, Found]:
    """Return what was found for every key of *plan*.

    A key is computed once, however many points share it. An answer is in the store before it is
    counted; what fails is not kept, and tried again the next time.

    Args:
        plan: What to compute.
        store: Where answers are looked for and kept.
        runner: What computes; it is started here, and only when something is left to do.
        advance: Called with the number of keys that are settled, as they are.
    """
    points = {point.key: point for point in plan.points}
    stored = store.find(points)
    found = {key: Found(text=text, from_store=True) for key, text in stored.items()}
    advance(len(found))
    missing = [point for key, point in points.items() if key not in found]
    if missing:
        with runner:
            loop = _Loop(plan.question_name, missing, store=store, runner=runner, advance=advance)
            found |= loop.run()
    return found


class _Loop:
    """The points that wait and run, and what was found of the others."""

    def __init__(
        self,
        question: str,
        points: Iterable[PlannedPoint],
        *,
        store: AnswerStore,
        runner: TaskRunner,
        advance: Callable[[int], object],
    ) -> None:
        self._question = question
        self._waiting = deque(points)
        self._running: dict[str, PlannedPoint] = {}
        self._found: dict[str, Found] = {}
        self._store = store
        self._runner = runner
        self._advance = advance

    def run(self) -> dict[str, Found]:
        while self._waiting or self._running:
            self._hand_out()
            if self._waiting or self._running:
                for done in self._runner.wait(POLL_S if self._waiting else None):
                    self._take(done)
        return self._found

    def _hand_out(self) -> None:
        """Fill the free slots; what another driver computes goes to the end of the queue."""
        num_free = self._runner.num_slots - len(self._running)
        for _ in range(len(self._waiting)):
            if num_free <= 0:
                return
            point = self._waiting.popleft()
            claim = self._store.claim(point.key)
            if claim.state == "done":
                self._settle(point.key, Found(text=claim.answer, from_store=True))
            elif claim.state == "busy":
                self._waiting.append(point)
            else:
                self._running[point.key] = point
                self._runner.submit(point.task)
                num_free -= 1

    def _take(self, done: Done) -> None:
        point = self._running.pop(done.key)
        if done.text is None:
            self._store.release(done.key)
        else:
            record = Record(
                key=point.key,
                question=self._question,
                seed=point.seed,
                asked=point.asked,
                answer=done.text,
            )
            self._store.finish(record)
        self._settle(done.key, Found(text=done.text, error=done.error))

    def _settle(self, key: str, found: Found) -> None:
        self._found[key] = found
        self._advance(1)
