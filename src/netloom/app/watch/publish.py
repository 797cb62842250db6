"""What a watch tells the world after each round: metrics and health."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.app.watch.cabling import CablingAudit
from netloom.app.watch.infiniband import SubnetLinks
from netloom.formats.prometheus.metrics import (
    DeviceIdentity,
    Now,
    PortNeighbour,
    Suspect,
    families_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from netloom.drivers.metrics_server import Server
    from netloom.drivers.remote_write import RemoteWriter
    from netloom.ops.observe.cases import Case
    from netloom.ops.observe.designed import Designed
    from netloom.ops.observe.observation import Collector
    from netloom.ops.observe.store import ObservationStore

__all__ = ["Publisher", "health_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Puts what is seen into a server.

    Attributes:
        store: What is seen.
        designed: What should be there.
        collectors: Of the watch.
        server: Where it goes; None to serve nothing.
        remote: Where it goes beyond this machine; None for nowhere.
        stale_s: A source not seen well for longer than this is left out, and health says so.
        cases: Gives the findings that are open, the surest first.
        leads: Whether this watch writes them.
    """

    store: ObservationStore
    designed: Designed
    collectors: Sequence[Collector]
    server: Server | None
    stale_s: float
    cases: Callable[[], Sequence[Case]] = tuple
    remote: RemoteWriter | None = None
    leads: Callable[[], bool] = lambda: True

    def __call__(self, now_s: float) -> None:
        """Tell what is seen now."""
        if self.server is None and self.remote is None:
            return
        health = health_of(self.store, now_s, stale_s=self.stale_s)
        fresh = {one["source"] for one in health["sources"] if one["fresh"]}
        views = [c.view for c in self.collectors if isinstance(c, SubnetLinks) and c.view]
        now = Now(
            values=self._values(fresh),
            devices=self._devices(),
            neighbours=[
                PortNeighbour(device=u.device, port=u.port, peer=u.peer, peer_port=u.peer_port)
                for view in views
                for u in view.uplinks
            ],
            polls=self.store.last_polls(),
            good_polls=self.store.last_good_polls(),
            differences=self._differences(),
            store_bytes=self.store.used_bytes,
            findings=[
                Suspect(part=case.label, kind=case.kind, confidence=case.confidence)
                for case in self.cases()
            ],
            remote=self.remote.counts if self.remote else {},
            leads=self.leads(),
        )
        families = families_of(now)
        if self.server is not None:
            self.server.put(families.text().encode(), health)
        if self.remote is not None:
            self.remote.put(now_s, list(families.samples()))

    def _values(self, fresh: set[str]) -> Iterator[tuple[str, str, float]]:
        """Give each number once: Prometheus refuses all of a scrape that has one twice."""
        told: set[tuple[str, str]] = set()
        for source, part, metric, value in self.store.latest():
            if source in fresh and (part, metric) not in told:
                told.add((part, metric))
                yield part, metric, value

    def _devices(self) -> dict[str, DeviceIdentity]:
        found = {
            d.name: DeviceIdentity(is_host=d.role == "host") for d in self.designed.plant.devices
        }
        for collector in self.collectors:
            if isinstance(collector, SubnetLinks) and collector.view:
                for name, node in collector.view.nodes.items():
                    is_host = found[name].is_host if name in found else False
                    guid = f"0x{node.guid:016x}"
                    found[name] = DeviceIdentity(is_host=is_host, guid=guid, lid=str(node.lid))
        return found

    def _differences(self) -> dict[str, int] | None:
        found = [c.found for c in self.collectors if isinstance(c, CablingAudit) and c.found]
        return {str(kind): count for kind, count in found[0].counts.items()} if found else None


def health_of(store: ObservationStore, now_s: float, *, stale_s: float) -> dict[str, Any]:
    """Return how the watch is: ``ok`` when every source was seen well not long ago."""
    good = {poll.source: poll.time_s for poll in store.last_good_polls()}
    sources = [
        {
            "source": poll.source,
            "fresh": now_s - good.get(poll.source, -stale_s) <= stale_s,
            "age_s": round(now_s - good[poll.source], 3) if poll.source in good else None,
            "error": poll.error,
        }
        for poll in store.last_polls()
    ]
    is_ok = bool(sources) and all(one["fresh"] for one in sources)
    return {"status": "ok" if is_ok else "stale", "sources": sources}
