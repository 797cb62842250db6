"""Flows and probes: sent through a lab at each look, or read from a file that others write."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.app.lab.observed import observed_of
from netloom.app.lab.probes import ROUNDS, flows_of, paths_of, probe_round
from netloom.errors import LabError, SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.ops.locate.looks.next_probes import next_probes
from netloom.ops.locate.read import parse_observed
from netloom.ops.observe.observation import Observation, Reading, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from netloom.app.lab.probes import Flow, Probed
    from netloom.app.lab.store import LabFolder
    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.looks.next_probes import Lead
    from netloom.ops.plant import Plant
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = ["FlowFileCollector", "LabProbes", "percentiles"]

MAX_BYTES: Final = 256 * 2**20
AIMED: Final = 64  # probes beside the usual ones, at most
AIMED_PORTS: Final = 2  # source ports that are tried for each pair of hosts


@dataclass(slots=True, kw_only=True)
class LabProbes:
    """Datagrams between the hosts of a RoCE lab.

    Attributes:
        place: Of the lab.
        plant: As designed.
        fabric: The same.
        observed: What became of those of the last look.
        aimed: Probes beside the usual ones, across what is suspected.
    """

    place: LabFolder
    plant: Plant
    fabric: Fabric
    observed: Observed | None = None
    aimed: tuple[Flow, ...] = ()
    _leads: frozenset[int] = frozenset()

    @property
    def source(self) -> str:
        """Its name."""
        return "probes"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Send them, and tell how many of each host's were lost and how long the others took.

        Raises:
            LabError: a namespace is gone, or we are not root.
        """
        self.observed = None
        made = probe_round(self.place, self.plant, (*flows_of(self.plant), *self.aimed))
        self.observed = observed_of(self.plant, made, _gpus(self.fabric))
        seen = [*self._losses(made.probed, time_s), *self._latencies(made.probed, time_s)]
        return whole(self.source, time_s, seen, cursor=cursor)

    def aim(self, leads: Mapping[int, Lead]) -> None:
        """Choose probes that tell most about which of the cables is to blame.

        Raises:
            LabError: a namespace is gone.
        """
        if leads.keys() == self._leads:
            return
        self._leads = frozenset(leads)
        self.aimed = self._chosen(leads) if leads else ()

    def _chosen(self, leads: Mapping[int, Lead]) -> tuple[Flow, ...]:
        candidates = _candidates(self.plant)
        ways = paths_of(self.place, self.plant, candidates)
        cables = sorted(leads)
        crosses = np.array(
            [[number in {c.number for c, _ in way} for number in cables] for way in ways]
        )
        picked = next_probes(
            [leads[number].chance for number in cables],
            crosses,
            [leads[number].rate for number in cables],
            count=AIMED,
            packets=ROUNDS,
        )
        return tuple(candidates[place] for place in picked)

    def _losses(self, probed: Iterable[Probed], time_s: float) -> Iterable[Observation]:
        sent: dict[int, int] = defaultdict(int)
        lost: dict[int, int] = defaultdict(int)
        for one in probed:
            sent[one.flow.source] += one.sent
            lost[one.flow.source] += one.lost
        for host, count in sent.items():
            part = self.plant.devices[host].name
            yield Observation(time_s, part, "probe_loss", lost[host] / max(count, 1))

    def _latencies(self, probed: Iterable[Probed], time_s: float) -> Iterable[Observation]:
        """Tell what small probes of each host took: full ones wait for the lab's slow cables."""
        took: dict[int, list[float]] = defaultdict(list)
        for one in probed:
            if not one.flow.is_large:
                took[one.flow.source] += one.latencies_s
        for host, some in took.items():
            yield from percentiles(time_s, self.plant.devices[host].name, "probe_latency", some)


def percentiles(
    time_s: float, part: str, name: str, times_s: Sequence[float]
) -> Iterable[Observation]:
    """Give median and 99th percentile of times; nothing of none.

    The percentile is the least time that 99 % of them do not exceed.
    """
    ordered = sorted(times_s)
    for share in (50, 99) if ordered else ():
        place = -(-len(ordered) * share // 100) - 1
        yield Observation(time_s, part, f"{name}_p{share}_s", ordered[place])


def _candidates(plant: Plant) -> tuple[Flow, ...]:
    """Return probes by other source ports than the usual ones."""
    usual = {one.source_port for one in flows_of(plant)}
    more = range(1, 1 + AIMED_PORTS)
    return tuple(
        replace(one, source_port=max(usual) + port)
        for port in more
        for one in flows_of(plant)
        if one.source_port == min(usual)
    )


def _gpus(fabric: Fabric) -> dict[str, str]:
    """Return the GPU that each NIC port is joined to, both by name; ports without are left out."""
    kind = fabric.vertex_kind
    is_own = (kind[fabric.link_source] == VertexKind.GPU) & (
        kind[fabric.link_target] == VertexKind.NIC
    )
    return {
        vertex_name(fabric, int(fabric.link_target[link])): vertex_name(
            fabric, int(fabric.link_source[link])
        )
        for link in np.flatnonzero(is_own)
    }


@dataclass(slots=True, kw_only=True)
class FlowFileCollector:
    """A file of flows, ports and routes that another program replaces for each window.

    Attributes:
        path: In the format of ``netloom locate --observations``; put in place by renaming.
        fresh_s: It speaks of now for so long after it changed.
        observed: What it says, while it is fresh.
    """

    path: Path
    fresh_s: float
    observed: Observed | None = None
    _changed_s: float = 0.0

    @property
    def source(self) -> str:
        """Its name."""
        return f"flows {self.path}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Read it, unless it is as it was.

        Raises:
            LabError: it cannot be read, or is not what it should be.
        """
        data = self._data()
        now = hashlib.sha256(data).hexdigest()
        if now != cursor or self.observed is None:
            self._changed_s = time_s if now != cursor else self._changed_s
            self.observed = self._parsed(data)
        if time_s - self._changed_s > self.fresh_s:
            self.observed = None
            raise LabError(file=str(self.path), what=f"says nothing new for {self.fresh_s:g} s")
        seen = list(self._seen(self.observed, time_s))
        return whole(self.source, time_s, seen, cursor=now)

    def _seen(self, observed: Observed, time_s: float) -> Iterable[Observation]:
        """Tell losses and delays by the GPU that sends."""
        flows: dict[str, list[ObservedFlow]] = defaultdict(list)
        for flow in observed.flows:
            flows[flow.source].append(flow)
        for part, some in flows.items():
            packets = sum(flow.packets for flow in some)
            if packets:
                lost = sum(flow.lost for flow in some)
                yield Observation(time_s, part, "probe_loss", min(1.0, lost / packets))
            delays = [flow.delay_s for flow in some if flow.delay_s is not None]
            yield from percentiles(time_s, part, "probe_delay", delays)

    def _data(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                return file.read(MAX_BYTES)
        except OSError as error:
            self.observed = None
            raise LabError(
                file=str(self.path), what=f"cannot be read ({error.strerror})"
            ) from error

    def _parsed(self, data: bytes) -> Observed:
        try:
            return parse_observed(data.decode("utf-8", errors="replace"), str(self.path))
        except SpecError as error:
            raise LabError(str(error)) from error
