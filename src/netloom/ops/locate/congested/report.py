"""Congestion in words: which links, by whose flows, to which receiver, and whom it holds up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.part_id import CABLE, Direction, PartId

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.congested.judgement import LoadJudgement
    from netloom.ops.locate.observations import Observations, PortLoad

__all__ = ["Congestion", "congestion_of"]

MAX: Final = 100  # links that are told of, those with most flows first
INCAST: Final = 3  # senders to one receiver from which on it is called an incast
MOST: Final = 0.5  # of the packets on a link, to say that they go to one receiver
MAX_SENDERS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Congestion:
    """A link that queues, and by whose doing: nothing is broken there.

    Attributes:
        part: The direction of a cable.
        is_shown: Whether its port shows it; otherwise it is inferred from the flows, since its
            port tells nothing or may be late.
        receiver: The GPU that most of its packets go to; empty where there is none such.
        senders: GPUs that send them, those with most packets first.
        is_incast: Whether many send to that receiver at once.
        shares: What its packets belong to (a job and its phase), with their share.
        num_flows: Flows that cross it.
        evidence: Sentences with the numbers behind it.
    """

    part: PartId
    is_shown: bool
    receiver: str
    senders: tuple[str, ...]
    is_incast: bool
    shares: tuple[tuple[str, float], ...]
    num_flows: int
    evidence: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/models/locate.md documents."""
        return {
            "part": str(self.part),
            "is_shown": self.is_shown,
            "receiver": self.receiver or None,
            "senders": list(self.senders),
            "is_incast": self.is_incast,
            "jobs": [{"job": name, "share": share} for name, share in self.shares],
            "num_flows": self.num_flows,
            "evidence": list(self.evidence),
        }

    def text(self) -> str:
        """Return it as one line for people."""
        why = f"incast to {self.receiver}" if self.is_incast else "more traffic than it carries"
        whose = "".join(f", {share:.0%} of {name}" for name, share in self.shares[:2])
        return f"{self.part}: congestion, {why}{whose}: {'; '.join(self.evidence)}"


def congestion_of(
    fabric: Fabric, seen: Observations, load: LoadJudgement, unseen: Collection[int]
) -> tuple[Congestion, ...]:
    """Return the links that are congested and that flows cross, the most crossed first.

    Args:
        fabric: The network as it should be.
        seen: What was seen of it.
        load: What ports show.
        unseen: Links that are congested though their ports do not show it.
    """
    flow, links = seen.flow_of_crossing(), seen.paths.links
    shown = np.flatnonzero(load.is_congested).tolist()
    wanted = np.array(sorted({*shown, *unseen}), dtype=np.int64)
    count = np.bincount(links, minlength=fabric.num_links)
    crossed = sorted(wanted[count[wanted] > 0].tolist(), key=lambda link: -count[link])
    return tuple(
        _congestion(fabric, seen, link, np.unique(flow[links == link]), is_shown=link not in unseen)
        for link in crossed[:MAX]
    )


def _congestion(
    fabric: Fabric, seen: Observations, link: int, flows: NDArray[np.int64], *, is_shown: bool
) -> Congestion:
    sources, targets = _ends(fabric, seen, flows)
    packets = seen.packets[flows].astype(float)
    total = max(float(packets.sum()), 1.0)
    receiver, share = _most(targets, packets)
    to_it = targets == receiver
    is_one = share >= MOST * total
    order = np.argsort(-packets[to_it] if is_one else -packets, kind="stable")
    senders = list(dict.fromkeys((sources[to_it] if is_one else sources)[order].tolist()))
    return Congestion(
        part=_part(fabric, link),
        is_shown=is_shown,
        receiver=vertex_name(fabric, receiver) if is_one else "",
        senders=tuple(vertex_name(fabric, one) for one in senders[:MAX_SENDERS]),
        is_incast=is_one and len(senders) >= INCAST and _is_last(fabric, link),
        shares=_shares(seen, flows, total),
        num_flows=len(flows),
        evidence=tuple(_evidence(seen.load, link, is_shown=is_shown)),
    )


def _ends(
    fabric: Fabric, seen: Observations, flows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    first = seen.paths.links[seen.paths.offsets[flows]]
    last = seen.paths.links[seen.paths.offsets[flows + 1] - 1]
    return fabric.link_source[first], fabric.link_target[last]


def _most(targets: NDArray[np.int32], packets: NDArray[np.float64]) -> tuple[int, float]:
    """Return the target that most packets go to, and how many."""
    names, place = np.unique(targets, return_inverse=True)
    sums = np.bincount(place, weights=packets)
    best = int(sums.argmax())
    return int(names[best]), float(sums[best])


def _is_last(fabric: Fabric, link: int) -> bool:
    return bool(fabric.vertex_kind[fabric.link_target[link]] != VertexKind.SWITCH)


def _part(fabric: Fabric, link: int) -> PartId:
    cable = link // 2
    lower = vertex_name(fabric, int(fabric.link_source[2 * cable]))
    upper = vertex_name(fabric, int(fabric.link_target[2 * cable]))
    way = Direction.DOWN if link % 2 else Direction.UP  # links 2n lead up
    return PartId(CABLE, cable, way, ends=(lower, upper))


def _shares(
    seen: Observations, flows: NDArray[np.int64], total: float
) -> tuple[tuple[str, float], ...]:
    if not seen.labels:
        return ()
    sums: Counter[str] = Counter()
    for flow in flows.tolist():
        if seen.labels[flow]:
            sums[seen.labels[flow]] += int(seen.packets[flow])
    return tuple((name, count / total) for name, count in sums.most_common(8))


def _evidence(load: PortLoad | None, link: int, *, is_shown: bool) -> list[str]:
    if load is None or not is_shown:
        return ["its flows are held up; its port tells nothing of it, or is late"]
    told = (
        ("queue of {:.0f} us", 1e6 * load.queue_s[link]),
        ("{:.2g} of its packets marked", load.marked[link]),
        ("paused {:.1%} of the time", load.paused[link]),
        ("{:.2g} of its packets dropped", load.dropped[link]),
        ("{:.0%} busy", load.utilisation[link]),
    )
    return [text.format(value) for text, value in told if value > 0]
