"""A wiring, transfers and settings as the arrays and numbers that the core runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines.memory import available_bytes
from netloom.engines.packet.core_rows import CoreRows
from netloom.engines.packet.faults import fault_arrays
from netloom.engines.packet.lanes import arbitration_arrays, lanes_of, limit_bytes
from netloom.engines.packet.marks import NEVER_BYTES, marking
from netloom.engines.packet.ports import port_arrays
from netloom.engines.packet.receiver_throttle import restraint_numbers
from netloom.engines.packet.rings import ring_packets
from netloom.engines.packet.room import check_headroom, check_input, check_queues
from netloom.engines.packet.scheme import SCHEMES
from netloom.engines.packet.timing_arrays import timing_arrays, timing_numbers
from netloom.engines.packet.vertices import own_arrays
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.wiring.digits import digits
from netloom.fabric.wiring.paths import first_ways, stay_inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["Lowered", "Recording", "lowered"]

_BLOCK_BYTES: Final = 64  # InfiniBand's unit of credit
_MAX_BLOCKS: Final = 2048  # InfiniBand vol. 1, section 7.9.4 (recalled): 128 KiB a lane
_PAUSE_BYTES: Final = 64  # IEEE 802.1Qbb: padded to the least frame
_CREDIT_BYTES: Final = 8  # a flow-control packet of 6 bytes in its delimiters (recalled)
_BUFFER_AT_100G: Final = 32_000_000  # HPCC-ns3 run.py: 16 MB x bw/50
_PS_PER_S: Final = 1e12
# Sizes of the core's records, rounded up: both ends of a flow, a row of work, a port, and the
# accounts of a lane.
_TRANSFER_BYTES, _ROW_BYTES, _LINK_BYTES, _LANE_BYTES = 500, 100, 96, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a run writes down beside its totals.

    Attributes:
        links: Whose queue, pauses and bytes are sampled.
        every_ps: Between samples; each costs one event and a row a link. 0 for none.
        max_samples: Times that are kept, an even number: when there are that many, every other one
            is dropped and the time between samples doubles, however long the run.
        max_trace: Departures of packets that are kept, from the first.
        max_pauses: Pauses that are kept with their begin and end.
        deadlock_every_ps: Between looks for links that wait for each other in a circle.
        frame_ps: How long a frame of what every link carries is at first; 0 for none.
    """

    links: tuple[int, ...] = ()
    every_ps: int = 0
    max_samples: int = 100_000
    max_trace: int = 0
    max_pauses: int = 1_000_000
    deadlock_every_ps: int = 1_000_000_000
    frame_ps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """What the core's constructor takes.

    Attributes:
        priorities: Of lanes 1 and up, or their virtual lanes; lane 0 is for control.
    """

    arrays: dict[str, object]
    numbers: dict[str, float]
    names: dict[str, str]
    parameters: dict[str, float]
    priorities: tuple[int, ...]


