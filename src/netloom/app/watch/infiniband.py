"""InfiniBand: one look at every port of a subnet, and the log of its manager."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.app.watch.view import View
from netloom.drivers import ibdiags
from netloom.drivers.follow import Position, follow
from netloom.drivers.ibdiags import port_counters
from netloom.errors import LabError
from netloom.formats.infiniband.cables import built_of_links, nominal_bps, scanned_ports
from netloom.ops.observe.identity import shared_guids, shared_lids
from netloom.ops.observe.metrics import DIAGS
from netloom.ops.observe.observation import Event, Observation, Reading, whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from netloom.formats.infiniband.diags import LinkRow, PortErrors
    from netloom.ops.observe.compare import Built
    from netloom.ops.observe.naming import Naming
    from netloom.ops.plant import Plant

__all__ = ["ManagerLog", "SubnetCounters", "SubnetLinks", "Vantage"]

MAX_EVENTS: Final = 2000  # of one look
# Where counters stop: InfiniBand Architecture Specification, volume 1, PortCounters (recalled).
FULL: Final = {
    "symbol_errors": 0xFFFF,
    "link_recoveries": 0xFF,
    "link_downs": 0xFF,
    "receive_errors": 0xFFFF,
    "remote_physical_errors": 0xFFFF,
    "relay_errors": 0xFFFF,
    "send_discards": 0xFFFF,
    "integrity_errors": 0xF,
    "buffer_overruns": 0xF,
}
# A port that has a neighbour and waits for a subnet manager: InfiniBand Architecture
# Specification, volume 1, PortInfo.PortState.
IDLE: Final = ("Init", "Initialize", "Armed")
CUT_OFF: Final = "sees half of the devices or fewer; the place it looks from may be cut off"

_LINE: Final = re.compile(r"0x(?P<level>[0-9A-Fa-f]{1,8}) -> (?P<text>.*)", re.ASCII)
_STATE: Final = re.compile(r"Entering (DISCOVERING|MASTER|STANDBY|NOT-ACTIVE) state")
_TABLES: Final = re.compile(r"([A-Za-z0-9-]{1,20}) tables configured on all switches")
_IS_ERROR: Final = re.compile(r"\bERR [0-9A-F]{4}\b|No routing engine able|PARSE ERROR", re.ASCII)


@dataclass(slots=True, kw_only=True)
class Vantage:
    """Where to look from: the first place from which most of the subnet is seen.

    A host whose own cable or leaf is down sees nothing but itself, and would call all else dead.

    Attributes:
        clients: Places, the best first; it moves on from one that is cut off.
        num_devices: Of the subnet, as designed.
    """

    clients: tuple[ibdiags.Client, ...]
    num_devices: int
    _best: int = 0

    @property
    def client(self) -> ibdiags.Client:
        """The place that saw most when last looked from."""
        return self.clients[self._best]

    def sees_most(self, rows: Iterable[LinkRow]) -> bool:
        """Return whether *rows* are of more than half of the devices."""
        return 2 * len({row.guid for row in rows}) > self.num_devices

    def links(self) -> tuple[LinkRow, ...]:
        """Return what is seen from the first place that sees most, else the most there is.

        Raises:
            LabError: nothing is seen from anywhere.
        """
        found: dict[int, tuple[LinkRow, ...]] = {}
        trouble: LabError | None = None
        for index in sorted(range(len(self.clients)), key=lambda one: one != self._best):
            try:
                found[index] = ibdiags.links(self.clients[index])
            except LabError as error:
                trouble = error
                continue
            if self.sees_most(found[index]):
                break
        if not found:
            assert trouble is not None
            raise trouble
        self._best = max(found, key=lambda one: len(found[one]))
        return found[self._best]


@dataclass(slots=True, kw_only=True)
class SubnetLinks:
    """The ports of one subnet: state and rate; and whether a subnet manager answers.

    It goes by directed routes, so it sees also what no manager has configured.

    Attributes:
        source: Its name.
        vantage: From where it looks.
        naming: What devices and ports are called there.
        ports: Parts that should be there: their state is told also while they are down.
        plant: What should be there, to tell a GUID that two devices have from a wrong cable.
        view: What the last look saw, for audits and exporters.
        seen_s: When it last saw most of the subnet; None while it does not.
    """

    source: str
    vantage: Vantage
    naming: Naming
    ports: frozenset[str]
    plant: Plant | None = None
    view: View | None = None
    seen_s: float | None = None

    @property
    def built(self) -> Built | None:
        """The cables that the last look saw."""
        return None if self.view is None else self.view.built

    def read(self, time_s: float, cursor: str) -> Reading:
        """Look at every port once."""
        self.seen_s = None
        rows = self.vantage.links()
        master = Observation(time_s, self.source, "sm_master", float(self._has_master()))
        self.view = View.of_links(rows, self.naming, built_of_links(rows, self.naming))
        sees_most = self.vantage.sees_most(rows)
        self.seen_s = time_s if sees_most else None
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=[*self._states(rows, time_s), *self._shared(rows, time_s), master],
            cursor=cursor,
            is_whole=True,
            error="" if sees_most else CUT_OFF,
        )

    def _has_master(self) -> bool:
        """Return whether a subnet manager answers as master; its log would not say it died.

        Where none does it is asked from the other places too: the way to it may be cut, not it.
        """
        best = self.vantage.client
        return any(map(_sees_master, (best, *(c for c in self.vantage.clients if c != best))))

    def _shared(self, rows: Iterable[LinkRow], time_s: float) -> Iterable[Observation]:
        """Give the devices that share a GUID or a LID."""
        ports = scanned_ports(rows, self.naming)
        if self.plant is not None:
            yield from shared_guids(self.plant, ports, time_s)
        yield from shared_lids(ports, time_s)

    def _states(self, rows: Iterable[LinkRow], time_s: float) -> Iterable[Observation]:
        for row in rows:
            part = str(self.naming.jack(row.name, row.port))
            is_up = row.state == "Active" and row.physical_state == "LinkUp"
            if is_up or part in self.ports:
                yield Observation(time_s, part, "link_up", float(is_up))
            if row.state in IDLE and row.physical_state == "LinkUp":
                yield Observation(time_s, part, "port_waits", 1.0)
            elif row.state == "Active" and not row.peer_name:
                yield Observation(time_s, part, "port_dark", 1.0)
            rate_bps = nominal_bps(row.width, row.lane_gbps)
            if is_up and rate_bps is not None:
                yield Observation(time_s, part, "rate_bps", rate_bps)


def _sees_master(client: ibdiags.Client) -> bool:
    try:
        return ibdiags.manager(client).state == "master"
    except LabError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetCounters:
    """What the ports of one subnet counted.

    It asks the subnet manager for each path, so without a manager it fails; links are still seen.
    """

    source: str
    vantage: Vantage
    naming: Naming

    def read(self, time_s: float, cursor: str) -> Reading:
        """Ask every port once."""
        client = self.vantage.client
        counted = port_counters(client.run, client.folder)
        seen = [one for port in counted for one in self._counters(port, time_s)]
        full = sorted(
            f"{o.part}.{o.metric}" for o in seen if o.value >= FULL.get(o.metric, math.inf)
        )
        told = set(cursor.split("\n"))
        events = [_full(name, time_s) for name in full if name not in told]
        reading = whole(self.source, time_s, seen, cursor="\n".join(full[:MAX_EVENTS]))
        return replace(reading, events=events[:MAX_EVENTS])

    def _counters(self, port: PortErrors, time_s: float) -> Iterable[Observation]:
        part = str(self.naming.jack(port.name, port.port))
        for name, count in port.counters.items():
            metric = DIAGS.get(name)
            if metric is not None:
                yield Observation(time_s, part, metric.name, float(count * metric.scale))


def _full(name: str, time_s: float) -> Event:
    part, _, metric = name.rpartition(".")
    text = f"{metric} of {part} stands at its largest value and counts no more; clear it"
    return Event(time_s=time_s, part=part, kind="counter-full", text=text, key=f"{name} {time_s}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerLog:
    """The log of one OpenSM: errors, changes of state, and engines not asked for.

    Its lines have no year and the time of its own zone; an event has the time at which it was
    read, and the line as it stands.

    Attributes:
        source: Its name.
        path: The log.
        part: What the manager is called.
        engine: The routing engine asked for; empty where any will do.
    """

    source: str
    path: Path
    part: str
    engine: str = ""

    def read(self, time_s: float, cursor: str) -> Reading:
        """Read what was logged since."""
        before = Position.from_text(cursor)
        grown = follow(self.path, before)
        events: list[Event] = []
        place = grown.start
        for line in grown.text.splitlines(keepends=True):
            kind = self._kind(line)
            if kind and len(events) < MAX_EVENTS:
                key = f"{grown.position.inode}:{place}"
                text = line.strip()[:300]
                events.append(Event(time_s=time_s, part=self.part, kind=kind, text=text, key=key))
            place += len(line.encode("utf-8", errors="replace"))
        return Reading(
            source=self.source, time_s=time_s, events=events, cursor=grown.position.to_text()
        )

    def _kind(self, line: str) -> str:
        """Return which kind of event a line is; empty for none."""
        match = _LINE.search(line)
        said = match["text"] if match else line
        if _STATE.search(said):
            return "sm-state"
        if tables := _TABLES.search(said):
            return "" if self.engine in {"", tables[1]} else "sm-fallback"
        return "sm-error" if _IS_ERROR.search(said) else ""
