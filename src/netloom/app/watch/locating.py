"""Locate again and again while watching, and follow each finding from its first to its last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from netloom.errors import NetloomError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.telemetry import read_window
from netloom.ops.observe.cases import Case, CaseChange, follow_cases, open_cases, write_cases
from netloom.spec.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.drivers.clock import Clock
    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.observe.observation import Collector
    from netloom.ops.observe.store import ObservationStore
    from netloom.parts.parts import Technology

__all__ = ["Locator", "Prober"]

WINDOW_S: Final = 600.0  # as the alert rules look back
SHARE: Final = 0.1  # of the time that locating may take


@runtime_checkable
class Prober(Protocol):
    """A collector that also sees flows or probes."""

    @property
    def observed(self) -> Observed | None:
        """Those of the last look; None while it has none that are fresh."""


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
    _due_s: float = 0.0
    _begun: bool = field(default=False)

    def __call__(self, now_s: float, failing: Sequence[str] = ()) -> None:
        """Locate, unless that would take too much of the time.

        Args:
            now_s: The time.
            failing: Sources that were not seen this round.

        Raises:
            OutputError: the store cannot be written.
        """
        if not self._begun:
            self.cases, self._begun = open_cases(self.store), True
        begun_s = self.clock.ticks_s()
        if begun_s < self._due_s:
            return
        found = [self._case(one, now_s) for one in self._findings(now_s)]
        change = follow_cases(
            self.cases,
            found,
            now_s,
            may_close=not self.vital & set(failing),
            explained=self._cables_of_silent(found),
        )
        if change.cases or change.closed:
            write_cases(self.store, change)
        self.cases = change.cases  # remembered only once it is on disk
        self._tell(change)
        took_s = self.clock.ticks_s() - begun_s
        self._due_s = begun_s + took_s / SHARE

    def _findings(self, now_s: float) -> tuple[Finding, ...]:
        heard = read_window(self.store, now_s - self.window_s, now_s)
        parts = [c.observed for c in self.collectors if isinstance(c, Prober) and c.observed]
        planned = self._planned()
        try:
            return locate_all(self.network, heard, _joined(parts), self.technology, planned)
        except SpecError as error:  # flows that name what is not in the network
            self.log("flows-refused", error=str(error))
            return locate_all(self.network, heard, None, self.technology, planned)

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

    def _case(self, finding: Finding, now_s: float) -> Case:
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
        )

    def _tell(self, change: CaseChange) -> None:
        for word, cases in (("opened", change.opened), ("closed", change.closed)):
            for case in cases:
                fields = {"part": case.label, "kind": case.kind, "confidence": case.confidence}
                self.log(f"finding-{word}", **fields, evidence=case.evidence)
                why = f": {'; '.join(case.evidence)}" if word == "opened" else ""
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
