"""What can be done about the open cases of a watched fabric: plans kept ready, acts followed."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from netloom.app.heal.run import STANDING, journal_of, plans_folder
from netloom.app.jobs.job import JobLimits, JobRequest
from netloom.app.locate.lab import clock_s
from netloom.errors import NetloomError, SpecError
from netloom.fabric.part_id import CABLE
from netloom.ops.heal.log import in_force

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.heal.site import HealSite
    from netloom.app.jobs.heal_kinds import HealPlaceOptions
    from netloom.app.jobs.quick import QuickAnswers
    from netloom.app.live.twin import LiveTwin
    from netloom.ops.heal.log import LogEntry
    from netloom.ops.observe.cases import Case

__all__ = ["LiveHealing", "PlansSeen"]

FRESH_S: Final = 5.0  # an approval is compared with plans of a look that is no older
AGAIN_S: Final = 20.0  # while a case is open plans are made again so often
EVERY_S: Final = 0.25
LIMITS: Final = JobLimits(time_s=300.0)
MAX_DRAINS: Final = 8
BEFORE_S: Final = 1.0  # clocks of the watch and of the log are the same; rounding is not
WORDS: Final = {"run": "allow"}
ENDS: Final = ("verified", "failed", "undone", "not-undone")
PHASES: Final = {"before": "begun", "after": "done", "undoing": "being undone"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansSeen:
    """The plans of one look.

    Attributes:
        taken_s: When the look was taken; None before the first.
        plans: As ``netloom heal --json`` has them.
        error: Why there are none.
    """

    taken_s: float | None = None
    plans: tuple[dict[str, Any], ...] = ()
    error: str = ""


@dataclass(eq=False, kw_only=True)
class LiveHealing:
    """Plans for what is open now, made in the background by a process of its own.

    Attributes:
        place: What is healed, as its jobs are told.
        site: The same.
        twin: What the watch has found.
        quick: The process that looks and plans.
        tell: Given the kind of an event and its value: ``plan`` and ``act``.
    """

    place: HealPlaceOptions
    site: HealSite
    twin: LiveTwin
    quick: QuickAnswers
    tell: Callable[[str, dict[str, Any]], None]
    _seen: PlansSeen = PlansSeen()
    _looking: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _log_mark: tuple[int, int] = (0, 0)
    _planned_for: frozenset[tuple[str, str]] = frozenset()

    def start(self) -> None:
        """Follow cases and the log from now on."""
        self._log_mark = self._mark()
        threading.Thread(target=self._follow, name="live-healing", daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._ended.set()

    def plans_of(self, case: Case) -> dict[str, Any]:
        """Return the plans for a case as they are known, at once."""
        seen = self._seen
        plans = [_told(one) for one in seen.plans if _is_about(one, case)]
        return {
            "plans": plans,
            "taken_s": seen.taken_s,
            "looking": seen.taken_s is None and not seen.error,
            "error": seen.error,
        }

    def fresh_plans_of(self, case: Case) -> dict[str, Any]:
        """Return the plans for a case by a look that is no older than five seconds."""
        self.look(most_age_s=FRESH_S)
        return self.plans_of(case)

    def look(self, *, most_age_s: float = 0.0) -> None:
        """Look and plan, unless that was done within *most_age_s*."""
        with self._looking:
            taken_s = self._seen.taken_s
            if taken_s is not None and 0 <= clock_s() - taken_s <= most_age_s:
                return
            cases = self.twin.open_at(self.twin.now())
            self._planned_for = _names(cases)
            self._seen = self._planned(cases)
        self.tell("plan", {"taken_s": self._seen.taken_s, "error": self._seen.error})

    def apply_request(self, case_name: str, fingerprint: str, *, by: str) -> JobRequest:
        """Return the job that carries a plan out."""
        more = {"fingerprint": fingerprint, "case": case_name, "by": by, "asked_s": clock_s()}
        return self._request("heal-apply", by, more)

    def undo_request(self, number: int, *, by: str) -> JobRequest:
        """Return the job that takes an act back.

        Raises:
            SpecError: no such act stands.
        """
        if number not in self._standing():
            raise SpecError(
                key="number", what=f"no act {number} is in force", remedy="load the page again"
            )
        return self._request("heal-undo", by, {"number": number, "by": by, "asked_s": clock_s()})

    def acts_of(self, case: Case) -> list[dict[str, Any]]:
        """Return what was done about a case since it opened, oldest first, with how far it is."""
        standing = self._standing()
        last: dict[int, LogEntry] = {}
        first_s: dict[int, float] = {}
        for entry in journal_of(self.site).entries():
            if entry.act and entry.at_s >= case.opened_s - BEFORE_S and self._is_of(entry, case):
                last[entry.act] = entry
                first_s.setdefault(entry.act, entry.at_s)
        return [
            {
                "number": number,
                "time_s": first_s[number],
                "what": f"{entry.verb} {entry.part}",
                "phase": _phase(entry),
                "by": entry.by,
                "says": list(entry.says),
                "plan": entry.plan,
                "undoable": number in standing,
            }
            for number, entry in last.items()
        ]

    def _standing(self) -> frozenset[int]:
        entries = journal_of(self.site).entries()
        return frozenset(one.act for one in in_force(entries) if one.verb in STANDING)

    def _is_of(self, entry: LogEntry, case: Case) -> bool:
        if not entry.plan:
            return entry.part.whole == case.part.whole
        try:
            told = plans_folder(self.site).read(entry.plan).told
        except SpecError:
            return entry.part.whole == case.part.whole
        return _is_about(told, case)

    def _planned(self, cases: list[Case]) -> PlansSeen:
        parts = [str(one.part.whole) for one in cases if one.part.kind == CABLE]
        try:
            asked = self._request("heal-plan", "", {"drains": list(dict.fromkeys(parts))})
            answer = self.quick.ask(asked)
        except NetloomError as error:
            return PlansSeen(error=str(error))
        if "error" in answer:
            return PlansSeen(error=str(answer["error"]["message"]))
        found = answer["result"]
        return PlansSeen(taken_s=found["taken_s"], plans=tuple(_unlike(found["plans"])))

    def _request(self, kind: str, by: str, more: dict[str, Any]) -> JobRequest:
        if "drains" in more:
            more["drains"] = more["drains"][:MAX_DRAINS]
        options = self.place.model_dump() | more
        limits = LIMITS if kind == "heal-plan" else JobLimits()
        return JobRequest(kind=kind, text=self.twin.text, options=options, by=by, limits=limits)

    def _follow(self) -> None:
        while not self._ended.wait(EVERY_S):
            try:
                self._tell_acts()
                if self._is_due():
                    self.look()
            except NetloomError as error:  # the store is not there yet, or not any more
                self._seen = PlansSeen(error=str(error))
                self._ended.wait(1.0)

    def _tell_acts(self) -> None:
        mark = self._mark()
        if mark == self._log_mark:
            return
        self._log_mark = mark
        entries = journal_of(self.site).entries()
        if entries:
            last = entries[-1]
            what = f"{last.verb} {last.part}"
            self.tell("act", {"number": last.act, "what": what, "phase": _phase(last)})
            if last.phase in ENDS:
                self.look()  # what was planned before it does not hold any more

    def _is_due(self) -> bool:
        cases = _names(self.twin.open_at(self.twin.now()))
        if cases != self._planned_for:
            return True
        taken_s = self._seen.taken_s
        return bool(cases) and (taken_s is None or clock_s() - taken_s > AGAIN_S)

    def _mark(self) -> tuple[int, int]:
        try:
            found = journal_of(self.site).path.stat()
        except OSError:
            return 0, 0
        return found.st_mtime_ns, found.st_size


def _names(cases: list[Case]) -> frozenset[tuple[str, str]]:
    return frozenset((str(case.part), case.kind) for case in cases)


def _phase(entry: LogEntry) -> str:
    """Return how far an act is, in a word; what did not help is not verified."""
    if entry.phase == "verified" and entry.says[:1] == ("no help",):
        return "no help"
    return PHASES.get(entry.phase, entry.phase)


def _unlike(plans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *plans* without drains by request that a finding asks for anyhow."""
    drained = {
        act["part"]
        for plan in plans
        if not plan["by_request"]
        for act in plan["acts"]
        if act["verb"] in STANDING
    }
    return [p for p in plans if not p["by_request"] or p["acts"][0]["part"] not in drained]


def _is_about(plan: dict[str, Any], case: Case) -> bool:
    finding = plan["finding"]
    part = str(finding["part"]).partition(" ")[0]
    by_request = finding["kind"] == "by request"
    return part == str(case.part.whole) and (by_request or finding["kind"] == case.kind)


def _told(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan as a page shows it."""
    effect = plan["effect"]
    acts = [f"{act['verb']} {act['part']}" for act in plan["acts"]]
    return {
        "fingerprint": plan["fingerprint"],
        "title": ", then ".join(acts),
        "by_request": plan["by_request"],
        "acts": acts,
        "requests": plan["requests"],
        "step_before_s": effect["step_before_s"],
        "step_after_s": effect["step_after_s"],
        "capacity_away": effect["capacity_away_after"]["share"],
        "verdict": WORDS.get(plan["verdict"], plan["verdict"]),
        "why": plan["reasons"],
    }
