"""Carry out plans: log, act, log, look whether it helped, and undo it when it did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from netloom.errors import NetloomError
from netloom.ops.heal.log import Journal, LogEntry, finite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from netloom.ops.heal.log import Phase
    from netloom.ops.heal.plan import Act, HealPlan

__all__ = [
    "Actuator",
    "Check",
    "HealOutcome",
    "PlannedAct",
    "Result",
    "carry_out",
    "transaction_name",
]

Result = Literal["healed", "handed-over", "undone", "stuck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Whether a plan helped, by looking again.

    Attributes:
        helped: Whether it did.
        says: What was seen.
    """

    helped: bool
    says: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAct:
    """What an act would do, before it is done.

    Attributes:
        requests: What would be sent, exactly and in order, each behind the device it goes to.
        token: What undoing needs even when doing it was cut short, such as the state before.
    """

    requests: tuple[str, ...] = ()
    token: str = ""


class Actuator(Protocol):
    """What can act on a network; every method may raise a NetloomError."""

    def plan(self, act: Act, name: str) -> PlannedAct:
        """Return what would be done and what undoing it needs; nothing is changed.

        Args:
            act: What.
            name: Of this one time, for devices that keep changes by name.
        """
        ...

    def apply(self, act: Act, token: str) -> tuple[str, str]:
        """Do it; return what was done, in words, and a token that undoing needs.

        Args:
            act: What.
            token: That of its :meth:`plan`.
        """
        ...

    def verify(self, plan: HealPlan) -> Check:
        """Look whether the plan helped."""
        ...

    def undo(self, act: Act, token: str) -> str:
        """Undo it; return what was done. The token is that of the plan where doing it failed."""
        ...

    def tenant_isolation(self) -> Mapping[str, str]:
        """Return what keeps tenants apart, as read from the network: equal before and after."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HealOutcome:
    """What came of a plan.

    Attributes:
        result: ``healed``; ``handed-over`` when people must repair it; ``undone`` when it did not
            help; ``stuck`` when undoing failed too.
        says: What was done and seen, in order.
    """

    result: Result
    says: tuple[str, ...]


def carry_out(
    plan: HealPlan,
    hands: Actuator,
    journal: Journal,
    clock: Callable[[], float],
    *,
    first: int,
    by: str = "",
) -> HealOutcome:
    """Carry *plan* out and return what came of it.

    Args:
        plan: Approved.
        hands: What acts.
        journal: Has the act before it is done.
        clock: Seconds since 1970.
        first: The number of its first act in the journal.
        by: Who approved it.
    """
    run = _Run(plan=plan, hands=hands, journal=journal, clock=clock, first=first, by=by)
    tenant_isolation = {} if plan.is_for_people else hands.tenant_isolation()
    done: list[tuple[int, str]] = []
    says: list[str] = []
    for place, act in enumerate(plan.acts):
        planned: PlannedAct | None = None
        try:
            planned = hands.plan(act, transaction_name(plan, first + place))
            said, token = run.do(place, planned)
        except NetloomError as error:
            says.append(f"{act.name} failed: {error}")
            begun = [(place, planned.token)] if planned else []
            return run.take_back([*done, *begun], says)
        says.append(said)
        done.append((place, token))
    check = run.check(tenant_isolation)
    says += check.says
    if check.helped:
        return HealOutcome(
            result="handed-over" if plan.is_for_people else "healed", says=tuple(says)
        )
    return run.take_back(done, says)


def transaction_name(plan: HealPlan, number: int) -> str:
    """Return what devices call the change of one act: the plan's name and the act's number."""
    return f"netloom-{plan.fingerprint}-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One plan on its way."""

    plan: HealPlan
    hands: Actuator
    journal: Journal
    clock: Callable[[], float]
    first: int
    by: str = ""

    def write(self, place: int, phase: Phase, *says: str, token: str = "") -> None:
        act = self.plan.acts[place]
        detail = finite(self.plan.to_json()["effect"]) if phase == "before" else {}
        entry = LogEntry(
            at_s=self.clock(),
            act=self.first + place,
            phase=phase,
            verb=act.verb,
            part=act.part,
            says=says,
            token=token,
            detail=detail,
            by=self.by,
            plan=self.plan.fingerprint,
        )
        self.journal.write(entry)

    def do(self, place: int, planned: PlannedAct) -> tuple[str, str]:
        """Do one act, with a line before and a line after it."""
        finding = self.plan.finding
        why = f"{finding.part}: {finding.kind}"
        self.write(place, "before", why, *finding.evidence, token=planned.token)
        try:
            said, token = self.hands.apply(self.plan.acts[place], planned.token)
        except NetloomError as error:
            self.write(place, "failed", str(error), token=planned.token)
            raise
        self.write(place, "after", said, token=token)
        return said, token

    def check(self, tenant_isolation: Mapping[str, str]) -> Check:
        """Look whether it helped, and whether tenants are still apart."""
        try:
            check = self.hands.verify(self.plan)
            now = self.hands.tenant_isolation() if tenant_isolation else {}
        except NetloomError as error:
            check, now = (
                Check(helped=False, says=(f"cannot be verified: {error}",)),
                tenant_isolation,
            )
        broken = sorted(key for key, value in tenant_isolation.items() if now.get(key) != value)
        if broken:
            what = f"tenants are kept apart otherwise than before at {', '.join(broken[:8])}"
            check = Check(helped=False, says=(*check.says, what))
        elif tenant_isolation:
            kept = f"tenants are kept apart as before: {len(tenant_isolation)} things compared"
            check = Check(helped=check.helped, says=(*check.says, kept))
        for place in range(len(self.plan.acts)):
            self.write(place, "verified", "helped" if check.helped else "no help", *check.says)
        return check

    def take_back(self, done: list[tuple[int, str]], says: list[str]) -> HealOutcome:
        """Undo what was done, last first; go on where one cannot be undone."""
        result: Result = "undone"
        for place, token in reversed(done):
            act = self.plan.acts[place]
            self.write(place, "undoing", token=token)
            try:
                said = self.hands.undo(act, token)
            except NetloomError as error:
                self.write(place, "not-undone", str(error))
                says.append(f"{act.name} could not be undone: {error}")
                result = "stuck"
            else:
                self.write(place, "undone", said)
                says.append(said)
        return HealOutcome(result=result, says=tuple(says))
