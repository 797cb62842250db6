"""Heal a site: look, plan, ask policy, look again at what is concerned, act, verify."""

from __future__ import annotations

import fcntl
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from netloom.app.heal.journal import FileJournal
from netloom.app.heal.plans import FOLDER, PlanFolder
from netloom.app.heal.report import HealOrder, HealReport, HealStep, HealTarget, StalePlan
from netloom.app.heal.tickets import TicketQueue
from netloom.app.heal.watched import with_cases
from netloom.app.lab.drains import HEAL_LOG
from netloom.app.locate.lab import clock_s
from netloom.errors import LabError, NetloomError, SpecError
from netloom.ops.heal.act import carry_out
from netloom.ops.heal.actuators import ActContext
from netloom.ops.heal.effect import baseline_of, trial_of
from netloom.ops.heal.log import in_force, last_acts, unfinished
from netloom.ops.heal.plan import Act, plan_by, plans_of
from netloom.ops.heal.policy import Decision, decide
from netloom.ops.heal.snapshot import Dispute
from netloom.ops.locate.findings import Finding
from netloom.ops.observe.cases import cases_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from netloom.app.heal.site import HealSite
    from netloom.ops.heal.act import Actuator, HealOutcome
    from netloom.ops.heal.effect import TrialBaseline
    from netloom.ops.heal.plan import HealPlan
    from netloom.ops.heal.snapshot import Snapshot
    from netloom.spec.heal import HealPolicy, Verb

__all__ = [
    "HealOrder",
    "HealReport",
    "HealStep",
    "HealTarget",
    "able",
    "alone",
    "heal",
    "journal_of",
    "plans_folder",
    "release",
]

LOCK: Final = "heal.lock"
TICKETS: Final = "tickets"
BY_REQUEST: Final = "by request"  # the kind of what a person asks for, where no finding asks for it
STANDING: Final = ("drain", "shut", "cordon")  # acts that last until they are undone
# A look that is older than this is taken again, of the parts concerned, before an act: in seconds
# people and other programs change a fabric too. Assumed.
FRESH_S: Final = 5.0


def journal_of(site: HealSite) -> FileJournal:
    """Return the log of a site."""
    return FileJournal(path=site.path / HEAL_LOG)


def plans_folder(site: HealSite) -> PlanFolder:
    """Return where the plans of a site are kept by name."""
    return PlanFolder(path=site.path / FOLDER)


def heal(site: HealSite, target: HealTarget, order: HealOrder) -> HealReport:
    """Look at a site and carry out what may be done, one plan after the other.

    After each plan that was carried out the site is looked at again, so that the next is judged on
    what is then away.

    Args:
        site: What to heal.
        target: The network as it should be.
        order: What may be done.

    Raises:
        SpecError: there is no such site.
        LabError: it cannot be looked at, or the log cannot be written.
        OutputError: the store cannot be read, or a plan cannot be kept.
    """
    # Planning alone takes nothing away: it may go on beside another that acts.
    checked = _looking(site) if order.only_plans else alone(site)
    with checked, ThreadPoolExecutor(max_workers=1) as pool:
        # The network as designed needs no look: it is tried while the site is looked at.
        baseline = pool.submit(baseline_of, target.fabric, target.technology)
        run = _HealRun(site=site, target=target, order=order, baseline=baseline)
        run.to_the_end()
        return run.report()


