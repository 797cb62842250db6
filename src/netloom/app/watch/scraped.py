"""Prometheus targets, such as node_exporter on hosts or infiniband_exporter, as collectors.

Of what a target says, the numbers that :mod:`netloom.ops.observe.metrics` knows are kept; all
others are passed over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from netloom.drivers import prometheus
from netloom.formats.prometheus.exporters import port_value
from netloom.ops.observe.devices import printable
from netloom.ops.observe.metrics import METRICS
from netloom.ops.observe.observation import Observation, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.formats.prometheus.exposition import Sample

__all__ = ["Scraped", "observed"]

_FABRIC: Final = {
    f"infiniband_{side}_{m.fabric}": m.name
    for m in METRICS
    if m.fabric
    for side in ("switch", "hca")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scraped:
    """One target.

    Attributes:
        url: Where it is.
        names: Our name of a device by the one the target gives it, where they differ.
    """

    url: str
    names: Mapping[str, str]

    @property
    def source(self) -> str:
        """Its name, without what may be secret."""
        parts = urlsplit(self.url)
        return f"scrape {parts.hostname}:{parts.port or ''}{parts.path}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Scrape once."""
        said = prometheus.scrape(self.url)
        host = urlsplit(self.url).hostname or ""
        seen = {
            (one.part, one.metric): one
            for sample in said.samples
            if (one := observed(sample, host, time_s, self.names)) is not None
        }
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=list(seen.values()),
            cursor=cursor,
            is_whole=True,
            error=f"{said.num_odd} lines are not Prometheus' format" if said.num_odd else "",
        )


def observed(
    sample: Sample, host: str, time_s: float, names: Mapping[str, str]
) -> Observation | None:
    """Return what a sample says of a part; None when netloom does not know its name.

    Adapters and interfaces of a host are parts ``host/mlx5_0[1]`` and ``host/eth0``, unless
    *names* has a port of ours for them.
    """
    if not math.isfinite(sample.value):
        return None
    if sample.name in _FABRIC:
        labels = sample.labels
        device = labels.get("switch") or labels.get("hca") or labels.get("guid", "")
        part = f"{names.get(device, device)}[{labels.get('port', '')}]"
        return _observation(time_s, names.get(part, part), _FABRIC[sample.name], sample.value)
    one = port_value(sample)
    if one is None:
        return None
    there = f"{host}/{one.port}" if one.port else host
    part = names.get(there, there)
    return _observation(
        time_s, f"{part}/{one.inside}" if one.inside else part, one.metric, one.value
    )


def _observation(time_s: float, part: str, metric: str, value: float) -> Observation:
    return Observation(time_s, printable(part, 200), metric, value)
