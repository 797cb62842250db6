"""Deterministic networking as the core takes it, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.engines.delivery import Columns
    from netloom.engines.packet.settings import PacketSettings
    from netloom.engines.packet.timing import CycleQueues, PacketTiming
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["timing_arrays", "timing_numbers"]

_KINDS: Final = ("none", "token-bucket", "cbs", "ats")
_CUT_GAP_BYTES: Final = 20  # preamble and gap, which the pieces of a cut packet have as well


def timing_arrays(
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    lanes: Sequence[int],
) -> Columns:
    """Return what the core takes; nothing without timing.

    Raises:
        SpecError: a link, stream or combination is wrong.
    """
    timing = settings.timing
    if timing is None:
        return {}
    _check(timing, wiring, transfers, settings)
    return {
        **_gate_arrays(timing, wiring.num_links, lanes),
        **_shaper_arrays(timing, wiring.num_links, lanes),
        **_stream_arrays(timing),
        "express_lanes": _masks(timing.express, wiring.num_links, lanes),
        "metered": _flags(timing.metered, wiring.num_links),
        "replicates": _flags(timing.replicates, wiring.num_vertices),
        "eliminates": _flags(timing.eliminates, wiring.num_vertices),
        "cycle_shift": _shifts(timing.cycle, wiring.num_links),
    }


def timing_numbers(settings: PacketSettings, lanes: Sequence[int]) -> dict[str, float]:
    """Return the core's numbers."""
    timing = settings.timing
    if timing is None:
        return {"timed": 0}
    cycle = timing.cycle
    return {
        "timed": 1,
        "history_packets": timing.history_packets,
        "cycle_ps": cycle.cycle_ps if cycle else 0,
        "cycle_first_lane": 1 + lanes.index(max(cycle.priorities)) if cycle else 0,
        "cycle_queues": len(cycle.priorities) if cycle else 2,
    }


def _lane_mask(priorities: frozenset[int], lanes: Sequence[int]) -> int:
    """Return the lanes of *priorities*; control, lane 0, is always one of them."""
    return 1 + sum(1 << (1 + lanes.index(one)) for one in priorities if one in lanes)


def _gate_arrays(timing: PacketTiming, num_links: int, lanes: Sequence[int]) -> Columns:
    lists = [timing.gates.get(link) for link in range(num_links)] if timing.gates else []
    counts = [len(one.steps) if one else 0 for one in lists]
    steps = [step for one in lists if one for step in one.steps]
    return {
        "gate_begin": np.cumsum([0, *counts], dtype=np.int64),
        "gate_offset_ps": np.array([one.offset_ps if one else 0 for one in lists], dtype=np.int64),
        "gate_duration_ps": np.array([step.duration_ps for step in steps], dtype=np.int64),
        "gate_open": np.array([_lane_mask(step.open_for, lanes) for step in steps], np.uint16),
    }


def _shaper_arrays(timing: PacketTiming, num_links: int, lanes: Sequence[int]) -> Columns:
    count = num_links * (1 + len(lanes)) if timing.shapers else 0
    kind = np.zeros(count, dtype=np.uint8)
    rate_bps, burst_bytes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for (link, priority), one in timing.shapers.items():
        if priority in lanes:
            at = link * (1 + len(lanes)) + 1 + lanes.index(priority)
            kind[at] = _KINDS.index(one.kind)
            rate_bps[at], burst_bytes[at] = round(one.rate_bps), one.burst_bytes
    return {"shaper_kind": kind, "shaper_rate_bps": rate_bps, "shaper_burst_bytes": burst_bytes}


def _stream_arrays(timing: PacketTiming) -> Columns:
    return {
        "stream": np.array(timing.stream, dtype=np.uint32),
        "stream_rate_bps": np.array([round(one.rate_bps) for one in timing.streams], np.int64),
        "stream_burst_bytes": np.array(
            [round(one.burst_bytes) for one in timing.streams], np.int64
        ),
    }


def _masks(
    of: Mapping[int, frozenset[int]], num_links: int, lanes: Sequence[int]
) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    masks = np.zeros(num_links if of else 0, dtype=np.uint16)
    for link, priorities in of.items():
        masks[link] = _lane_mask(priorities, lanes) if priorities else 0
    return masks