@dataclass(slots=True, kw_only=True, eq=False)
class _HealRun:
    """One run on its way."""

    site: HealSite
    target: HealTarget
    order: HealOrder
    baseline: Future[TrialBaseline]
    steps: list[HealStep] = field(default_factory=list)
    first: Snapshot | None = None
    num_done: int = 0
    took_s: dict[str, float] = field(default_factory=lambda: {"look": 0.0, "try": 0.0, "act": 0.0})

    def to_the_end(self) -> None:
        """Look and plan until every plan is judged."""
        is_done = False
        while not is_done:
            with self._timing("look"):
                sight = self._look()
            self.first = self.first or sight
            with self._timing("try"):
                plans = self._plans(sight)
            is_done = self._go_through(plans, sight)

    def report(self) -> HealReport:
        """Return what came of it."""
        assert self.first is not None
        return HealReport(
            sight=self.first,
            steps=tuple(self.steps),
            log=str(journal_of(self.site).path),
            took_s=self.took_s,
            stale=tuple(self._stale()),
        )

    def _look(self) -> Snapshot:
        sight = self.site.look(self.target)
        if self.order.store is not None:
            cases = cases_in(self.order.store, start_s=sight.taken_s)
            sight = with_cases(sight, cases, most_age_s=self.order.policy.most_age_s)
        return _settled(sight, self.site)

    def _plans(self, sight: Snapshot) -> list[HealPlan]:
        """Return a plan for each finding that has none yet, and for each act that is asked for."""
        tried = {(s.plan.finding.part.whole, s.plan.finding.kind) for s in self.steps}
        fresh = [f for f in sight.findings if (f.part.whole, f.kind) not in tried]
        asked = [a for a in self.order.asked if (a.part, BY_REQUEST) not in tried]
        trial = trial_of(
            self.target.fabric,
            self.target.technology,
            sight.findings,
            sight.away,
            step_s=self.target.step_s,
            baseline=self.baseline.result(),
        )
        plans = plans_of(trial, fresh, able(self.site, self.order.policy), self.site.can)
        return [
            *plans,
            *(plan_by(trial, _asked_for(act), [self._checked(act)]) for act in asked),
        ]

    def _checked(self, act: Act) -> Act:
        if act.verb not in able(self.site, self.order.policy) or not self.site.can(act):
            raise SpecError(
                option="--act",
                what=f"{act.name}: cannot be done to {self.site.name}",
                remedy="let the inventory have write: true for a kind that can, and name its ports",
            )
        return act

    def _go_through(self, plans: Sequence[HealPlan], sight: Snapshot) -> bool:
        """Judge plans and do what may be done; return whether all were, with nothing changed."""
        for plan in plans:
            hands = self._hands(plan, sight)
            step = self._judged(self._with_requests(plan, hands), sight)
            plans_folder(self.site).save(step.plan, clock_s())
            if self._is_wanted(step):
                step = self._acted(step, sight, hands)
            self.steps.append(step)
            if step.outcome is not None and not plan.is_for_people and plan is not plans[-1]:
                return False  # what is away has changed: look before the next
        return True

    def _with_requests(self, plan: HealPlan, hands: Actuator) -> HealPlan:
        """Return the plan with what would be sent, as far as that can be told beforehand."""
        if not self.site.tells_requests:
            return plan
        try:
            sent = [r for act in plan.acts for r in hands.plan(act, "netloom").requests]
        except NetloomError as error:
            sent = [f"cannot be planned: {error}"]
        return replace(plan, requests=tuple(sent))

    def _judged(self, plan: HealPlan, sight: Snapshot) -> HealStep:
        """Return what policy says of a plan; how old the look is, a second one makes up for."""
        return HealStep(plan=plan, decision=self._decision(plan, sight, sight.taken_s))

    def _decision(self, plan: HealPlan, sight: Snapshot, now_s: float) -> Decision:
        last_act_s = last_acts(journal_of(self.site).entries())
        return decide(plan, sight, self.order.policy, now_s=now_s, last_act_s=last_act_s)

    def _is_wanted(self, step: HealStep) -> bool:
        if self.order.only_plans or step.decision.verdict == "refuse":
            return False
        if self.order.approved:
            return self.order.approval(step.plan) is not None
        return step.decision.verdict == "run"

    def _acted(self, step: HealStep, sight: Snapshot, hands: Actuator) -> HealStep:
        """Carry a plan out, unless that is too much for one run or it does not hold any more."""
        policy = self.order.policy
        if self.num_done >= policy.most_acts:
            return _refused(step, "policy's most_acts are used up for this run; run it again")
        saved = self.order.approval(step.plan)
        differs = saved.differs_from(step.plan) if saved else ""
        if differs:
            return _refused(step, f"{differs}; plan again")
        if not step.plan.is_for_people and not self._is_fresh(sight):
            with self._timing("look"):
                step = self._confirmed(step, sight)
            if step.decision.verdict == "refuse":
                return step
        with self._timing("act"):
            outcome = self._carried(step.plan, hands)
        self.num_done += 1
        return replace(step, outcome=outcome)

    def _is_fresh(self, sight: Snapshot) -> bool:
        return 0 <= clock_s() - sight.taken_s <= min(FRESH_S, self.order.policy.most_age_s)

    def _confirmed(self, step: HealStep, sight: Snapshot) -> HealStep:
        """Look again at the parts that a plan concerns, and judge it by that."""
        plan = step.plan
        again = self.site.look_again(self.target, plan, sight)
        finding = plan.finding
        key = (finding.part.whole, finding.kind)
        held = finding.kind == BY_REQUEST or key in sight.unconfirmed
        if not held and key not in {(f.part.whole, f.kind) for f in again.findings}:
            return _refused(step, "a second look does not find it any more; look again")
        more = set(again.away) - set(sight.away)
        if more:
            some = ", ".join(str(part) for part in sorted(more)[:4])
            return _refused(step, f"more is away than when it was tried: {some}; look again")
        fresh = replace(sight, taken_s=again.taken_s, disputes=again.disputes or sight.disputes)
        return replace(step, decision=self._decision(plan, fresh, clock_s()))

    def _hands(self, plan: HealPlan, sight: Snapshot) -> Actuator:
        desk = TicketQueue(folder=self.site.path / TICKETS, policy=self.order.policy, plan=plan)
        others = {f.part.whole for f in sight.findings} - {plan.finding.part.whole}
        return self.site.actuator(
            ActContext(
                desk=desk,
                watched=self.order.watched,
                others=tuple(sorted(others)),
                lids=sight.lids,
            )
        )

    def _carried(self, plan: HealPlan, hands: Actuator) -> HealOutcome:
        journal = journal_of(self.site)
        first = 1 + max((entry.act for entry in journal.entries()), default=0)
        try:
            return carry_out(plan, hands, journal, clock_s, first=first, by=self.order.by)
        except OSError as error:
            raise LabError(
                what=f"healing stopped: {error}", remedy=f"look at {journal.path}"
            ) from error

    def _stale(self) -> Iterator[StalePlan]:
        """Give the approved plans that no look has led to."""
        names = {step.plan.fingerprint for step in self.steps}
        about = {(str(s.plan.finding.part.whole), s.plan.finding.kind): s for s in self.steps}
        for one in self.order.approved:
            if one.name in names:
                continue
            now = about.get((one.part.partition(" ")[0], one.kind))
            why = (
                f"the plan for {one.part}: {one.kind} is {now.plan.fingerprint} now"
                if now
                else f"a fresh look does not find {one.part}: {one.kind}"
            )
            yield StalePlan(name=one.name, says=f"{why}; nothing was done for it, plan again")

    @contextmanager
    def _timing(self, what: str) -> Iterator[None]:
        begin_s = time.monotonic()
        yield
        self.took_s[what] += time.monotonic() - begin_s


