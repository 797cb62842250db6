"""Streams of frames through timed switches: how long each frame took, and what queued where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from netloom.engines.packet.engine import run_packets
from netloom.engines.packet.settings import PacketSettings, SwitchSettings, Transport
from netloom.engines.packet.timing import PacketTiming
from netloom.errors import InfeasibleError
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet.faults import PacketFault
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["FrameTrain", "StreamDelays", "run_streams"]

_BUFFER_BYTES: Final = 1 << 31  # nothing is dropped for want of room
_PORTS: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameTrain:
    """The frames of one stream.

    Attributes:
        source: Endpoint that sends them.
        target: Endpoint that receives them.
        priority: 0 to 7, the highest first.
        size_bytes: Of each frame, less preamble and gap.
        start_ps: When each is handed to its source's port, in order.
    """

    source: int
    target: int
    priority: int
    size_bytes: int
    start_ps: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamDelays:
    """What became of streams.

    Attributes:
        delay_ps: Of each frame of each stream, from its start to its last bit's arrival; -1 where
            it did not arrive.
        peak_bytes: Most that waited for a link and priority, and was on its wire, preambles and
            gaps included.
        delivery: Everything else that the engine tells.
    """

    delay_ps: tuple[NDArray[np.int64], ...]
    peak_bytes: Mapping[tuple[int, int], int]
    delivery: Delivery

    def worst_ps(self, stream: int) -> int:
        """Return the longest delay of a stream."""
        return int(self.delay_ps[stream].max(initial=0))


def run_streams(  # noqa: PLR0913
    wiring: PacketTopology,
    trains: Sequence[FrameTrain],
    timing: PacketTiming | None = None,
    *,
    gap_bytes: int = 20,
    faults: Sequence[PacketFault] = (),
    until_ps: int | None = None,
    seed: int = 0,
) -> StreamDelays:
    """Return what becomes of *trains*; ``timing.stream`` is theirs, one stream each.

    Raises:
        InfeasibleError: a frame cannot arrive, such as one that no gate lets through.
    """
    count = np.array([len(one.start_ps) for one in trains], dtype=np.int64)
    transfers = _transfers(trains, count)
    largest = max(one.size_bytes for one in trains)
    timed = timing or PacketTiming()
    if timed.streams or timed.replicates:
        of = tuple(np.repeat(np.arange(len(trains)), count).tolist())
        timed = replace(timed, stream=of if timed.streams else ())
    settings = PacketSettings(
        flow_control="lossy",
        congestion_control="none",
        ecn=None,
        switch=SwitchSettings(buffer_bytes=_BUFFER_BYTES, queue_bytes=_BUFFER_BYTES),
        transport=Transport(
            recovery="go-back-n",
            payload_bytes=largest,
            header_bytes=0,
            least_bytes=1,
            gap_bytes=gap_bytes,
            nack_interval_ps=0,
        ),
        timing=timed,
    )
    found = run_packets(wiring, transfers, settings, seed=seed, faults=faults, until_ps=until_ps)
    arrive_ps = cast("NDArray[np.int64]", found.tables["arrivals"]["arrive_ps"])
    arrived = arrive_ps >= 0
    if not arrived.all() and until_ps is None and not faults:
        at = int(np.flatnonzero(~arrived)[0])
        train = int(np.searchsorted(np.cumsum(count), at, side="right"))
        raise InfeasibleError(
            what=f"frame {at - int(count[:train].sum())} of stream {train} "
            f"({trains[train].size_bytes} bytes, priority {trains[train].priority}) never arrives",
            remedy="give its priority a window as long as the frame at every port",
        )
    delay_ps = np.where(arrived, arrive_ps - transfers.start_ps, -1)
    peaks = found.tables.get("queue_peaks", {})
    return StreamDelays(
        delay_ps=tuple(np.split(delay_ps, np.cumsum(count)[:-1])),
        peak_bytes={
            (int(link), int(priority)): int(size)
            for link, priority, size in zip(
                *(peaks.get(name, ()) for name in ("link", "priority", "peak_bytes")), strict=True
            )
            if size
        },
        delivery=found,
    )


def _transfers(trains: Sequence[FrameTrain], count: NDArray[np.int64]) -> Transfers:
    """Return a transfer for each frame, and a connection, so that none waits for another."""
    total = int(count.sum())

    def column(name: str, kind: type) -> NDArray[np.generic]:
        return np.repeat([getattr(one, name) for one in trains], count).astype(kind)

    return Transfers(
        source=column("source", np.int32),  # type: ignore[arg-type]
        target=column("target", np.int32),  # type: ignore[arg-type]
        size_bytes=column("size_bytes", np.int64),  # type: ignore[arg-type]
        start_ps=np.concatenate([one.start_ps for one in trains]).astype(np.int64),
        delay_ps=np.zeros(total, dtype=np.int64),
        source_port=(np.arange(total) % _PORTS).astype(np.uint16),
        priority=column("priority", np.uint8),  # type: ignore[arg-type]
        job=np.zeros(total, dtype=np.int32),
        wait_offsets=np.zeros(total + 1, dtype=np.int64),
        waits=np.zeros(0, dtype=np.int32),
    )