def lowered(  # noqa: PLR0913
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    *,
    seed: int,
    faults: Sequence[PacketFault],
    watch: Recording,
    num_moved: int | None = None,
    known: Columns | None = None,
    connection: NDArray[np.uint32] | None = None,
    component: NDArray[np.uint32] | None = None,
) -> Lowered:
    """Return everything checked and as arrays.

    Args:
        wiring: The network.
        transfers: Rows of work, those that are moved first.
        settings: How everything behaves.
        seed: Of all that is drawn.
        faults: What goes wrong.
        watch: What is written down.
        num_moved: How many rows are moved; default: all.
        known: The times of the others, as the core takes them.
        connection: Whose messages go in order, of those that are moved; default: none is shared.
        component: Of each link; each component draws its own numbers. Default: all are one.

    Raises:
        SpecError: a transfer, fault, watched link or setting is wrong.
        InfeasibleError: a pair has no way, or a buffer does not hold its own headroom.
    """
    num_moved = len(transfers) if num_moved is None else num_moved
    rows, transfers = transfers, transfers.first(num_moved)
    _check_ways(wiring, transfers)
    also = settings.timing.priorities if settings.timing else frozenset()
    lanes, lane = lanes_of(rows.priority, settings.lanes, also)
    _check_memory(wiring, rows, num_moved=num_moved, num_lanes=1 + len(lanes))
    if wiring.num_links and max(watch.links, default=0) >= wiring.num_links:
        raise SpecError(
            key="watch",
            what=f"there is no link {max(watch.links)}",
            remedy=f"links are 0 to {wiring.num_links - 1}",
        )
    arrays: dict[str, object] = {
        **_wiring_arrays(wiring),
        **_digit_arrays(wiring, settings),
        **_row_arrays(rows),
        **_transfer_arrays(transfers, lane[:num_moved]),
        **(CoreRows(transfers=rows, num_moved=num_moved).arrays() if known is None else known),
        **port_arrays(wiring, transfers, settings),
        "local": _local(wiring, transfers),
        "connection": np.empty(0, dtype=np.uint32) if connection is None else connection,
        **_switch_arrays(
            wiring,
            settings,
            num_lanes=len(lanes),
            largest_bytes=int(transfers.size_bytes.max(initial=0)),
        ),
        **fault_arrays(faults, wiring.num_links),
        "weight": _weights(settings, lanes),
        **arbitration_arrays(settings.lanes, lanes),
        **timing_arrays(wiring, transfers, settings, lanes),
        "link_component": np.empty(0, dtype=np.uint32) if component is None else component,
        "watched_links": np.array(watch.links, dtype=np.uint32),
    }
    is_pint = _is_pint(settings)
    base_rtt_ps = _base_rtt_ps(wiring, transfers, settings)
    numbers = {
        **_numbers(settings),
        **timing_numbers(settings, lanes),
        "ring_packets": ring_packets(wiring, transfers, settings),
        **restraint_numbers(settings.transport.restraint, wiring, rtt_ps=base_rtt_ps),
        "num_endpoints": wiring.num_endpoints,
        "num_vertices": wiring.num_vertices,
        "num_goals": wiring.choices.shape[1],
        "num_lanes": 1 + len(lanes),
        "seed": seed,
        "sample_every_ps": watch.every_ps if watch.links else 0,
        "max_samples": watch.max_samples + watch.max_samples % 2,
        "max_trace": watch.max_trace,
        "max_pauses": watch.max_pauses,
        "base_rtt_ps": settings.transport.base_rtt_ps or (base_rtt_ps if is_pint else 0),
        "deadlock_every_ps": watch.deadlock_every_ps,
    }
    names = {
        "flow_control": settings.flow_control,
        "balance": settings.balance,
        "entropy": settings.spray,
        "transport": settings.transport.recovery,
        "congestion_control": settings.congestion_control,
    }
    return Lowered(
        arrays=arrays,
        numbers=numbers,
        names=names,
        parameters=dict(settings.parameters),
        priorities=tuple(lanes),
    )


def _is_pint(settings: PacketSettings) -> bool:
    return SCHEMES.get(settings.congestion_control).telemetry == "pint"


def _base_rtt_ps(wiring: PacketTopology, transfers: Transfers, settings: PacketSettings) -> int:
    """Return the round trip that is given or, where one is needed, the longest of all.

    HPCC-ns3 third.cc: propagation both ways, and a full payload once on every link.
    """
    host = settings.transport
    needed = _is_pint(settings) or host.restraint is not None
    if host.base_rtt_ps or not needed or not len(transfers):
        return host.base_rtt_ps
    source, target = (ends.astype(np.int64) for ends in (transfers.source, transfers.target))
    ways = first_ways(wiring, source, target)
    return round(float((2 * ways.delay_ps + host.payload_bytes * ways.ps_per_byte).max()))


def _check_ways(wiring: PacketTopology, transfers: Transfers) -> None:
    """Raise unless each transfer and its answers can set out."""
    for source, target in (
        (transfers.source, transfers.target),
        (transfers.target, transfers.source),
    ):
        sets = wiring.choices[source, wiring.goal[target]]
        none = wiring.offsets[sets + 1] == wiring.offsets[sets]
        for at in np.flatnonzero(none).tolist():
            pair = int(source[at]), int(target[at])
            if not _joined(wiring, pair):
                raise InfeasibleError(
                    what=(
                        f"transfer {at}: there is no way from {wiring.name[pair[0]]} to "
                        f"{wiring.name[pair[1]]}"
                    ),
                    remedy="restore a link or drop the transfer",
                )


def _check_memory(
    wiring: PacketTopology, rows: Transfers, *, num_moved: int, num_lanes: int
) -> None:
    """Raise when the books alone, without a packet in flight, exceed what memory is left."""
    need = num_moved * _TRANSFER_BYTES + len(rows) * _ROW_BYTES + wiring.choices.nbytes
    need += wiring.num_links * (_LINK_BYTES + num_lanes * _LANE_BYTES)
    have = available_bytes()
    if need > have:
        raise InfeasibleError(
            key="transfers",
            what=(
                f"{len(rows)} of them on {wiring.num_links} links need {need >> 20} "
                f"MiB before the first packet, and {have >> 20} MiB are free"
            ),
            remedy="run fewer at a time",
        )


def _joined(wiring: PacketTopology, pair: tuple[int, int]) -> bool:
    """Whether an endpoint hangs on the other, or on a switch that the other hangs on."""
    source, target = pair
    after = wiring.link_target[wiring.link_source == source]
    before = wiring.link_source[wiring.link_target == target]
    return bool(target in after or np.isin(after, before).any())