def _asked_for(act: Act) -> Finding:
    return Finding(
        part=act.part,
        kind=BY_REQUEST,
        magnitude=1.0,
        confidence=1.0,
        evidence=("a person asks for it",),
        hurts=(),
        predicted_gain=0.0,
    )


def _refused(step: HealStep, *reasons: str) -> HealStep:
    return replace(step, decision=Decision(verdict="refuse", reasons=reasons))


@contextmanager
def alone(site: HealSite) -> Iterator[None]:
    """Let no other netloom heal the same site: two could take away more than either may.

    Raises:
        SpecError: there is no such site.
        LabError: another one is at it.
    """
    site.check()
    descriptor = os.open(site.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise LabError(
            what=f"{site.name}: another netloom is healing it", remedy="wait for it to end"
        ) from error
    finally:
        os.close(descriptor)


@contextmanager
def _looking(site: HealSite) -> Iterator[None]:
    site.check()
    yield


def release(site: HealSite, policy: HealPolicy, number: int, *, by: str = "") -> str:
    """Undo one act that is in force, such as a drain once the cable is repaired, or was cut short.

    Args:
        site: Where.
        policy: Has the commands of the scheduler.
        number: Of the act in the log.
        by: Who asks for it.

    Raises:
        SpecError: no such act is in force; the message has those that are.
        LabError: it cannot be undone.
    """
    with alone(site):
        return _release(site, policy, number, by)


def _release(site: HealSite, policy: HealPolicy, number: int, by: str) -> str:
    journal = journal_of(site)
    entries = journal.entries()
    open_ones = (*in_force(entries), *unfinished(entries))
    standing = {e.act: e for e in open_ones if e.verb in STANDING}
    if number not in standing:
        known = ", ".join(f"{n} ({e.verb} {e.part})" for n, e in standing.items()) or "none"
        raise SpecError(
            option="--undo", what=f"no act {number} is in force", remedy=f"there are: {known}"
        )
    entry = replace(standing[number], by=by)
    desk = TicketQueue(folder=site.path / TICKETS, policy=policy)
    hands = site.actuator(ActContext(desk=desk))
    journal.write(replace(entry, at_s=clock_s(), phase="undoing", says=("by hand",)))
    try:
        said = hands.undo(Act(verb=_verb(entry.verb), part=entry.part), entry.token)
    except NetloomError as error:
        journal.write(replace(entry, at_s=clock_s(), phase="not-undone", says=(str(error),)))
        raise
    journal.write(replace(entry, at_s=clock_s(), phase="undone", says=(said,)))
    return said


def _verb(text: str) -> Verb:
    return "drain" if text == "drain" else "shut" if text == "shut" else "cordon"


def able(site: HealSite, policy: HealPolicy) -> frozenset[Verb]:
    """Return what can be done to a site: what it has, and what policy has commands for."""
    found: set[Verb] = set(site.verbs)
    if {"cordon", "uncordon"} <= policy.commands.keys():
        found.add("cordon")
    if "restart-job" in policy.commands:
        found.add("restart-job")
    return frozenset(found)


def _settled(sight: Snapshot, site: HealSite) -> Snapshot:
    """Return *sight* without what healing did itself, and with the acts that were cut short."""
    born_s = site.born_at_s  # what was done to an earlier site of this name is gone with it
    entries = tuple(entry for entry in journal_of(site).entries() if entry.at_s >= born_s)
    drained = {entry.part for entry in in_force(entries) if entry.verb in ("drain", "shut")}
    drained = site.still_drained(drained, sight)
    cut = tuple(
        Dispute(
            part=one.part,
            says=(f"the log has {one.verb} begun", "and no end of it", *site.state_of(one)),
        )
        for one in unfinished(entries)
    )
    kept = tuple(f for f in sight.findings if f.part.whole not in drained)
    away = tuple(dict.fromkeys((*sight.away, *sorted(drained, key=str))))
    return replace(sight, findings=kept, away=away, disputes=(*sight.disputes, *cut))
