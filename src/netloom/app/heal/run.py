"""Heal a lab: look, plan, ask policy, act; what the command line calls."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.app.heal.journal import FileJournal
from netloom.app.heal.tickets import TicketQueue
from netloom.app.heal.watched import with_cases
from netloom.app.lab.drains import HEAL_LOG
from netloom.app.locate.lab import clock_s, observe
from netloom.errors import LabError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.act import carry_out
from netloom.ops.heal.actuators import ACTUATORS, ActContext
from netloom.ops.heal.effect import trial_of
from netloom.ops.heal.log import in_force, last_acts, unfinished
from netloom.ops.heal.plan import Act, plans_of
from netloom.ops.heal.policy import Decision, decide
from netloom.ops.heal.snapshot import Dispute
from netloom.ops.observe.cases import cases_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from netloom.app.lab.store import LabFolder
    from netloom.fabric.graph import Fabric
    from netloom.ops.heal.act import Actuator, HealOutcome
    from netloom.ops.heal.actuators import ActuatorKind
    from netloom.ops.heal.plan import HealPlan
    from netloom.ops.heal.snapshot import Snapshot
    from netloom.parts.parts import Technology
    from netloom.spec.heal import HealPolicy, Verb

__all__ = ["HealReport", "HealStep", "HealTarget", "able", "heal", "journal_of", "release"]

LOCK: Final = "heal.lock"
USED_UP: Final = Decision(
    verdict="refuse", reasons=("policy's most_acts are used up for this run; run it again",)
)
TICKETS: Final = "tickets"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HealTarget:
    """The network as it should be, and the job on it.

    Attributes:
        fabric: As designed.
        technology: Of it.
        step_s: How long the job's step takes on a fabric, infinite when it cannot run; plans are
            judged by it where it is given.
    """

    fabric: Fabric
    technology: Technology
    step_s: Callable[[Fabric], float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealStep:
    """One plan, what policy says of it, and what came of it; None when it was not carried out."""

    plan: HealPlan
    decision: Decision
    outcome: HealOutcome | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/heal.md documents."""
        outcome = self.outcome
        return {
            **self.plan.to_json(),
            "verdict": self.decision.verdict,
            "reasons": list(self.decision.reasons),
            "outcome": outcome and {"result": outcome.result, "says": list(outcome.says)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HealReport:
    """One run.

    Attributes:
        sight: What was seen.
        steps: A plan for each finding.
        log: The file with what was done.
        took_s: Where the time went: ``look`` at the lab, ``try`` plans on the flow engine, and
            ``act``, with the waiting for OpenSM or BGP and the looking whether it helped.
    """

    sight: Snapshot
    steps: tuple[HealStep, ...]
    log: str
    took_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_failed(self) -> bool:
        """Whether something was tried that did not help."""
        outcomes = (step.outcome for step in self.steps)
        return any(one is not None and one.result in ("undone", "stuck") for one in outcomes)

    @property
    def has_refused(self) -> bool:
        """Whether policy refused a plan."""
        return any(step.decision.verdict == "refuse" for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/heal.md documents."""
        sight = self.sight
        return {
            "taken_s": sight.taken_s,
            "plans": [step.to_json() for step in self.steps],
            "away": [str(part) for part in sight.away],
            "disputes": [{"part": str(d.part), "says": list(d.says)} for d in sight.disputes],
            "doubts": list(sight.doubts),
            "took_s": {key: round(value, 3) for key, value in self.took_s.items()},
            "log": self.log,
        }


def journal_of(place: LabFolder) -> FileJournal:
    """Return the log of a lab."""
    return FileJournal(path=place.path / HEAL_LOG)


def heal(
    place: LabFolder,
    intended: HealTarget,
    policy: HealPolicy,
    *,
    yes: bool = False,
    watched: tuple[str, ...] = (),
    store: Path | None = None,
) -> HealReport:
    """Look at a lab and carry out what policy allows, one plan after the other.

    After each plan that was carried out the lab is looked at again, so that the next is judged on
    what is then away.

    Args:
        place: Of the lab.
        intended: The network as it should be.
        policy: What runs by itself; nothing does with the default one.
        yes: Whether plans that ask run too. Those that are refused never do.
        watched: Hosts whose partitions are compared before and after.
        store: Of a watch: its open cases count beside what is seen now.

    Raises:
        SpecError: there is no such lab.
        LabError: it cannot be looked at, or the log cannot be written.
        OutputError: the store cannot be read.
    """
    with _alone(place):
        return _heal(place, intended, policy, yes=yes, watched=watched, store=store)


def _heal(
    place: LabFolder,
    intended: HealTarget,
    policy: HealPolicy,
    *,
    yes: bool,
    watched: tuple[str, ...],
    store: Path | None,
) -> HealReport:
    fabric, technology = intended.fabric, intended.technology
    journal = journal_of(place)
    steps: list[HealStep] = []
    first, num_left = None, policy.most_acts
    watch = _Watch()
    while True:
        with watch.timing("look"):
            sight = observe(place, fabric, technology)
            if store is not None:
                cases = cases_in(store, start_s=sight.taken_s)
                sight = with_cases(sight, cases, most_age_s=policy.most_age_s)
            sight = _settled(sight, place, journal)
        first = first or sight
        tried = {(s.plan.finding.part, s.plan.finding.kind) for s in steps}
        fresh = [f for f in sight.findings if (f.part, f.kind) not in tried]
        with watch.timing("try"):
            trial = trial_of(fabric, technology, sight.findings, sight.away, step_s=intended.step_s)
            plans = plans_of(trial, fresh, able(place, policy))
        for plan in plans:
            steps.append(_judged(plan, sight, policy, journal))
            verdict = steps[-1].decision.verdict
            wanted = verdict == "run" or (yes and verdict == "ask")
            if wanted and not num_left:
                steps[-1] = replace(steps[-1], decision=USED_UP)
            elif wanted:
                desk = TicketQueue(folder=place.path / TICKETS, policy=policy, plan=plan)
                others = {f.part.whole for f in sight.findings} - {plan.finding.part.whole}
                context = ActContext(
                    desk=desk, watched=watched, others=tuple(sorted(others)), lids=sight.lids
                )
                hands = _kind(place).actuator(str(place.path), context)
                with watch.timing("act"):
                    outcome = _carried(plan, hands, journal)
                steps[-1], num_left = replace(steps[-1], outcome=outcome), num_left - 1
                if not plan.is_for_people:
                    break
        if len(steps) >= len(tried) + len(plans):  # all of them judged
            log = str(journal.path)
            return HealReport(sight=first, steps=tuple(steps), log=log, took_s=watch.took_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watch:
    """Adds up how long each kind of work takes."""

    took_s: dict[str, float] = field(default_factory=lambda: {"look": 0.0, "try": 0.0, "act": 0.0})

    @contextmanager
    def timing(self, what: str) -> Iterator[None]:
        begin_s = time.monotonic()
        yield
        self.took_s[what] += time.monotonic() - begin_s


@contextmanager
def _alone(place: LabFolder) -> Iterator[None]:
    """Let no other netloom heal the same lab: two could take away more than either may.

    Raises:
        SpecError: there is no such lab.
        LabError: another one is at it.
    """
    place.read()
    descriptor = os.open(place.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise LabError(
            what=f"lab {place.name!r}: another netloom is healing it", remedy="wait for it to end"
        ) from error
    finally:
        os.close(descriptor)


def release(place: LabFolder, policy: HealPolicy, number: int) -> str:
    """Undo one act that is in force, such as a drain once the cable is repaired, or was cut short.

    Args:
        place: Of the lab.
        policy: Has the commands of the scheduler.
        number: Of the act in the log.

    Raises:
        SpecError: no such act is in force; the message has those that are.
        LabError: it cannot be undone.
    """
    with _alone(place):
        return _release(place, policy, number)


def _release(place: LabFolder, policy: HealPolicy, number: int) -> str:
    journal = journal_of(place)
    entries = journal.entries()
    open_ones = (*in_force(entries), *unfinished(entries))
    standing = {e.act: e for e in open_ones if e.verb in ("drain", "cordon")}
    if number not in standing:
        known = ", ".join(f"{n} ({e.verb} {e.part})" for n, e in standing.items()) or "none"
        raise SpecError(
            option="--undo", what=f"no act {number} is in force", remedy=f"there are: {known}"
        )
    entry = standing[number]
    desk = TicketQueue(folder=place.path / TICKETS, policy=policy)
    hands = _kind(place).actuator(str(place.path), ActContext(desk=desk))
    journal.write(replace(entry, at_s=clock_s(), phase="undoing", says=("by hand",)))
    try:
        said = hands.undo(Act(verb=_verb(entry.verb), part=entry.part), entry.token)
    except LabError as error:
        journal.write(replace(entry, at_s=clock_s(), phase="not-undone", says=(str(error),)))
        raise
    journal.write(replace(entry, at_s=clock_s(), phase="undone", says=(said,)))
    return said


def _verb(text: str) -> Verb:
    return "drain" if text == "drain" else "cordon"


def able(place: LabFolder, policy: HealPolicy) -> frozenset[Verb]:
    """Return what can be done to a lab: what its kind has, and what policy has commands for."""
    found: set[Verb] = set(_kind(place).verbs)
    if {"cordon", "uncordon"} <= policy.commands.keys():
        found.add("cordon")
    if "restart-job" in policy.commands:
        found.add("restart-job")
    return frozenset(found)


def _is_infiniband(place: LabFolder) -> bool:
    return place.read().kind == "infiniband"


def _settled(sight: Snapshot, place: LabFolder, journal: FileJournal) -> Snapshot:
    """Return *sight* without what healing did itself, and with the acts that were cut short."""
    born_s = place.born_at_s  # what was done to an earlier lab of this name is gone with it
    entries = tuple(entry for entry in journal.entries() if entry.at_s >= born_s)
    drained = {entry.part for entry in in_force(entries) if entry.verb == "drain"}
    if _is_infiniband(place):
        plant, gone = place.read_plant(), set(sight.away)
        drained = {
            p for p in drained if {PartId.cable(c.number) for c in plant.cables_of(p)} <= gone
        }
    cut = tuple(
        Dispute(part=one.part, says=(f"the log has {one.verb} begun", "and no end of it"))
        for one in unfinished(entries)
    )
    kept = tuple(f for f in sight.findings if f.part.whole not in drained)
    away = tuple(dict.fromkeys((*sight.away, *sorted(drained, key=str))))
    return replace(sight, findings=kept, away=away, disputes=(*sight.disputes, *cut))


def _judged(plan: HealPlan, sight: Snapshot, policy: HealPolicy, journal: FileJournal) -> HealStep:
    last_act_s = last_acts(journal.entries())
    decision = decide(plan, sight, policy, now_s=clock_s(), last_act_s=last_act_s)
    return HealStep(plan=plan, decision=decision)


def _kind(place: LabFolder) -> ActuatorKind:
    return ACTUATORS.get(f"lab-{place.read().kind}")


def _carried(plan: HealPlan, hands: Actuator, journal: FileJournal) -> HealOutcome:
    first = 1 + max((entry.act for entry in journal.entries()), default=0)
    try:
        return carry_out(plan, hands, journal, clock_s, first=first)
    except OSError as error:
        raise LabError(
            what=f"healing stopped: {error}", remedy=f"look at {journal.path}"
        ) from error