def _wiring_arrays(wiring: PacketTopology) -> Columns:
    return {
        "link_source": wiring.link_source,
        "link_target": wiring.link_target,
        "link_rate_bps": np.rint(wiring.link_rate_bps).astype(np.int64),
        "link_delay_ps": wiring.link_delay_ps,
        "link_scale_up": wiring.link_scale_up.astype(np.uint8),
        "forward_ps": wiring.forward_ps,
        "goal": wiring.goal,
        "choices": np.ascontiguousarray(wiring.choices).reshape(-1),
        "offsets": wiring.offsets,
        "links": wiring.links,
    }


def _digit_arrays(wiring: PacketTopology, settings: PacketSettings) -> Columns:
    """Return what static and source routes choose by, and the next links in their order."""
    if settings.balance not in {"d-mod-k", "source"}:
        return {"digit": np.empty(0, dtype=np.uint32), "number": np.empty(0, dtype=np.uint32)}
    found = digits(wiring)
    return {
        "digit": found.divisor.astype(np.uint32),
        "number": found.number.astype(np.uint32),
        "links": found.links,
    }


def _local(wiring: PacketTopology, transfers: Transfers) -> NDArray[np.uint8]:
    """Return which transfers stay on scale-up links; nothing where there are none."""
    if not wiring.link_scale_up.any():
        return np.empty(0, dtype=np.uint8)
    return stay_inside(wiring, transfers.source, transfers.target).astype(np.uint8)


def _transfer_arrays(transfers: Transfers, lane: NDArray[np.uint8]) -> Columns:
    return {
        "source": transfers.source,
        "target": transfers.target,
        "size_bytes": transfers.size_bytes,
        "lane": lane,
    }


def _row_arrays(rows: Transfers) -> Columns:
    return {
        "start_ps": rows.start_ps,
        "delay_ps": rows.delay_ps,
        "wait_offsets": rows.wait_offsets,
        "waits": rows.waits,
    }


def _switch_arrays(
    wiring: PacketTopology, settings: PacketSettings, *, num_lanes: int, largest_bytes: int
) -> Columns:
    """Return what each switch has, checked."""
    arrays = own_arrays(wiring, settings, _common(wiring, settings, num_lanes=num_lanes))
    buffer, headroom, alpha = (arrays[name] for name in ("buffer_bytes", "headroom_bytes", "alpha"))
    if settings.flow_control == "pfc" and settings.switch.ingress_bytes:
        check_input(wiring, settings, headroom)
    elif settings.flow_control == "pfc":
        pool = arrays["pool_bytes"]
        check_headroom(wiring, settings, buffer=buffer, headroom=headroom * num_lanes, pool=pool)
    else:
        arrays["headroom_bytes"] = np.zeros_like(headroom)
    if settings.flow_control in {"lossy", "trimming"}:
        packet_bytes = settings.transport.header_bytes
        packet_bytes += min(settings.transport.payload_bytes, largest_bytes)
        check_queues(wiring, settings.switch, packet_bytes, buffer=buffer, alpha=alpha)
    return arrays


def _common(
    wiring: PacketTopology, settings: PacketSettings, *, num_lanes: int
) -> dict[str, NDArray[Any]]:
    """Return what switches have where none has anything of its own."""
    rate_bps = wiring.link_rate_bps
    controlled = ~wiring.link_scale_up.astype(bool)
    at_ends = (wiring.link_source < wiring.num_endpoints) & controlled
    host_bps = float(rate_bps[at_ends].min()) if at_ends.any() else float(rate_bps.max())
    alpha = settings.switch.alpha * np.maximum(rate_bps / host_bps, 1.0)
    if settings.switch.alpha <= 1:
        alpha = np.minimum(alpha, 1.0)
    headroom = np.where(controlled, headroom_bytes(wiring, settings, num_lanes=num_lanes), 0)
    buffer = np.full(wiring.num_vertices, settings.switch.buffer_bytes, dtype=np.int64)
    if settings.switch.buffer_bytes == 0:
        buffer[:] = round(_BUFFER_AT_100G * host_bps / 100e9)
    kmin, kmax = marking(wiring, settings.ecn)
    # A NIC that several GPUs share is a vertex, but marks nothing of its own.
    of_nic = controlled & (wiring.link_source >= wiring.num_endpoints)
    of_nic &= np.isin(wiring.link_source, wiring.link_target[~controlled])
    kmin, kmax = (np.where(of_nic, NEVER_BYTES, marks) for marks in (kmin, kmax))
    pmax = settings.ecn.pmax if settings.ecn else 0.0
    return {
        "buffer_bytes": buffer,
        "headroom_bytes": headroom,
        "alpha": alpha,
        "kmin_bytes": kmin,
        "kmax_bytes": kmax,
        "pmax": np.full(wiring.num_links, pmax),
        "queue_bytes": np.full(wiring.num_links, settings.switch.queue_bytes, dtype=np.int64),
    }


