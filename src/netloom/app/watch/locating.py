"""Locate again and again while watching, and follow each finding from its first to its last."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from netloom.errors import NetloomError, SpecError
from netloom.fabric.part_id import CABLE, PartId
from netloom.ops.cases.lease import CaseRecords, LeaseLostError, RecordsUnreachableError
from netloom.ops.cases.maintenance import all_windows, covered, drained_cables
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.locate import locate_added, locate_window
from netloom.ops.locate.looks.next_probes import leads_of
from netloom.ops.locate.looks.sequential import AddedFlows, probes_per_link, smallest_loss
from netloom.ops.locate.looks.settling import (
    settled_flows,
    settling_cables,
    unconfirmed,
    without_endings,
)
from netloom.ops.locate.read import observations_of
from netloom.ops.locate.telemetry import read_window
from netloom.ops.observe.cases import Case, CaseChange, follow_cases, open_cases, write_cases
from netloom.spec.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from netloom.drivers.clock import Clock
    from netloom.ops.locate.congested.report import Congestion
    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.looks.next_probes import Lead
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.observation import Collector
    from netloom.ops.observe.store import ObservationStore
    from netloom.ops.plant import Cable
    from netloom.parts.parts import Technology

__all__ = ["AimedProber", "Locator", "Prober"]

WINDOW_S: Final = 600.0  # as the alert rules look back
WITHIN_S: Final = 60.0  # for which the smallest loss that is found is told
NODE: Final = "node"
SHARE: Final = 0.1  # of the time that locating may take
MAX_KEPT: Final = 60  # looks whose flows wait for the next time
# A cable that flaps is down at one look and up at the next.
WORSE: Final = {Trouble.FLAPPING.value: Trouble.MISSING.value}


@runtime_checkable
class Prober(Protocol):
    """A collector that also sees flows or probes."""

    @property
    def observed(self) -> Observed | None:
        """Those of the last look; None while it has none that are fresh."""


@runtime_checkable
class AimedProber(Protocol):
    """A prober that sends more probes where something is suspected."""

    def aim(self, leads: Mapping[int, Lead]) -> None:
        """Send some across these cables from the next look on; nothing more where there are none.

        Args:
            leads: What is suspected of each cable, by its number.
        """


@dataclass(slots=True, kw_only=True)
class Locator:
    """Says what is broken, from what a watch has stored.

    Attributes:
        store: What was seen, and where findings go.
        network: As designed.
        technology: How losses are recovered.
        collectors: Of the watch; those that see flows are asked for them.
        clock: To see how long it takes.
        log: Told when a finding begins and ends.
        say: Given a line for people each time.
        vital: Sources without which nothing is held to be over: what is not seen is not repaired.
        window_s: How far it looks back.
        planned: Gives the numbers of the cables that are drained on purpose.
        cases: The findings that are open, the surest first.
        congestion: Links that were congested at the last look, the most crossed first.
        added: The flows of all looks, to find losses too small for one.
        records: Where cases are, and whether this watch leads; default: in the store.
    """

    store: ObservationStore
    network: DesignedNetwork
    technology: Technology
    collectors: Sequence[Collector]
    clock: Clock
    log: Callable[..., None]
    say: Callable[[str], None]
    vital: frozenset[str] = frozenset()
    window_s: float = WINDOW_S
    planned: Callable[[], frozenset[int]] = frozenset
    cases: tuple[Case, ...] = ()
    congestion: tuple[Congestion, ...] = ()
    added: AddedFlows = field(default_factory=AddedFlows)
    _explained: frozenset[str] = frozenset()
    _taken: dict[str, Observed] = field(default_factory=dict)
    _kept: deque[tuple[float, Observed]] = field(default_factory=lambda: deque(maxlen=MAX_KEPT))
    _rates: dict[str, float] = field(default_factory=dict)
    _looked_s: float = 0.0
    records: CaseRecords | None = None
    _due_s: float = 0.0
    _is_unreachable: bool = False
    _doubted: frozenset[tuple[PartId, str]] = frozenset()

    def __call__(self, now_s: float, failing: Sequence[str] = ()) -> None:
        """Locate, unless that would take too much of the time.

        Args:
            now_s: The time.
            failing: Sources that were not seen this round.

        Raises:
            OutputError: the store cannot be written.
        """
        records = self.records or CaseRecords(tables=self.store)
        begun_s = self.clock.ticks_s()
        self._keep(now_s)
        if begun_s < self._due_s:
            return
        try:
            self._follow(records, now_s, failing)
        except RecordsUnreachableError as error:
            self._tell_unreachable(str(error))
        except LeaseLostError:
            self.log("lead-lost")
        else:
            self._tell_unreachable("")
        took_s = self.clock.ticks_s() - begun_s
        self._due_s = begun_s + took_s / SHARE

    def hurry(self) -> None:
        """Locate at the next call, however little time has passed: this watch leads now."""
        self._due_s = 0.0

    def _follow(self, records: CaseRecords, now_s: float, failing: Sequence[str]) -> None:
        before = open_cases(records.tables)  # people close cases too
        windows = all_windows(records.tables)
        if not records.leads():
            self.cases = before
            return
        drained = drained_cables(windows, now_s, self._parts_of)
        why = covered(windows, now_s, self._parts_of)
        found = [self._case(one, now_s, why) for one in self._findings(now_s, drained)]
        found = self._confirmed(before, found)
        may_close = not self.vital & set(failing)
        change = follow_cases(
            before,
            without_endings(before, found, self._cables) if may_close else found,
            now_s,
            may_close=may_close,
            explained=self._cables_of_silent(found),
            worse=WORSE,
        )
        if change.cases or change.closed:
            change = write_cases(records.tables, change, now_s=now_s)
        self.cases = change.cases  # remembered only once it is on disk
        self._tell(change)

    def _confirmed(self, before: Sequence[Case], found: Sequence[Case]) -> list[Case]:
        """Return what was found, less what another look must confirm."""
        self._doubted = unconfirmed(before, found, self._doubted, self._most_lost)
        return [case for case in found if case.key not in self._doubted]

    def _most_lost(self, case: Case) -> int:
        """Return the most packets that a flow of the last look lost across the part of a case."""
        links = self._links_of([case.part])
        seen = [c.observed for c in self.collectors if isinstance(c, Prober) and c.observed]
        return max(
            (
                flow.lost
                for one in seen
                for flow in one.flows
                if flow.lost and not links.isdisjoint(flow.path or ())
            ),
            default=0,
        )

    def _tell_unreachable(self, error: str) -> None:
        """Say once that cases cannot be written, and once that they can again."""
        if bool(error) != self._is_unreachable:
            self._is_unreachable = bool(error)
            if error:
                self.log("records-unreachable", error=error)
            else:
                self.log("records-back")

    def _findings(self, now_s: float, drained: frozenset[int]) -> tuple[Finding, ...]:
        heard = read_window(self.store, now_s - self.window_s, now_s)
        parts = [c.observed for c in self.collectors if isinstance(c, Prober) and c.observed]
        planned = self._planned() | drained
        self._add(heard)
        try:
            now = locate_window(self.network, heard, _joined(parts), self.technology, planned)
            self._explained = self._links_of([one.part for one in now.findings])
            more = self._added_up(heard, now.findings)
        except SpecError as error:  # flows that name what is not in the network
            self.log("flows-refused", error=str(error))
            now = locate_window(self.network, heard, None, self.technology, planned)
            more = ()
        self.congestion = now.congestion
        return (*now.findings, *more)

    def _added_up(self, heard: TelemetryWindow, now: Sequence[Finding]) -> tuple[Finding, ...]:
        """Return what only many looks together show, unless it is over; probes are aimed at it."""
        told = {part for one in now for part in (one.part.whole, *self._cables(one.part))}
        added = self.added.observed()
        if not added.flows:
            return ()
        found = locate_added(self.network, heard, added, self.technology)
        fresh = [one for one in found if not told & {one.part.whole, *self._cables(one.part)}]
        self._aim(added, [*now, *fresh])
        return tuple(
            replace(one, evidence=(*one.evidence, "too little for one look: many added up"))
            for one in fresh
            if not self.added.is_burst(self._links_of([one.part]))
            and not self.added.settle(self._links_of([one.part]), one.magnitude)
        )

    def _add(self, heard: TelemetryWindow) -> None:
        """Add the flows of the looks since the last time."""
        settling = settling_cables(self.network, heard)
        while self._kept:
            time_s, seen = self._kept.popleft()
            self.added.add(settled_flows(self.network, seen, settling), time_s, self._explained)

    def _keep(self, now_s: float) -> None:
        """Keep the flows of this look, of each source once."""
        for one in self.collectors:
            seen = one.observed if isinstance(one, Prober) else None
            if seen is not None and self._taken.get(one.source) is not seen:
                self._taken[one.source] = seen
                self._kept.append((now_s, seen))
                self._count(seen, now_s)

    def _count(self, seen: Observed, now_s: float) -> None:
        """Keep how many packets a second cross the least crossed link that is crossed."""
        links = {link for flow in seen.flows for link in (flow.path or ())[1:-1]}
        packets = probes_per_link(seen.flows, links)
        if self._looked_s:
            self._rates["packets_per_s"] = packets / max(now_s - self._looked_s, 1e-3)
        self._looked_s = now_s

    @property
    def smallest_loss(self) -> tuple[float, float] | None:
        """Packets a second across the least probed link, and the smallest loss found in 60 s."""
        rate = self._rates.get("packets_per_s", 0.0)
        share = smallest_loss(rate, WITHIN_S)
        return None if share is None else (rate, share)

    def _aim(self, added: Observed, known: Sequence[Finding]) -> None:
        """Tell probers what to look at more closely: whatever lost and is not told of yet."""
        aimed = [one for one in self.collectors if isinstance(one, AimedProber)]
        if not aimed:
            return
        cables = {cable.number for one in known for cable in self._cables_at(one.part)}
        leads = leads_of(self.network.fabric, observations_of(self.network.fabric, added), cables)
        for one in aimed:
            one.aim(leads)

    def _cables_at(self, part: PartId) -> Sequence[Cable]:
        if part.kind == CABLE:
            cable = self.network.cables.get(part.index)
            return () if cable is None else (cable,)
        return self.network.by_device.get(str(part.whole), ())

    def _cables(self, part: PartId) -> frozenset[PartId]:
        """Return the cables of a device, or the cable itself."""
        return frozenset(PartId.cable(cable.number) for cable in self._cables_at(part))

    def _links_of(self, parts: Iterable[PartId]) -> frozenset[str]:
        """Return both ways of all cables of some parts, as paths name them."""
        names: set[str] = set()
        for part in parts:
            for cable in self._cables_at(part):
                lower, upper = self.network.devices_of(cable)
                for way in (f"{lower}->{upper}", f"{upper}->{lower}"):
                    names |= {way, f"{way}#{cable.number}"}
        return frozenset(names)

    def _planned(self) -> frozenset[int]:
        try:
            return self.planned()
        except NetloomError as error:  # then a drain is told as a session that is down
            self.log("drains-unknown", error=str(error))
            return frozenset()

    def _cables_of_silent(self, found: Sequence[Case]) -> frozenset[PartId]:
        """Return the cables of devices that are silent: before that was clear each was a case."""
        return frozenset(
            PartId.cable(cable.number)
            for case in found
            if case.kind == Trouble.SILENT
            for cable in self.network.by_device.get(str(case.part), ())
        )

    def _parts_of(self, part: PartId) -> frozenset[PartId]:
        """Return the cables of a device; the NIC ports of a node, and theirs."""
        names = self.network.nics_of(part.index) if part.kind == NODE else (str(part),)
        cables = (
            PartId.cable(cable.number)
            for name in names
            for cable in self.network.by_device.get(name, ())
        )
        return frozenset((*(PartId.parse(name) for name in names), *cables))

    def _case(self, finding: Finding, now_s: float, why: Mapping[PartId, str]) -> Case:
        return Case(
            part=finding.part.whole,
            label=str(finding.part),
            kind=finding.kind,
            confidence=finding.confidence,
            magnitude=finding.magnitude,
            evidence=finding.evidence,
            hurts=len(finding.hurts),
            opened_s=now_s,
            seen_s=now_s,
            planned=why.get(finding.part.whole, ""),
        )

    def _tell(self, change: CaseChange) -> None:
        for word, cases in (("opened", change.opened), ("closed", change.closed)):
            for case in cases:
                fields = {"part": case.label, "kind": case.kind, "confidence": case.confidence}
                fields |= {"case": case.number, "planned": case.planned}
                self.log(f"finding-{word}", **fields, evidence=case.evidence)
                why = f": {'; '.join(case.evidence)}" if word == "opened" else ""
                why += f" (planned: {case.planned})" if case.planned else ""
                self.say(f"{word}: {case.label}: {case.kind}, {case.confidence:.0%} sure{why}")
        if change.num_left_out:
            self.log("findings-left-out", count=change.num_left_out)


def _joined(parts: Sequence[Observed]) -> Observed | None:
    if not parts:
        return None
    return Observed(
        flows=tuple(flow for part in parts for flow in part.flows),
        links=tuple(link for part in parts for link in part.links),
        switches=tuple(switch for part in parts for switch in part.switches),
    )
