"""How long a transfer takes when it has the network to itself, packet by packet in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.fabric.wiring.paths import first_ways, undivided

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from netloom.fabric.wiring.paths import PairPaths
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["CHUNK", "Frames", "alone_ps", "hpcc_alone_ps"]

CHUNK: Final = 1 << 18  # transfers whose ways are looked at together: some 200 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """What a message becomes on the wire, and what it waits for at its ends.

    Attributes:
        payload_bytes: Of a full packet.
        header_bytes: What a packet adds, gaps included.
        least_bytes: What the shortest packet takes, gaps included.
        ack_bytes: What an acknowledgement takes, gap included; 0 where none is awaited.
        host_rate_bps: What the sender's software can push; infinite where it is not in the way.
        send_ps: At the sender, before the first bit; nothing where only scale-up links are crossed.
        receive_ps: At the receiver, after the last, likewise; meanwhile the acknowledgement is on
            its way.
        cut_through: Whether switches send a packet on while its tail still comes in.
        connections: Over which a transfer is spread evenly.
        parted: Whether packets of a connection may take different links between switches.
        sprayed: Whether they may take different ports of an endpoint too.
        piece_of: Gives for packets the bytes of them that take one link between switches; None
            where packets stay whole.
    """

    payload_bytes: int
    header_bytes: int
    least_bytes: int
    ack_bytes: int
    host_rate_bps: float
    send_ps: int
    receive_ps: int
    cut_through: bool
    connections: int = 1
    parted: bool = False
    sprayed: bool = False
    piece_of: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Packets:
    """What each transfer is on a link, in bytes.

    Attributes:
        first: The first packet.
        last: The shortest of those that end a connection's part.
        lasts: All of these that are shorter than a full packet, together.
        total: All packets together.
    """

    first: NDArray[np.float64]
    last: NDArray[np.float64]
    lasts: NDArray[np.float64]
    total: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Way:
    """The links that each transfer crosses.

    Attributes:
        per_byte: Picoseconds a byte on each, the first with the sender's software; 0 behind the
            last. Where switches cut through, the last has the receiver's software as well: copies
            at both ends go on while a packet is under way, and neither makes a switch store it.
        wire: The same without software.
        share: How much of the transfer each carries at least; less than all of it where an
            endpoint has several ports.
        least: What each carries at least of packets that may part: all up to the first choice.
        bare: Which of them are rated in payload: scale-up links, and those to a shared NIC.
        num_hops: How many there are.
    """

    per_byte: NDArray[np.float64]
    wire: NDArray[np.float64]
    share: NDArray[np.float64]
    least: NDArray[np.float64]
    bare: NDArray[np.bool_]
    num_hops: NDArray[np.int64]


def alone_ps(wiring: PacketTopology, transfers: Transfers, frames: Frames) -> NDArray[np.int64]:
    """Return each transfer's time alone on *wiring*: until it is received and the sender knows.

    The first of equal ways, no window and no rate control: full packets and a last one that may
    be short. It is the least time that there can be: where packets may take different links
    between switches, none waits for another there, but for links that all must take.

    Raises:
        InfeasibleError: two endpoints cannot reach each other.
    """
    begins = range(0, len(transfers), CHUNK)
    parts = [_some_alone_ps(wiring, transfers, frames, slice(at, at + CHUNK)) for at in begins]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _some_alone_ps(
    wiring: PacketTopology, transfers: Transfers, frames: Frames, which: slice
) -> NDArray[np.int64]:
    source, target = (ends[which].astype(np.int64) for ends in (transfers.source, transfers.target))
    ways = first_ways(wiring, source, target)
    there = ways.links >= 0
    bare = wiring.link_scale_up[ways.links] & there
    inside = (bare | ~there).all(axis=1)
    wire = np.where(there, 8e12 / wiring.link_rate_bps[ways.links], 0.0)
    host_ps = np.where(inside, 0.0, 8e12 / frames.host_rate_bps)
    per_byte = wire.copy()
    for hop in (0, ways.num_hops - 1) if frames.cut_through else (0,):
        row = np.arange(len(per_byte))
        per_byte[row, hop] = np.maximum(per_byte[row, hop], host_ps)
    size_bytes = transfers.size_bytes[which]
    share = _shares(wiring, ways, size_bytes, frames)
    way = _Way(
        per_byte=per_byte,
        wire=wire,
        share=share,
        least=undivided(wiring, ways, target),
        bare=bare,
        num_hops=ways.num_hops,
    )
    framed, naked = (_packets(size_bytes, frames, bare=kind) for kind in (False, True))
    parted = frames.parted or frames.connections > 1
    if frames.cut_through:
        left_ps = _cut_through_ps(way, framed, naked, parted=parted)
    elif parted:
        left_ps = _parted_ps(way, framed, naked, frames)
        left_ps = np.maximum(left_ps, _undivided_ps(way, framed, naked, frames))
    else:
        left_ps = _in_line_ps(way, framed, naked)
    back = np.where(bare, 0.0, wire)
    ack_per_byte = back.max(axis=1) if frames.cut_through else back.sum(axis=1)
    back_ps = (frames.ack_bytes > 0) * ways.delay_ps + frames.ack_bytes * ack_per_byte
    end_ps = np.maximum(back_ps, np.where(inside, 0, frames.receive_ps))
    begin_ps = np.where(inside, 0, frames.send_ps)
    whole_ps: NDArray[np.float64] = begin_ps + left_ps + ways.delay_ps + end_ps
    return np.rint(whole_ps).astype(np.int64)


def _shares(
    wiring: PacketTopology, ways: PairPaths, size_bytes: NDArray[np.int64], frames: Frames
) -> NDArray[np.float64]:
    """Return what each link carries of a transfer that spreads over the ports of both ends.

    Connections spread evenly, so that some port has a whole number of them; sprayed packets as
    evenly as bytes could.
    """
    share = np.ones(ways.links.shape)
    count = np.minimum(size_bytes, frames.connections)
    if frames.connections == 1 and not frames.sprayed:
        return share
    row, last = np.arange(len(size_bytes)), ways.num_hops - 1
    for hop, ends in ((np.zeros_like(last), wiring.link_source), (last, wiring.link_target)):
        num_ports = np.maximum(_ports(wiring, ways.links[row, hop], ends), 1)
        least = 1 / num_ports if frames.sprayed else -(-count // num_ports) / count
        share[row, hop] *= np.where((hop > 0) | (ends is wiring.link_source), least, 1.0)
    return share


def _ports(
    wiring: PacketTopology, link: NDArray[np.int64], ends: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return how many links like *link* an endpoint has: ports, or links to the same neighbour."""
    outside = ~wiring.link_scale_up
    pair = wiring.link_source.astype(np.int64) * wiring.num_vertices + wiring.link_target
    _, which, counts = np.unique(pair, return_inverse=True, return_counts=True)
    beside = counts[which.reshape(-1)]
    ports = np.bincount(ends[outside], minlength=wiring.num_vertices)[ends[link]]
    return np.where(outside[link], ports, beside[link])