def _flags(of: frozenset[int], count: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    flags = np.zeros(count if of else 0, dtype=np.uint8)
    flags[sorted(of)] = 1
    return flags


def _shifts(
    cycle: CycleQueues | None, num_links: int
) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    shifts = np.zeros(num_links if cycle else 0, dtype=np.uint32)
    for link, shift in (cycle.shift if cycle else {}).items():
        shifts[link] = shift
    return shifts


def _check(
    timing: PacketTiming, wiring: PacketTopology, transfers: Transfers, settings: PacketSettings
) -> None:
    _check_links(timing, wiring)
    _check_streams(timing, transfers, settings)
    _check_gates(timing, wiring, settings)
    cycle = timing.cycle
    if cycle and sorted(cycle.priorities, reverse=True) != list(
        range(max(cycle.priorities), max(cycle.priorities) - len(cycle.priorities), -1)
    ):
        raise SpecError(
            key="timing.cycle.priorities",
            what=f"{cycle.priorities} do not follow each other",
            remedy="use neighbouring priorities, such as (6, 5)",
        )


def _check_links(timing: PacketTiming, wiring: PacketTopology) -> None:
    links = {*timing.gates, *timing.express, *timing.metered, *(at for at, _ in timing.shapers)}
    if timing.cycle:
        links |= set(timing.cycle.shift)
    if links and not 0 <= min(links) <= max(links) < wiring.num_links:
        raise SpecError(
            key="timing",
            what=f"there is no link {max(links)}",
            remedy=f"links are 0 to {wiring.num_links - 1}",
        )
    vertices = timing.replicates | timing.eliminates
    if vertices and not wiring.num_endpoints <= min(vertices) <= max(vertices) < (
        wiring.num_vertices
    ):
        raise SpecError(
            key="timing.replicates",
            what=f"{max(vertices)} is no switch",
            remedy=f"switches are {wiring.num_endpoints} to {wiring.num_vertices - 1}",
        )


def _check_streams(timing: PacketTiming, transfers: Transfers, settings: PacketSettings) -> None:
    shaped = any(one.kind == "ats" for one in timing.shapers.values())
    if (timing.metered or shaped) and not timing.streams:
        raise SpecError(
            key="timing.streams",
            what="meters and asynchronous shapers need a rate and a burst of each stream",
            remedy="give 'streams', and the 'stream' of each transfer",
        )
    if timing.streams and len(timing.stream) != len(transfers):
        raise SpecError(
            key="timing.stream",
            what=f"{len(timing.stream)} numbers for {len(transfers)} transfers",
            remedy="give each transfer the number of its stream",
        )
    if timing.stream and not 0 <= min(timing.stream) <= max(timing.stream) < len(timing.streams):
        raise SpecError(
            key="timing.stream",
            what=f"there is no stream {max(timing.stream)}",
            remedy=f"streams are 0 to {len(timing.streams) - 1}",
        )
    rates_bps = [one.rate_bps for one in timing.streams]
    rates_bps += [one.rate_bps for one in timing.shapers.values() if one.kind != "ats"]
    if min(rates_bps, default=1.0) < 1:
        raise SpecError(
            key="timing.streams",
            what=f"a rate of {min(rates_bps):g} bit/s",
            remedy="use 1 bit/s or more",
        )
    if shaped:
        _check_bursts(timing, transfers, settings)


def _check_bursts(timing: PacketTiming, transfers: Transfers, settings: PacketSettings) -> None:
    """Raise where a frame of a stream exceeds its burst: it could never be sent."""
    host = settings.transport
    payload = np.minimum(transfers.size_bytes, host.payload_bytes)
    wire = np.maximum(payload + host.header_bytes, host.least_bytes) + host.gap_bytes
    largest = np.zeros(len(timing.streams), dtype=np.int64)
    np.maximum.at(largest, np.array(timing.stream, dtype=np.int64), wire)
    for number, one in enumerate(timing.streams):
        if one.burst_bytes < largest[number]:
            raise SpecError(
                key="timing.streams",
                what=f"stream {number} has a burst of {one.burst_bytes:g} bytes, less than its "
                "largest frame on the wire",
                remedy=f"give at least {largest[number]}",
            )


def _check_gates(timing: PacketTiming, wiring: PacketTopology, settings: PacketSettings) -> None:
    if timing.express and settings.transport.gap_bytes != _CUT_GAP_BYTES:
        raise SpecError(
            key="timing.express",
            what=f"packets with a gap of {settings.transport.gap_bytes} bytes",
            remedy=f"pre-emption is modelled with preambles and gaps of {_CUT_GAP_BYTES}",
        )
    gated = sorted(set(timing.gates) & (set(timing.express) | {at for at, _ in timing.shapers}))
    credit = {at for (at, _), one in timing.shapers.items() if one.kind == "cbs"}
    for link in gated:
        if link in timing.express or link in credit:
            raise SpecError(
                key="timing.gates",
                what=f"link {link} ({wiring.name[int(wiring.link_source[link])]}) has gates and "
                f"{'express priorities' if link in timing.express else 'a credit-based shaper'}",
                remedy="use one of them at a port",
            )
    for link, one in timing.gates.items():
        if one.cycle_ps <= 0 or any(step.duration_ps < 1 for step in one.steps):
            raise SpecError(
                key="timing.gates",
                what=f"link {link} has a step that takes no time",
                remedy="give each a picosecond at least",
            )
