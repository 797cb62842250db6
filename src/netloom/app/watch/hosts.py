"""This machine's own RDMA adapters, from sysfs: what node_exporter would read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.drivers import kernel
from netloom.errors import LabError
from netloom.ops.observe.metrics import SYSFS
from netloom.ops.observe.observation import Observation, Reading, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from netloom.drivers.kernel import AdapterPort

__all__ = ["Adapters"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """The ports of all adapters.

    Attributes:
        root: ``/sys``.
        host: What this machine is called.
        names: Our name of a port by ``HOST/mlx5_0[1]``, where it has one.
    """

    root: Path
    host: str
    names: Mapping[str, str]

    @property
    def source(self) -> str:
        """Its name."""
        return f"adapters {self.host}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Read every counter once.

        Raises:
            LabError: there is no adapter.
        """
        ports = kernel.read_adapters(self.root)
        if not ports:
            raise LabError(
                what=f"{self.root}/class/infiniband: no RDMA adapter", remedy="leave --adapters out"
            )
        seen = [one for port in ports for one in self._observed(port, time_s)]
        return whole(self.source, time_s, seen, cursor=cursor)

    def _observed(self, port: AdapterPort, time_s: float) -> Iterable[Observation]:
        """Give state, rate and counters; those without a name of ours as ``hw_`` and their file."""
        there = f"{self.host}/{port.device}[{port.port}]"
        part = self.names.get(there, there)
        yield Observation(time_s, part, "link_up", float(port.is_active))
        if port.rate_bps is not None and port.is_active:
            yield Observation(time_s, part, "rate_bps", port.rate_bps)
        for name, count in port.counters.items():
            metric = SYSFS.get(name)
            scale = 1 if metric is None else metric.scale
            known = f"hw_{name}" if metric is None else metric.name
            yield Observation(time_s, part, known, float(count * scale))
