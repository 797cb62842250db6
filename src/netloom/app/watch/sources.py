"""What a watch looks at: the network, hosts, jobs, and whatever else it is told of."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.app.watch.devices.inventory import open_inventory
from netloom.errors import SpecError
from netloom.ops.observe.collectors import COLLECTORS, CollectContext
from netloom.ops.observe.naming import Naming

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.app.lab.store import LabFolder
    from netloom.ops.observe.designed import Designed
    from netloom.ops.observe.observation import Collector

__all__ = ["OpenSources", "WatchSources", "collectors_in_lab", "open_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSources:
    """What a watch is told to look at.

    Attributes:
        lab: The lab; default: the InfiniBand network of this machine, where the design is one.
        scrape: Prometheus targets: URLs.
        adapters: Whether to look at this machine's RDMA adapters.
        steps: Files of step times that jobs write.
        nccl_log: Files that NCCL logs to.
        nccl_tests: What nccl-tests printed, or wrote with -J.
        flight_recorder: Folders with the dumps of PyTorch's flight recorders.
        flows: Files of flows and probes, each replaced for every window.
        sm_log: The log of OpenSM, where it runs on this machine.
        collect: Any registered collector and its target: ``NAME=TARGET``.
        inventory: A file with the devices to ask.
        naming: What devices and ports are called there.
        drains: A file with the parts that are out of use on purpose, read again at each round.
    """

    lab: LabFolder | None = None
    scrape: tuple[str, ...] = ()
    adapters: bool = False
    steps: tuple[Path, ...] = ()
    nccl_log: tuple[Path, ...] = ()
    nccl_tests: tuple[Path, ...] = ()
    flight_recorder: tuple[Path, ...] = ()
    flows: tuple[Path, ...] = ()
    sm_log: Path | None = None
    collect: tuple[str, ...] = ()
    inventory: Path | None = None
    naming: Naming = field(default_factory=Naming)
    drains: Path | None = None

    def targets(self, designed: Designed) -> list[tuple[str, str]]:
        """Return the kind of collector and the target of each source, in the order of looking.

        Raises:
            SpecError: nothing says how to see the network, or a collector is not written so.
        """
        files = (
            ("steps", self.steps),
            ("nccl-log", self.nccl_log),
            ("nccl-tests", self.nccl_tests),
            ("flight-recorder", self.flight_recorder),
        )
        return [
            *self._network(designed),
            *([("adapters", "")] if self.adapters else ()),
            *((name, str(path)) for name, paths in files for path in paths),
            *(("prometheus", url) for url in self.scrape),
            *(("flows", str(path)) for path in self.flows),
            *(_asked(text) for text in self.collect),
        ]

    def _network(self, designed: Designed) -> list[tuple[str, str]]:
        if self.lab is not None:
            return [(f"lab-{self.lab.read().kind}", str(self.lab.path))]
        if self.inventory is not None:
            return []
        if designed.is_infiniband:
            return [("infiniband", str(self.sm_log or ""))]
        if not (self.scrape or self.adapters or self.collect):
            raise SpecError(
                what="an Ethernet network cannot be seen from one machine",
                remedy="give --inventory, --lab, --scrape or --adapters",
            )
        return []


def _asked(text: str) -> tuple[str, str]:
    name, _, target = text.partition("=")
    if name not in COLLECTORS:
        raise SpecError(
            option="--collect",
            what=f"{name[:40]!r} is not a collector",
            remedy=COLLECTORS.hint(name),
        )
    return name, target


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSources:
    """Sources that can be looked at.

    Attributes:
        collectors: In the order of looking.
        vital: Names of those without which no finding may be closed.
    """

    collectors: tuple[Collector, ...]
    vital: frozenset[str]


@contextmanager
def open_sources(
    designed: Designed, sources: WatchSources, *, fresh_s: float
) -> Iterator[OpenSources]:
    """Give the collectors of *sources*; their scratch files are gone afterwards.

    Args:
        designed: What should be there.
        sources: What to look at.
        fresh_s: For how long a source that was seen speaks of now.

    Raises:
        SpecError: a target is wrong, or nothing says how to see the network.
    """
    with tempfile.TemporaryDirectory(prefix="netloom-") as scratch, ExitStack() as closing:
        context = CollectContext(
            designed=designed,
            naming=sources.naming,
            scratch=Path(scratch),
            fresh_s=fresh_s,
            closing=closing,
        )
        opened = _opened(sources.targets(designed), context)
        if sources.inventory is None:
            yield opened
        else:
            asked = open_inventory(sources.inventory, context)
            yield OpenSources(
                collectors=(*opened.collectors, *asked.collectors),
                vital=opened.vital | asked.vital,
            )


def _opened(targets: Sequence[tuple[str, str]], context: CollectContext) -> OpenSources:
    found: list[Collector] = []
    vital: set[str] = set()
    for name, target in targets:
        kind = COLLECTORS.get(name)
        opened = kind.collectors(target, context)
        found += opened
        vital |= {one.source for one in opened if kind.is_vital(one.source)}
    return OpenSources(collectors=tuple(found), vital=frozenset(vital))


def collectors_in_lab(place: LabFolder, designed: Designed) -> list[Collector]:
    """Return what to look at in a lab, which must be of that design.

    Raises:
        SpecError: there is no such lab, or it is of another design.
    """
    context = CollectContext(
        designed=designed, naming=Naming(), scratch=place.scratch, fresh_s=float("inf")
    )
    return list(_opened(WatchSources(lab=place).targets(designed), context).collectors)
