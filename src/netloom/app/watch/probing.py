"""Flows and probes: sent through a lab at each look, or read from a file that others write."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.app.lab.probes import flows_of, probe
from netloom.app.locate.lab_roce import observed_of
from netloom.errors import LabError, SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.ops.locate.read import parse_observed
from netloom.ops.observe.observation import Observation, Reading, whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from netloom.app.lab.probes import Probed
    from netloom.app.lab.store import LabFolder
    from netloom.fabric.graph import Fabric
    from netloom.ops.plant import Plant
    from netloom.spec.observed import Observed

__all__ = ["FlowFileCollector", "LabProbes"]

MAX_BYTES: Final = 256 * 2**20


@dataclass(slots=True, kw_only=True)
class LabProbes:
    """Datagrams between the hosts of a RoCE lab.

    Attributes:
        place: Of the lab.
        plant: As designed.
        fabric: The same.
        observed: What became of those of the last look.
    """

    place: LabFolder
    plant: Plant
    fabric: Fabric
    observed: Observed | None = None

    @property
    def source(self) -> str:
        """Its name."""
        return "probes"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Send them, and tell how many of each host's were lost.

        Raises:
            LabError: a namespace is gone, or we are not root.
        """
        self.observed = None
        probed = probe(self.place, self.plant, flows_of(self.plant))
        self.observed = observed_of(self.plant, probed, _gpus(self.fabric))
        seen = list(self._losses(probed, time_s))
        return whole(self.source, time_s, seen, cursor=cursor)

    def _losses(self, probed: Iterable[Probed], time_s: float) -> Iterable[Observation]:
        sent: dict[int, int] = defaultdict(int)
        lost: dict[int, int] = defaultdict(int)
        for one in probed:
            sent[one.flow.source] += one.sent
            lost[one.flow.source] += one.lost
        for host, count in sent.items():
            part = self.plant.devices[host].name
            yield Observation(time_s, part, "probe_loss", lost[host] / max(count, 1))


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
        return Reading(source=self.source, time_s=time_s, cursor=now)

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