def headroom_bytes(
    wiring: PacketTopology, settings: PacketSettings, *, num_lanes: int = 1
) -> NDArray[np.int64]:
    """Return what each link, as ingress, holds behind its threshold.

    The frame that crossed the threshold, and what still comes in after it: for as long as the
    frame that the reverse link had begun, the pause frames of all priorities, both ways of the
    cable, the switch's own pipeline and the peer's response take, and the frame that the peer had
    begun.
    """
    pfc, transport = settings.pfc, settings.transport
    if pfc.headroom_bytes != -1:
        return np.full(wiring.num_links, pfc.headroom_bytes, dtype=np.int64)
    bytes_per_ps = wiring.link_rate_bps / 8 / _PS_PER_S
    if pfc.headroom_products > 0:
        products = pfc.headroom_products * bytes_per_ps * wiring.link_delay_ps
        return np.floor(products).astype(np.int64)
    loop_ps = 2 * wiring.link_delay_ps + wiring.forward_ps[wiring.link_target] + pfc.response_ps
    frame = transport.payload_bytes + transport.header_bytes + transport.gap_bytes
    fixed = 3 * frame + num_lanes * (_PAUSE_BYTES + transport.gap_bytes)
    return np.ceil(bytes_per_ps * loop_ps).astype(np.int64) + fixed


def _reserves(settings: PacketSettings) -> bool:
    return settings.flow_control == "pfc" and settings.switch.ingress_bytes == 0


def _weights(settings: PacketSettings, lanes: list[int]) -> NDArray[np.uint32]:
    weights = settings.switch.weights
    if not weights:
        return np.empty(0, dtype=np.uint32)
    missing = [priority for priority in lanes if weights.get(priority, 0) < 1]
    if missing:
        raise SpecError(
            key="switch.weights",
            what=f"priority {missing[0]} is in use and has no weight",
            remedy="give it one",
        )
    return np.array([0, *(weights[priority] for priority in lanes)], dtype=np.uint32)


def _numbers(settings: PacketSettings) -> dict[str, float]:
    switch, pfc, transport = settings.switch, settings.pfc, settings.transport
    by_credit = settings.flow_control in {"credits", "scheduled"}
    full_bytes = transport.payload_bytes + transport.header_bytes
    schedule = settings.schedule
    own = {
        name: getattr(transport, name)
        for name in transport.__slots__
        if name not in {"recovery", "telemetry", "source_ports", "restraint"}
    }
    return {
        **own,
        "num_paths": settings.num_paths,
        "telemetry": transport.telemetry,
        "pint": _is_pint(settings),
        "reserve_bytes": switch.reserve_bytes if _reserves(settings) else 0,
        "resume_bytes": pfc.resume_bytes,
        "ingress_bytes": switch.ingress_bytes,
        "input_turns": switch.input_turns,
        "root_marks": settings.ecn is not None and settings.ecn.at_roots,
        "return_headers": switch.return_headers,
        "cut_through": switch.cut_through,
        "seeds_equal": switch.seeds_equal,
        "flowlet_gap_ps": switch.flowlet_gap_ps,
        "quanta": pfc.quanta,
        "pause_bytes": _PAUSE_BYTES,
        "response_ps": pfc.response_ps,
        "watchdog_ps": pfc.watchdog_ps,
        "restore_ps": pfc.restore_ps,
        "credit_blocks": settings.credits.buffer_bytes // _BLOCK_BYTES if by_credit else 0,
        "most_blocks": _MAX_BLOCKS,
        "update_blocks": max(1, settings.credits.update_bytes // _BLOCK_BYTES),
        # Ethernet hosts send none, and inside they are part of the cells' headers.
        "credit_bytes": 0 if settings.flow_control == "scheduled" else _CREDIT_BYTES,
        "credit_packet_bytes": schedule.dressed_bytes(full_bytes)
        if settings.flow_control == "scheduled"
        else full_bytes,
        "high_limit_bytes": limit_bytes(settings.lanes),
        "grant_bytes": schedule.grant_bytes,
        "grant_wait_ps": schedule.wait_ps,
        "cell_bytes": schedule.cell_bytes,
        "cell_header_bytes": schedule.cell_header_bytes,
        "cells_together": schedule.cells_together,
        "voq_bytes": schedule.queue_bytes,
        "reassembly_ps": schedule.reassembly_ps,
    }