def _in_line_ps(way: _Way, framed: _Packets, bare: _Packets) -> NDArray[np.float64]:
    """Return when the last packet has left the last link, all of them on one way, stored.

    F(k, i), when packet k has left link i, is the larger of F(k, i - 1) and F(k - 1, i), plus the
    packet's own time; full packets keep their distance, so only the last needs the recursion.
    """
    left_ps, first_ps, slowest_ps = np.zeros((3, len(way.num_hops)))
    single = framed.total == framed.last
    between = (framed.total - framed.first - framed.last) / framed.first  # full packets
    for hop in range(way.per_byte.shape[1]):
        here = _times(way, np.s_[:, hop], framed, bare)
        slowest_ps = np.maximum(slowest_ps, here.first)
        first_ps = first_ps + here.first
        before_ps = np.where(single, 0.0, first_ps + between * slowest_ps)
        there = way.per_byte[:, hop] > 0
        left_ps = np.where(there, np.maximum(left_ps, before_ps) + here.last, left_ps)
    return left_ps


def _cut_through_ps(
    way: _Way, framed: _Packets, bare: _Packets, *, parted: bool
) -> NDArray[np.float64]:
    """Return when the last packet can have left the last link, if switches cut through.

    A packet begins on a link when it begins on the one before, but before a faster link, which
    would run dry, it is stored. Where packets may part, links in between
    have a packet each, or what they carry at least; the cable of a shared NIC has them all.
    """
    left_ps, start_ps, before_ps = np.zeros((3, len(way.num_hops)))
    for hop in range(way.per_byte.shape[1]):
        here = _times(way, np.s_[:, hop], framed, bare)
        there = way.wire[:, hop] > 0
        faster = there & (way.wire[:, hop] < way.wire[:, max(hop - 1, 0)])
        ends = (hop == 0) | (hop >= way.num_hops - 1)
        whole = ends | (not parted) | way.bare[:, max(hop - 1, 0)]
        some_ps = np.maximum(here.total * way.least[:, hop], here.first)
        least_ps = np.where(whole, here.total, some_ps) - here.last
        start_ps = np.maximum(start_ps + np.where(faster, before_ps, 0.0), least_ps)
        left_ps = np.where(there, start_ps + here.last, left_ps)
        before_ps = here.last * way.wire[:, hop] / np.where(there, way.per_byte[:, hop], 1.0)
    return left_ps


