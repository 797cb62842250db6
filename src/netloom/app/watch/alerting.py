"""What a watch tells people about cases: alerts to Alertmanager, tickets to a webhook."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.app.watch.devices.health import RestPolicy
from netloom.drivers.devices.web import HttpStatusError
from netloom.drivers.services.alertmanager import post_alerts
from netloom.drivers.services.webhook import deliver
from netloom.errors import LabError, NetloomError
from netloom.ops.cases.alerts import alert_of, iso_time
from netloom.ops.cases.keeping import forget_old, mark_alerted, store_id
from netloom.ops.cases.people import NO_STATE, states
from netloom.ops.cases.tickets import (
    delivery_key,
    move_hook,
    next_deliveries,
    signature,
    ticket_of,
)
from netloom.ops.observe.case_audit import WATCH, AuditEntry, add_audit
from netloom.ops.observe.cases import Case, case_history

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.drivers.clock import Clock
    from netloom.ops.cases.lease import CaseRecords
    from netloom.ops.cases.people import CaseState
    from netloom.ops.observe.devices import DeviceAccess, Secret

__all__ = ["AlertSender", "AlertTargets", "RecordsKeeper", "TicketSender"]

HOLD_S: Final = 300.0  # Alertmanager's own resolve_timeout
RESEND_S: Final = 60.0
SURE: Final = 0.8  # as the shipped rule PartBroken
MAX_TICKETS_S: Final = 10.0  # of a round
RETAIN_S: Final = 300.0
_PASSING: Final = frozenset({408, 425, 429})  # of 4xx, those that may succeed later
_KNOWN: Final = 409  # the receiver has this key


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertTargets:
    """Whom a watch tells of cases.

    Attributes:
        alertmanager: Where alerts go; None for nowhere.
        tickets: The webhook for tickets; None for none.
        tickets_secret: What deliveries are signed with.
        alert_from: How sure a case must be to alert; once it did it does to its end.
        keep_audit_s: How long lines of the audit are kept.
    """

    alertmanager: DeviceAccess | None = None
    tickets: DeviceAccess | None = None
    tickets_secret: Secret | None = None
    alert_from: float = SURE
    keep_audit_s: float = 400 * 86400.0


@dataclass(slots=True, kw_only=True)
class _BackOff:
    """When to try again after failures, and what was logged of them."""

    name: str
    log: Callable[..., None]
    policy: RestPolicy = field(default_factory=lambda: RestPolicy(first_s=5.0, most_s=60.0))
    num_failures: int = 0
    next_s: float = 0.0

    def is_due(self, now_s: float) -> bool:
        return now_s >= self.next_s

    def failed(self, now_s: float, error: Exception) -> None:
        self.num_failures += 1
        self.next_s = now_s + self.policy.rest_s(self.name, self.num_failures)
        if self.num_failures == 1:
            self.log(f"{self.name}-failed", error=str(error))

    def succeeded(self) -> None:
        if self.num_failures:
            self.log(f"{self.name}-back", failures=self.num_failures)
        self.num_failures, self.next_s = 0, 0.0


@dataclass(slots=True, kw_only=True)
class AlertSender:
    """Sends open cases to Alertmanager, again before they run out there, and their ends.

    Attributes:
        access: Where it is.
        records: Where cases are; only the leader sends.
        cases: Gives those that are open.
        clock: To see how long it is since the last time.
        log: Told when it fails and when it works again.
        alert_from: How sure a case must be.
    """

    access: DeviceAccess
    records: CaseRecords
    cases: Callable[[], Sequence[Case]]
    clock: Clock
    log: Callable[..., None]
    alert_from: float = SURE
    _sent: dict[int, Case] | None = None
    _told: frozenset[tuple[int, str, str]] = frozenset()
    _sent_s: float = 0.0
    _rest: _BackOff = field(init=False)

    def __post_init__(self) -> None:
        """Begin well rested."""
        self._rest = _BackOff(name="alertmanager", log=self.log)

    def __call__(self, now_s: float) -> None:
        """Send what is due.

        Raises:
            OutputError: the cases cannot be read, or another watch leads.
        """
        if not self.records.leads():
            self._sent = None  # the watch that leads now goes on
            return
        ticks_s = self.clock.ticks_s()
        state = states(self.records.tables)
        wanted = [one for one in self.cases() if self._is_wanted(one, state)]
        sent = self._known(now_s, state)
        over = [one for number, one in sent.items() if number not in {c.number for c in wanted}]
        told = frozenset(_by_people(one, state.get(one.number, NO_STATE)) for one in wanted)
        is_new = bool(over) or bool(told - self._told)
        is_stale = bool(wanted) and ticks_s - self._sent_s >= RESEND_S
        if not (is_new or is_stale) or not self._rest.is_due(ticks_s):
            return
        fresh = [c.number for c in wanted if state.get(c.number, NO_STATE).alerted_s is None]
        mark_alerted(self.records.tables, fresh, now_s)  # refused where another watch leads
        fabric = self.records.fabric
        alerts = [
            alert_of(one, fabric, state=state.get(one.number, NO_STATE), ends_s=now_s + HOLD_S)
            for one in wanted
        ]
        alerts += [alert_of(one, fabric, ends_s=now_s) for one in over]
        try:
            post_alerts(self.access, alerts)
        except LabError as error:
            self._rest.failed(ticks_s, error)
            return
        self._rest.succeeded()
        self._sent, self._told, self._sent_s = {c.number: c for c in wanted}, told, ticks_s

    def _is_wanted(self, case: Case, state: dict[int, CaseState]) -> bool:
        is_alerted = state.get(case.number, NO_STATE).alerted_s is not None
        return not case.planned and (is_alerted or case.confidence >= self.alert_from)

    def _known(self, now_s: float, state: dict[int, CaseState]) -> dict[int, Case]:
        """Return what Alertmanager has of us; at first, what an earlier watch sent lately."""
        if self._sent is None:
            recent = case_history(self.records.tables, now_s - HOLD_S)
            self._sent = {
                one.number: one
                for one in recent
                if one.closed_s is not None
                and state.get(one.number, NO_STATE).alerted_s is not None
            }
        return self._sent


def _by_people(case: Case, state: CaseState) -> tuple[int, str, str]:
    """Return what is told at once when it changes."""
    return case.number, state.acknowledged_by, state.assignee


@dataclass(slots=True, kw_only=True)
class TicketSender:
    """Sends what happens to cases to a webhook, in its order, until it is taken.

    Attributes:
        access: Where it is.
        secret: What deliveries are signed with; None for no signature.
        records: Where cases are; only the leader sends.
        clock: The time.
        log: Told when it fails, when it works again, and what was refused.
    """

    access: DeviceAccess
    secret: Secret | None
    records: CaseRecords
    clock: Clock
    log: Callable[..., None]
    _seen: int = -1
    _rest: _BackOff = field(init=False)

    def __post_init__(self) -> None:
        """Begin well rested."""
        self._rest = _BackOff(name="tickets", log=self.log)

    @property
    def hook(self) -> str:
        """What the store calls it: not its address, which may hold a secret."""
        return hashlib.sha256(self.access.address.encode()).hexdigest()[:16]

    def __call__(self, now_s: float) -> None:
        """Send what is due, for some seconds at most.

        Raises:
            OutputError: the cases cannot be read, or another watch leads.
        """
        begun_s = self.clock.ticks_s()
        if not self.records.leads() or not self._rest.is_due(begun_s):
            return
        tables = self.records.tables
        lines, seen = next_deliveries(tables, self.hook)
        if not lines:
            if seen != self._seen:
                move_hook(tables, self.hook, seen)
                self._seen = seen
            return
        identity = store_id(tables)
        for line in lines:
            # Before each: a watch that leads no more sends nothing.
            move_hook(tables, self.hook, line.number - 1)
            try:
                self._deliver(line, identity)
            except LabError as error:
                if _may_pass(error):
                    self._rest.failed(self.clock.ticks_s(), error)
                    return
                self._refused(line, error, now_s)
            move_hook(tables, self.hook, line.number)
            self._rest.succeeded()
            if self.clock.ticks_s() - begun_s > MAX_TICKETS_S:
                return

    def _deliver(self, line: AuditEntry, identity: str) -> None:
        body = ticket_of(line, self.records.fabric, identity)
        sent_at = iso_time(self.clock.now_s())
        signed = signature(self.secret.reveal(), sent_at, body) if self.secret else ""
        key = delivery_key(line, identity)
        try:
            deliver(self.access, body, key=key, sent_at=sent_at, signed=signed)
        except HttpStatusError as error:
            if error.status != _KNOWN:
                raise

    def _refused(self, line: AuditEntry, error: LabError, now_s: float) -> None:
        """Write down what the receiver will never take, and go on with the next."""
        self.log("ticket-refused", case=line.case, error=str(error))
        with self.records.tables.changing() as file:
            add_audit(
                file,
                AuditEntry(
                    time_s=now_s,
                    who=WATCH,
                    login=WATCH,
                    act="ticket-refused",
                    case=line.case,
                    part=line.part,
                    text=f"line {line.number}: {error}",
                ),
            )


def _may_pass(error: LabError) -> bool:
    """Return whether a delivery may succeed later: all but what the receiver says is wrong."""
    if not isinstance(error, HttpStatusError):
        return True
    return error.status // 100 != 4 or error.status in _PASSING


@dataclass(slots=True, kw_only=True)
class RecordsKeeper:
    """Keeps cases and audit within their time."""

    records: CaseRecords
    clock: Clock
    cases_s: float
    audit_s: float
    _done_s: float | None = None

    def __call__(self, now_s: float) -> None:
        """Remove what is old, every few minutes.

        Raises:
            OutputError: the cases cannot be written, or another watch leads.
        """
        ticks_s = self.clock.ticks_s()
        is_due = self._done_s is None or ticks_s - self._done_s >= RETAIN_S
        if is_due and self.records.leads():
            self._done_s = ticks_s
            forget_old(self.records.tables, now_s, cases_s=self.cases_s, audit_s=self.audit_s)


@dataclass(slots=True, kw_only=True)
class Guarded:
    """Does something after each round; what fails is said once, and the watch goes on."""

    name: str
    act: Callable[[float], None]
    log: Callable[..., None]
    _failing: bool = False

    def __call__(self, now_s: float) -> None:
        """Try it."""
        try:
            self.act(now_s)
        except NetloomError as error:
            if not self._failing:
                self.log(f"{self.name}-failed", error=str(error))
            self._failing = True
        else:
            self._failing = False
