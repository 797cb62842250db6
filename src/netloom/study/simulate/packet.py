"""Transfers run packet by packet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines.packet.connections import num_connections
from netloom.engines.packet.engine import run_packets
from netloom.engines.packet.lower import Recording
from netloom.engines.packet.marks import kmin_bytes
from netloom.engines.packet.scheme import SCHEMES
from netloom.study.simulate.runner import grid_of
from netloom.study.simulate.unloaded import Frames, alone_ps, hpcc_alone_ps
from netloom.units import RATE, SIZE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet.engine import Progress
    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.known.symmetry import Folded
    from netloom.engines.packet.settings import Ecn, PacketSettings
    from netloom.engines.packet.states import StateStore
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.study.simulate.runner import OnProgress, OnShare
    from netloom.study.simulate.simulation import Grid
    from netloom.workload.transfers import Transfers

__all__ = ["PacketRunner"]

NUM_WATCHED: Final = 16  # links whose queues are sampled
NUM_SAMPLES: Final = 400  # in the least time that the run can take
MAX_SAMPLES: Final = 4 * NUM_SAMPLES
SAMPLES_A_FRAME: Final = 4
_NEVER_PS: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PacketRunner:
    """Runs transfers packet by packet.

    Attributes:
        wiring: What it runs on.
        settings: How everything behaves.
        faults: What goes wrong, and when.
        max_trace: Departures of packets that are kept in the table ``trace``, from the first.
        films: Whether the table ``utilisation`` tells what every link carried over time.
        hpcc_header_bytes: Where not 0, slowdown is by HPCC's ideal with headers of this size, so
            that its published curves compare.
        folds: Whether one of equal components is run for all of them.
        skips: Whether messages that meet no other take their time alone; nothing is watched then.
        states: Where runs are kept, and gone on with if they were stopped.
    """

    wiring: PacketTopology
    settings: PacketSettings
    faults: Sequence[PacketFault] = ()
    max_trace: int = 0
    films: bool = False
    hpcc_header_bytes: int = 0
    folds: bool = False
    skips: bool = False
    states: StateStore | None = None

    def what_runs(self, transfers: Transfers) -> Transfers:
        """Return those of *transfers* that are run for all."""
        return _folded(self, transfers).transfers if self.folds else transfers

    def with_queues(self, queue_bytes: Sequence[int]) -> PacketRunner | None:
        """Return it with these bounds on what waits for each link; 0 keeps the one it has.

        None where switches neither drop nor trim what is over a bound.
        """
        if self.settings.flow_control not in {"lossy", "trimming"}:
            return None
        own = np.broadcast_to(self.settings.switch.queue_bytes, len(queue_bytes)).tolist()
        bounds = tuple(asked or had for asked, had in zip(queue_bytes, own, strict=True))
        switch = replace(self.settings.switch, queue_bytes=bounds)
        return replace(self, settings=replace(self.settings, switch=switch))

    @property
    def name(self) -> str:
        """The engine's name."""
        return "packet"

    @property
    def grid(self) -> Grid:
        """The links it runs on."""
        return grid_of(self.wiring)

    @property
    def payload_bytes(self) -> int:
        """Of a full packet."""
        return self.settings.transport.payload_bytes

    @property
    def choices(self) -> dict[str, str]:
        """What was chosen."""
        settings = self.settings
        marks = settings.ecn
        return {
            "congestion_control": settings.congestion_control,
            "load_balancing": settings.balance if settings.spray == "fixed" else settings.spray,
            "flow_control": settings.flow_control,
            "recovery": settings.transport.recovery,
            "ecn": "off" if marks is None else _marking(marks),
            "connections": str(settings.connections),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return (*self._path_notes, *self._mark_notes)

    @property
    def _mark_notes(self) -> tuple[str, ...]:
        """Say so where marks begin beyond what a queue may hold."""
        settings, wiring = self.settings, self.wiring
        if settings.ecn is None or settings.flow_control not in {"lossy", "trimming"}:
            return ()
        own = (wiring.link_source >= wiring.num_endpoints) & ~wiring.link_scale_up
        held = np.broadcast_to(settings.switch.queue_bytes, len(own))[own]
        kmin = kmin_bytes(wiring, settings.ecn)[own]
        if not len(held) or (held == 0).any() or (held > kmin).any():
            return ()
        marks, most = (format_quantity(float(size.min()), SIZE) for size in (kmin, held))
        note = (
            f"no packet is ever marked: queues hold {most}, and marks begin at {marks}; set --ecn "
            "by the queues, or choose a congestion control that needs no marks"
        )
        return (note,)

    @property
    def _path_notes(self) -> tuple[str, ...]:
        scheme = SCHEMES.get(self.settings.congestion_control)
        if scheme.telemetry == "every-hop" and self._parts:
            note = (
                f"{scheme.name} compares what the links of one path counted, and packets of a flow "
                "take many here: its rates mean nothing; use another, or load balancing by flow"
            )
            return (note,)
        return ()

    def run(
        self,
        transfers: Transfers,
        *,
        seed: int,
        until_ps: int | None,
        on_progress: OnProgress | None,
        on_share: OnShare | None = None,
        num_workers: int = 1,
    ) -> tuple[Delivery, NDArray[np.int64]]:
        """Return the delivery, and how long each transfer would take alone."""
        some = replace(transfers, size_bytes=np.maximum(transfers.size_bytes, 1))
        ideal_ps = self._alone_ps(some)  # not asked of computations
        # Files of other simulators begin at 2 s; nothing happens before, and nothing is sampled.
        begin_ps = int(transfers.start_ps.min(initial=_NEVER_PS)) if len(transfers) else 0
        moved = replace(transfers, start_ps=transfers.start_ps - begin_ps)

        total_bytes = max(int(self.what_runs(transfers).size_bytes.sum()), 1)
        most_left = 1

        def told(progress: Progress) -> bool:
            nonlocal most_left
            most_left = max(most_left, progress.num_unfinished)
            if on_share is not None and self.skips:  # of a round: what is known delivers no byte
                on_share(1 - progress.num_unfinished / most_left)
            elif on_share is not None:
                on_share(progress.delivered_bytes / total_bytes)
            simulated_ps = progress.simulated_ps + begin_ps
            return on_progress is None or not on_progress(simulated_ps, progress.events)

        runs: Callable[..., Delivery] = run_packets
        if self.skips:
            runs = _unwatched
        if self.folds:
            from netloom.engines.packet.known.folded_run import run_folded  # noqa: PLC0415

            fewer = _folded(self, transfers)
            kept = replace(fewer.transfers, start_ps=fewer.transfers.start_ps - begin_ps)
            runs = partial(run_folded, folded=replace(fewer, transfers=kept), skips=self.skips)
        delivery = runs(
            self.wiring,
            moved,
            self.settings,
            seed=seed,
            until_ps=None if until_ps is None else max(until_ps - begin_ps, 0),
            faults=_sooner(self.faults, begin_ps),
            watch=self._watch(moved),
            on_progress=told,
            states=self.states,
            num_workers=num_workers,
        )
        return _later(delivery, begin_ps), ideal_ps

    def _alone_ps(self, transfers: Transfers) -> NDArray[np.int64]:
        host = self.settings.transport
        if self.hpcc_header_bytes:
            return hpcc_alone_ps(
                self.wiring,
                transfers,
                payload_bytes=host.payload_bytes,
                header_bytes=self.hpcc_header_bytes,
            )
        frames = Frames(
            payload_bytes=host.payload_bytes,
            header_bytes=host.header_bytes + host.gap_bytes,
            least_bytes=host.least_bytes + host.gap_bytes,
            ack_bytes=max(host.ack_bytes, host.least_bytes) + host.gap_bytes,
            host_rate_bps=host.host_rate_bps or np.inf,
            send_ps=host.send_ps + self._grant_ps,
            receive_ps=host.receive_ps,
            cut_through=self.settings.switch.cut_through,
            connections=num_connections(self.wiring, transfers, self.settings),
            parted=self._parts,
            sprayed=self.settings.spray != "fixed",
            piece_of=self._piece_of,
        )
        return alone_ps(self.wiring, transfers, frames)

    @property
    def _parts(self) -> bool:
        """Whether packets of a connection may take different links; cells do, however balanced."""
        settings = self.settings
        scheduled = settings.flow_control == "scheduled"
        return scheduled or settings.balance in {"adaptive", "cells"} or settings.spray != "fixed"

    @property
    def _grant_ps(self) -> int:
        """What a lone transfer waits for at the first switch."""
        scheduled = self.settings.flow_control == "scheduled"
        return self.settings.schedule.wait_ps if scheduled else 0

    @property
    def _piece_of(self) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
        """How a scheduled fabric cuts packets that come with a gap; None for others."""
        settings = self.settings
        if settings.flow_control != "scheduled":
            return None
        gap_bytes = settings.transport.gap_bytes
        return lambda size: settings.schedule.piece_bytes(size - gap_bytes)

    def _watch(self, transfers: Transfers) -> Recording:
        """Sample the queues towards the endpoints that receive most."""
        wiring = self.wiring
        received = np.bincount(
            transfers.target, transfers.size_bytes, minlength=wiring.num_endpoints
        )
        if not len(transfers):
            return Recording(max_trace=self.max_trace)
        most = np.argsort(-received, kind="stable")[: NUM_WATCHED // 4]
        last = np.flatnonzero(np.isin(wiring.link_target, most) & ~wiring.link_scale_up)
        edges = np.unique(wiring.link_source[last])
        into = np.flatnonzero(
            np.isin(wiring.link_target, edges) & (wiring.link_source >= wiring.num_endpoints)
        )
        links = np.concatenate([last, into])[:NUM_WATCHED]
        busy_s = received.max() * 8 / wiring.link_rate_bps[last].max(initial=1.0)
        span_ps = int(transfers.start_ps.max() + busy_s * 1e12)
        every_ps = max(span_ps // NUM_SAMPLES, 1000)
        return Recording(
            links=tuple(links.tolist()),
            every_ps=every_ps,
            max_samples=MAX_SAMPLES,
            max_trace=self.max_trace,
            frame_ps=SAMPLES_A_FRAME * every_ps if self.films else 0,
        )


def _unwatched(*given: Any, watch: Recording | None, **how: Any) -> Delivery:
    from netloom.engines.packet.known.known_run import run_with_known  # noqa: PLC0415  (few skip)

    del watch
    return run_with_known(*given, **how)


@lru_cache(maxsize=1)  # asked for before the run and for it
def _folded(runner: PacketRunner, transfers: Transfers) -> Folded:
    from netloom.engines.packet.known.symmetry import fold  # noqa: PLC0415  (few fold)

    return fold(runner.wiring, transfers, runner.settings, runner.faults)


def _sooner(faults: Sequence[PacketFault], by_ps: int) -> list[PacketFault]:
    """Return *faults* by time, so much sooner; what came before the beginning is there then."""
    ordered = sorted(faults, key=lambda fault: fault.when_ps)
    return [replace(fault, when_ps=max(fault.when_ps - by_ps, 0)) for fault in ordered]


def _later(delivery: Delivery, by_ps: int) -> Delivery:
    """Return *delivery* with every time moved on by *by_ps*."""
    if not by_ps:
        return delivery

    def moved(times: NDArray[np.generic]) -> NDArray[np.int64]:
        numbers = times.astype(np.int64)
        return np.where(numbers < 0, numbers, numbers + by_ps)

    tables = {
        name: {key: moved(cells) if key.endswith("_ps") else cells for key, cells in table.items()}
        for name, table in delivery.tables.items()
    }
    return replace(
        delivery,
        start_ps=moved(delivery.start_ps),
        finish_ps=moved(delivery.finish_ps),
        simulated_ps=delivery.simulated_ps + by_ps,
        tables=tables,
    )


def _marking(marks: Ecn) -> str:
    """Return marking thresholds in words."""
    low, high = (format_quantity(size, SIZE) for size in (marks.kmin_bytes, marks.kmax_bytes))
    if marks.at_roots:
        return f"{marks.pmax:.0%} beyond {low}, where credits are not short"
    grows = f" at {format_quantity(marks.at_rate_bps, RATE)}" if marks.at_rate_bps else ""
    return f"{low} to {high}{grows}, up to {marks.pmax:.0%}"