def _parted_ps(way: _Way, framed: _Packets, bare: _Packets, frames: Frames) -> NDArray[np.float64]:
    """Return when all packets can have left the last link, if none meets another in between.

    On the first link they follow one another, full ones first; on the last one again, in the order
    in which they come, and a short one may have overtaken full ones. That link begins with what
    comes first, and ends neither before it has sent everything, nor before the last of each kind.
    """
    last, hop = way.num_hops - 1, np.arange(way.per_byte.shape[1])
    out, of_out, after = _end(way, framed, bare, np.zeros_like(last), np.minimum(1, last))
    into, of_into, before = _end(way, framed, bare, last, np.maximum(last - 1, 0))
    used = (hop == after[:, None]) | (hop == before[:, None])
    between = np.where((hop > 0) & (hop < last[:, None]) & ~used, way.per_byte, 0.0)
    into = _Packets(
        **{
            size: np.where(last > 0, getattr(into, size), 0.0)
            for size in ("first", "last", "lasts", "total")
        }
    )
    pieces = (
        size if frames.piece_of is None else frames.piece_of(size)
        for size in (framed.first, framed.last)
    )
    wired, inside = (np.where(way.bare == kind, between, 0.0).sum(axis=1) for kind in (False, True))
    full_ps, last_ps = (
        wired * size + inside * payload
        for size, payload in zip(pieces, (bare.first, bare.last), strict=True)
    )
    beside_ps: NDArray[np.float64] = np.where(after > 0, of_out.first, 0.0) + np.where(
        before > 0, of_into.last, 0.0
    )
    return np.asarray(_streamed_ps(out, into, full_ps, last_ps) + beside_ps)


def _undivided_ps(
    way: _Way, framed: _Packets, bare: _Packets, frames: Frames
) -> NDArray[np.float64]:
    """Return when all can have left the last link, by the links that all must take.

    Each ends no sooner than the shortest packet reaches it and it has sent its bytes; after that
    the shortest has the links behind it before it. Where no link is a matter of choice, packets of
    a single connection stay in line.
    """
    if frames.piece_of is not None:  # cells may be shorter than packets, and have no gaps
        return np.asarray((way.per_byte * way.least).max(axis=1) * bare.total)
    hops = range(way.per_byte.shape[1])
    times = [_times(way, np.s_[:, hop], framed, bare) for hop in hops]
    shortest_ps = np.sum([here.last for here in times], axis=0)
    least_ps = [
        shortest_ps - here.last + np.maximum(here.total * way.least[:, hop], here.last)
        for hop, here in enumerate(times)
    ]
    found: NDArray[np.float64] = np.max(least_ps, axis=0)
    if frames.connections > 1:
        return found
    in_line = ((way.least == 1.0) | (way.per_byte == 0.0)).all(axis=1)
    return np.where(in_line, np.maximum(_in_line_ps(way, framed, bare), found), found)


