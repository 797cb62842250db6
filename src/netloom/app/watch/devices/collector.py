"""A real device as a collector: looked at within its deadline, left to rest after failures."""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from netloom.app.watch.devices.health import DeviceHealth, RestPolicy
from netloom.app.watch.devices.poller import Poller
from netloom.errors import LabError, NetloomError
from netloom.ops.observe.devices import mapping_of, printable
from netloom.ops.observe.observation import Event, Observation, Reading, failed
from netloom.ops.observe.versions import SeenVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

    from netloom.ops.observe.devices import DeviceReport, PortValue, SeenEvent, SeenNeighbour
    from netloom.ops.observe.port_names import PortNames

__all__ = ["DeviceCollector"]

MAX_VALUES: Final = 500_000  # 512 ports with 10 queues of 20 numbers, and room
MAX_VERSIONS: Final = 1000
GRACE_S: Final = 0.5  # a driver keeps its own deadline; this is for one that cannot
MAX_EVENTS: Final = 2000  # of one look
MAX_TEXT: Final = 300
MAX_QUEUE_S: Final = 60.0  # for a thread, while many devices are slow
MAX_DEVICES: Final = 100_000  # that one speaks of
STEP_S: Final = 0.05


@dataclass(slots=True, kw_only=True, eq=False)
class DeviceCollector:
    """One device, asked one way.

    Attributes:
        source: Kind and name.
        look: Asks the device once.
        names: What its ports are in the design.
        deadline_s: How long a look may take.
        policy: How long it rests after failures.
        poller: Looks at others meanwhile.
        neighbours: What its ports saw at the last good look; None where it does not tell.
        aliases: Other names of its ports.
        rates_bps: What its ports ran at, then; by part.
        health: How well it answers.
        versions: What it said that it runs, when it last did.
    """

    source: str
    look: Callable[[], DeviceReport]
    names: PortNames
    deadline_s: float
    policy: RestPolicy = field(default_factory=RestPolicy)
    poller: Poller = field(default_factory=Poller)
    neighbours: tuple[SeenNeighbour, ...] | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    rates_bps: Mapping[str, float] = field(default_factory=dict)
    health: DeviceHealth = field(init=False)
    versions: tuple[SeenVersion, ...] = ()
    _future: Future[DeviceReport] | None = None
    _started_s: float | None = None
    _is_late: bool = False
    _parts: dict[tuple[str, str, str, str], str] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _others: dict[str, PortNames] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take part in the looks."""
        self.health = DeviceHealth(source=self.source)
        self.poller.join(self)

    def is_due(self, time_s: float) -> bool:
        """Return whether it should be looked at: no look is under way, and it does not rest."""
        if self._is_late and self._future is not None and self._future.done():
            self._future, self._is_late = None, False  # what came too late is of the past
        return self._future is None and time_s >= self.health.next_s

    def begin(self, future: Future[DeviceReport]) -> None:
        """Take over a look that waits to be begun."""
        self._future, self._started_s = future, None

    def look_now(self) -> DeviceReport:
        """Ask the device, on whatever thread this is; its time begins to run."""
        self._started_s = time.monotonic()
        return self.look()

    def read(self, time_s: float, cursor: str) -> Reading:
        """Return what the device says; all others that are due are asked at the same time."""
        self.poller.serve(self, time_s)
        if self._future is None:
            wait_s = self.health.next_s - time_s
            text = f"rests for {wait_s:.0f} s more after {self.health.num_failures} failures"
            return failed(self.source, time_s, f"{text}: {self.health.error}", cursor=cursor)
        try:
            report = self._result()
            seen = list(self._observed(report, time_s))
        except NetloomError as error:
            text = printable(str(error), 400)
            self.neighbours, self.rates_bps = None, {}
            self.health = self.health.failed(time_s, text, self.policy)
            return failed(self.source, time_s, text, cursor=cursor)
        return self._good(report, seen, time_s, cursor)

    def _good(
        self, report: DeviceReport, seen: list[Observation], time_s: float, cursor: str
    ) -> Reading:
        missing = printable(report.missing, 400)
        self.aliases = report.aliases
        self.rates_bps = {one.part: one.value for one in seen if one.metric == "rate_bps"}
        self.neighbours = None if report.neighbours is None else tuple(report.neighbours)
        self.health = self.health.answered(time_s, missing)
        events, cursor = self._versions(report, time_s, cursor)
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=seen,
            events=[*self._happened(report, time_s), *events],
            cursor=cursor,
            is_whole=not missing,
            error=missing,
        )

    def _versions(
        self, report: DeviceReport, time_s: float, cursor: str
    ) -> tuple[list[Event], str]:
        """Take over what it runs; return what changed since the last look that told, also before.

        The cursor, which nothing else of a device uses, keeps what was told last.
        """
        told = {printable(k): printable(v) for k, v in list(report.versions.items())[:MAX_VERSIONS]}
        told = {component: text for component, text in told.items() if text}
        if not told:
            return [], cursor
        kind, _, name = self.source.partition(" ")
        part, model = self.names.device, told.pop("model", "")
        self.versions = tuple(
            SeenVersion(kind, model, name, component, text) for component, text in told.items()
        )
        before = _stored(cursor)
        events = [
            Event(
                time_s=time_s,
                part=part,
                kind="version",
                text=f"{component}: {before.get(component, 'not seen before')} -> {text}",
                key=f"version {component} {time_s:.6f}",
            )
            for component, text in told.items()
            if before.get(component) != text
        ]
        return events, json.dumps({**before, **told}) if events else cursor

    def _result(self) -> DeviceReport:
        """Wait for the look under way, to its deadline.

        Raises:
            LabError: the device cannot be seen.
        """
        future = self._future
        assert future is not None
        if self._is_late or not self._is_done(future):
            self._is_late = True  # it stays under way: a device is never asked twice at a time
            message = f"no whole answer within {self.deadline_s:g} s"
            raise LabError(message)
        self._future = None
        error = future.exception()
        if error is not None and not isinstance(error, NetloomError):
            message = f"the look failed ({type(error).__name__}: {error})"
            raise LabError(message) from error
        return future.result()

    def _is_done(self, future: Future[DeviceReport]) -> bool:
        """Wait until a look is over or its time is; time counts from when a thread began it."""
        until_s = time.monotonic() + MAX_QUEUE_S
        while not future.done():
            if self._started_s is not None:
                until_s = self._started_s + self.deadline_s + GRACE_S
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return False
            wait([future], timeout=left_s if self._started_s is not None else min(left_s, STEP_S))
        return True

    def _observed(self, report: DeviceReport, time_s: float) -> Iterator[Observation]:
        if len(report.values) > MAX_VALUES:
            message = f"says {len(report.values)} numbers, more than {MAX_VALUES}"
            raise LabError(message)
        last = {
            (self._part(one, report, one.inside), one.metric): one
            for one in report.values
            if math.isfinite(one.value)
        }
        for (part, metric), one in last.items():
            yield Observation(time_s, part, metric, float(one.value))

    def _happened(self, report: DeviceReport, time_s: float) -> Iterator[Event]:
        """Give what happened since the last look; devices tell what lasts again and again."""
        last, self._told = self._told, {one.key for one in report.events}
        for one in [one for one in report.events if one.key not in last][:MAX_EVENTS]:
            yield Event(
                time_s=time_s,
                part=self._part(one, report),
                kind=one.kind,
                text=printable(one.text, MAX_TEXT),
                key=printable(one.key, MAX_TEXT),
            )

    def _part(self, one: PortValue | SeenEvent, report: DeviceReport, inside: str = "") -> str:
        """Return the part that something is said of; a port is named once, not for each number."""
        alias = report.aliases.get(one.port, "")
        key = (one.device, one.port, inside, alias)
        part = self._parts.get(key)
        if part is None:
            part = self.names_of(one.device).of(one.port, inside, alias)
            if len(self._parts) < MAX_VALUES:
                self._parts[key] = part
        return part

    def names_of(self, device: str) -> PortNames:
        """Return what the ports of a device are that this one speaks of; empty for its own."""
        if not device:
            return self.names
        if device not in self._others and len(self._others) < MAX_DEVICES:
            self._others[device] = replace(self.names, name=device, part="", ports={})
        return self._others.get(device, self.names)


def _stored(cursor: str) -> dict[str, str]:
    """Return the versions that were told last; none where another netloom wrote the cursor."""
    try:
        found = json.loads(cursor or "{}")
    except ValueError:
        return {}
    return mapping_of(found)
