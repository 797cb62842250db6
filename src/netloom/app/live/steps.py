"""The step of the job: as designed, with what is broken now, and after a remedy; kept ready."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.app.jobs.job import JobLimits, JobRequest
from netloom.app.live.states import CableState, state_of_kind
from netloom.errors import NetloomError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.app.jobs.quick import QuickAnswers
    from netloom.app.live.twin import LiveTwin
    from netloom.ops.observe.cases import Case

__all__ = ["Faults", "Forecast", "StepForecasts", "faults_of"]

LIMITS: Final = JobLimits(time_s=120.0, memory_bytes=4 << 30)
MAX_KEPT: Final = 1000
MAX_PARTS: Final = 50

Faults = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # failed, drained, slow


def faults_of(cases: Iterable[Case], *, drained: Iterable[str] = ()) -> Faults:
    """Return what the parts of *cases* are to a model: failed, slow, or drained by a remedy."""
    away = frozenset(drained)
    fail, slow = set(), set()
    for case in cases:
        part = str(case.part)
        if part in away:
            continue
        state = state_of_kind(case.kind)
        if state is CableState.DOWN:
            fail.add(part)
        elif state is CableState.SLOW:
            slow.add(f"{part}={max(1.0, case.magnitude):g}")
    return (
        tuple(sorted(fail)[:MAX_PARTS]),
        tuple(sorted(away)[:MAX_PARTS]),
        tuple(sorted(slow)[:MAX_PARTS]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The step with some faults.

    Attributes:
        step_s: None where the job stops, or the model cannot tell.
        why: Which of the two, in words; empty where there is a step.
    """

    step_s: float | None
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents."""
        return {"step_s": self.step_s, "why": self.why}


class StepForecasts:
    """Steps by what is broken, computed in the background and kept."""

    def __init__(self, twin: LiveTwin, quick: QuickAnswers) -> None:
        self._twin, self._quick = twin, quick
        self._known: dict[Faults, Forecast] = {}
        self._asked: set[Faults] = set()
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # one question at a time: a step that waits is no error

    def now(self) -> dict[str, Any]:
        """Return the designed step and the one with what is broken now; None until known."""
        faults = faults_of(self._twin.open_at(self._twin.now()))
        return {
            "step_designed_s": self.of(((), (), ())),
            "step_predicted_s": self.of(faults),
        }

    def of(self, faults: Faults) -> float | None:
        """Return the step with these faults if it is known; it is computed else."""
        found = self.find(faults)
        return None if found is None else found.step_s

    def find(self, faults: Faults) -> Forecast | None:
        """Return what is known of the step with these faults; it is computed else."""
        with self._lock:
            if faults in self._known or faults in self._asked:
                return self._known.get(faults)
            self._asked.add(faults)
        threading.Thread(target=self._compute, args=(faults,), daemon=True).start()
        return None

    def wait_for(self, faults: Faults) -> float | None:
        """Return the step with these faults, however long it takes."""
        with self._lock:
            known = self._known.get(faults)
        return (known or self._compute(faults)).step_s

    def _compute(self, faults: Faults) -> Forecast:
        found = self._asked_of_model(faults)
        with self._lock:
            if len(self._known) >= MAX_KEPT:
                self._known.clear()
            self._known[faults] = found
            self._asked.discard(faults)
        return found

    def _asked_of_model(self, faults: Faults) -> Forecast:
        fail, drain, slow = faults
        kind = "whatif" if any(faults) else "predict"
        options: dict[str, Any] = (
            {"fail": fail, "drain": drain, "slow": slow} if any(faults) else {}
        )
        request = JobRequest(kind=kind, text=self._twin.text, options=options, limits=LIMITS)
        try:
            with self._turn:
                answer = self._quick.ask(request)
        except NetloomError as error:
            return Forecast(step_s=None, why=str(error))
        if "error" in answer:
            return Forecast(step_s=None, why=str(answer["error"].get("message", "")))
        found = answer["result"]
        step_s = (found if kind == "predict" else found["after"] or {}).get("step_time_s")
        why = "" if step_s is not None else f"the job stops: {found.get('stopped') or 'no way'}"
        return Forecast(step_s=step_s, why=why)