def _end(
    way: _Way,
    framed: _Packets,
    bare: _Packets,
    hop: NDArray[np.int64],
    beside: NDArray[np.int64],
) -> tuple[_Packets, _Packets, NDArray[np.int64]]:
    """Return the times on the slower link at one end, those on the faster, and which else is one.

    That is the link at *hop* alone, unless it leads to a NIC that several GPUs share: then all
    packets take the NIC's own cable, at *beside*, as well; elsewhere the third is 0.
    """
    row = np.arange(len(hop))
    near, next_ = (_times(way, (row, at), framed, bare) for at in (hop, beside))
    shared = way.bare[row, hop] & ~way.bare[row, beside]
    slower = shared & (next_.total > near.total)
    slow, fast = (
        _Packets(
            **{
                size: np.where(slower == first, getattr(next_, size), getattr(near, size))
                for size in ("first", "last", "lasts", "total")
            }
        )
        for first in (True, False)
    )
    return slow, fast, np.where(shared, beside, 0)


def _times(way: _Way, at: Any, framed: _Packets, bare: _Packets) -> _Packets:
    """Return the times of packets on the links at *at*, in the place of their bytes."""
    per_byte = way.per_byte[at]
    each = {
        size: per_byte * np.where(way.bare[at], getattr(bare, size), getattr(framed, size))
        for size in ("first", "last", "lasts", "total")
    }
    total = np.maximum(each["total"] * way.share[at], each["first"])
    return _Packets(
        first=each["first"],
        last=each["last"],
        lasts=np.minimum(each["lasts"] * way.share[at], total),
        total=total,
    )


def _streamed_ps(
    out: _Packets, into: _Packets, full_ps: NDArray[np.float64], last_ps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return when the last link is done, from all times on it and on the first, and in between."""
    some = out.total > out.lasts  # there are full packets
    short = out.lasts > 0
    comes_ps = out.first + full_ps
    overtaker_ps = out.total - out.lasts + out.last + last_ps
    begins_ps = np.where(some, np.minimum(comes_ps, overtaker_ps), overtaker_ps)
    fulls_ps = np.maximum(out.total - out.lasts - out.first, into.total - into.lasts - into.first)
    streamed_ps = np.where(some, comes_ps + fulls_ps + into.first, 0.0)
    ends_ps = out.total + np.where(short, last_ps, full_ps)
    ends_ps = ends_ps + np.where(short, into.last, into.first)
    return np.maximum(np.maximum(begins_ps + into.total, streamed_ps), ends_ps)


def _packets(size_bytes: NDArray[np.int64], frames: Frames, *, bare: bool) -> _Packets:
    """Return the packets of each transfer, or their payload; parts differ by a byte at most."""
    header, least = (0, 0) if bare else (frames.header_bytes, frames.least_bytes)
    count = np.minimum(size_bytes, frames.connections)
    share, rest = np.divmod(size_bytes, count)
    full = float(frames.payload_bytes + header)
    total, lasts = np.zeros((2, len(size_bytes)))
    last = np.full(len(size_bytes), np.inf)
    for part, times in ((share, count - rest), (share + 1, rest)):
        packets = -(-part // frames.payload_bytes)
        tail = part - (packets - 1) * frames.payload_bytes + header
        tail = np.maximum(tail, least).astype(np.float64)
        total += times * ((packets - 1) * full + tail)
        lasts += np.where(tail < full, times * tail, 0.0)
        last = np.where(times > 0, np.minimum(last, tail), last)
    first = np.where(total > lasts, full, last)
    return _Packets(first=first, last=last, lasts=lasts, total=total)


def hpcc_alone_ps(
    wiring: PacketTopology, transfers: Transfers, *, payload_bytes: int, header_bytes: int
) -> NDArray[np.int64]:
    """Return what HPCC's simulator divides completion times by: third.cc, qp_finish.

    The base round trip (propagation both ways, and a full payload on every link once) and all
    bytes, headers without telemetry included, at the slowest link.

    Raises:
        InfeasibleError: two endpoints cannot reach each other.
    """
    source, target = (ends.astype(np.int64) for ends in (transfers.source, transfers.target))
    ways = first_ways(wiring, source, target)
    base_ps = 2 * ways.delay_ps + payload_bytes * ways.ps_per_byte
    packets = -(-transfers.size_bytes // payload_bytes)
    total_bytes = transfers.size_bytes + packets * header_bytes
    return np.rint(base_ps + total_bytes * 8e12 / ways.slowest_bps).astype(np.int64)
