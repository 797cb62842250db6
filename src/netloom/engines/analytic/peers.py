"""All-to-alls and single messages: point-to-point rounds of the library.

A rank has a number of partners in flight and starts with the others one after another; the
messages share the scale-up network and the NICs. NCCL gives a message inside a node more channels
the larger it is, each of which carries about what it takes an NVLink to carry; between nodes it
gives a message the channels that its NICs need, and fewer the more ranks there are.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.compute.generation import Constant
from netloom.engines.analytic.duration import Term, ring_rate, scaled
from netloom.engines.analytic.startup import nccl_leaf, summed, wire
from netloom.engines.analytic.tables import BASE_US, HW_US, PROTOCOLS, Algorithm, LinkKind, Protocol
from netloom.engines.analytic.tuner import limits_of
from netloom.engines.analytic.ways import measured_instead
from netloom.provenance import Source, Why
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.engines.analytic.duration import CollectivePlacement
    from netloom.parts.parts import Technology
    from netloom.workload.collective import Collective, Group

__all__ = [
    "Peers",
    "num_net_channels",
    "partners_waiting",
    "peer_latency",
    "peer_terms",
    "peers",
    "with_peers",
]

# NVIDIA/nccl src/enqueue.cc and init.cc at commit 5067397c: point-to-point channels, what one of
# them takes of a message inside a node before another is added (32 steps of 512 KiB), and the
# largest message that goes as LL.
_CHANNELS: Final = 32
_CHANNEL_BYTES: Final = 2.0**24
_LL_BYTES: Final = 2.0**14
# NVIDIA/nccl src/graph/paths.cc and src/include/device.h of 2.29: partners that a channel serves
# at a time. Channels of a NIC: src/graph/connect.cc, recalled; the ten-node rows of _EXAMPLE and
# NVIDIA/nccl issue #1272 (32 GH200: one channel where 16 have two) need these numbers.
_BATCH: Final = 8
_CHANNELS_OF_NIC: Final = 2
_CHANNELS_OF_FAST_NIC: Final = 4
_FAST_NIC_BPS: Final = 400e9
_LATER: Final = frozenset({"hopper", "blackwell"})


def _measured(name: str, value: float, citation: str, note: str, *, unit: str = "") -> Constant:
    source = Source(citation=citation, confidence="measured", note=note)
    return Constant(name=name, value=value, unit=unit, source=source)


_POLARIS: Final = "argonne-lcf/alcf-nccl-tests 385be336"
_EXAMPLE: Final = "xxrjun/nccl-tests-cluster 455de4f8"
_CHANNEL_BPS: Final = Constant(
    name="rate of a channel between nodes",
    value=14e9 * 8,
    unit="bit/s",
    source=Source(
        citation="NVIDIA/nccl src/graph/paths.cc, NCCL_P2P_PER_CHANNEL_NET_BW",
        confidence="published",
        note="measured: 15.2 GB/s with one channel and 12.5 with each of two (nccl-tests-cluster), "
        "18.3 with one over Slingshot (NVIDIA/nccl issue #1272)",
    ),
)
_ARITY_US: Final = 0.4  # NCCL's term for each further partner of CollNetDirect
_PARTNER: Final = Constant(
    name="starting with each partner in another node",
    value=_ARITY_US * 1e-6,
    unit="s",
    source=Source(
        citation="NVIDIA/nccl src/graph/tuning.cc at commit 5067397c",
        confidence="assumed",
        note="as each further partner of CollNetDirect",
    ),
)
_FAR_PARTNER: Final = _measured(
    "what each partner beyond 19 takes longer",
    9.8e-6,
    _POLARIS,
    "all-to-all of 256 KiB to 1 MiB on 256 and 540 nodes of 4 A100: 10.3 and 22 ms",
    unit="s",
)
_IN_FLIGHT: Final = 19  # what the rows of 8 nodes imply; those of 256 and 540 imply 15 to 17
_MANY: Final = _measured(
    "share of the NICs' rate with many partners",
    0.96,
    _EXAMPLE,
    "all-to-all of 4 GiB and more on 10 nodes of 1 to 8 H100, each with a NIC",
)
_MANY_SHARED: Final = _measured(
    "share of that where GPUs share a NIC",
    0.57,
    _POLARIS,
    "all-to-all of 1 GiB on 2 and 8 nodes, four GPUs on two NICs",
)
_ALONE: Final = _measured(
    "share of a NIC's rate that one message reaches",
    0.88,
    _EXAMPLE,
    "send_recv of 64 MiB and more between two H100 nodes: 40 to 43 of 48 GB/s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """What point-to-point rounds were measured to cost and to reach."""

    partner: Constant
    far_partner: Constant
    many: Constant
    many_shared: Constant
    alone: Constant


_USED = [
    Peers(
        partner=_PARTNER,
        far_partner=_FAR_PARTNER,
        many=_MANY,
        many_shared=_MANY_SHARED,
        alone=_ALONE,
    )
]


def peers() -> Peers:
    """Return the constants in use."""
    return _USED[-1]


@contextmanager
def with_peers(instead: Peers) -> Iterator[None]:
    """Use *instead* while the context lasts: to fit it."""
    _USED.append(instead)
    try:
        yield
    finally:
        _USED.pop()


def _peers_on(technology: Technology) -> Peers:
    """Return the constants in use on *technology*: its own where they were measured."""
    used, own = peers(), technology.collectives
    if own is None:
        return used
    measured = partial(measured_instead, technology=technology)
    return Peers(
        partner=measured(used.partner, attribute="partner_s"),
        far_partner=measured(used.far_partner, attribute="far_partner_s"),
        many=measured(used.many, attribute="all_to_all_share"),
        many_shared=used.many_shared,
        alone=measured(used.alone, attribute="message_share"),
    )


def peer_latency(collective: Collective, place: CollectivePlacement, *, intra: LinkKind) -> Why:
    """Return what an all-to-all or a send/recv takes before its bytes decide."""
    group = collective.group
    partners = group.size - 1 if collective_entry(collective.kind).has_partners else 0
    started = min(partners, group.size - group.per_node)
    waiting = min(started, partners_waiting(group))
    message = collective.size_bytes / max(1, group.size if partners else 1)
    link = intra if place.path is None else LinkKind.NET
    # Between nodes there are no buffers for LL: NCCL_ALLOC_P2P_NET_LL_BUFFERS is 0 by default.
    is_ll = link is not LinkKind.NET and message <= _LL_BYTES
    index = PROTOCOLS.index(Protocol.LL if is_ll else Protocol.SIMPLE)
    launch, overhead = place.profile.launch_s, place.profile.overhead_s
    used = _peers_on(place.network.technology)
    parts = (
        nccl_leaf("base latency", BASE_US[Algorithm.RING][index] * 1e-6),
        nccl_leaf(f"latency of a hop over {link}", HW_US[link][Algorithm.RING][index] * 1e-6),
        _times(used.partner, started),
        _times(used.far_partner, waiting),
        nccl_leaf("starting with partners inside", (partners - started) * _ARITY_US * 1e-6),
        *wire(place, Protocol.LL128, message),  # rounds overlap: no message is waited for
        *(() if launch is None else (_times(launch, group.per_node),)),
        *(() if overhead is None else (overhead.why(),)),
    )
    return summed("latency", parts)


def partners_waiting(group: Group) -> int:
    """Return the partners in other nodes that an all-to-all cannot start with at once."""
    return max(0, group.size - group.per_node - _IN_FLIGHT)


def _times(each: Constant, count: int) -> Why:
    return Why(
        name=each.name, value=each.value * count, unit="s", how=f"{count} x", source=each.source
    )


def peer_terms(collective: Collective, place: CollectivePlacement) -> tuple[Term, ...]:
    """Return the terms of an all-to-all or a send/recv.

    Between nodes every rank's bytes leave on its own rail; with PXN those for another rail
    first cross the scale-up network, which is the extra share inside the node.
    """
    if not collective_entry(collective.kind).has_partners:
        return (_message(collective, place),)
    if collective_entry(collective.kind).is_rooted:
        return _rooted(collective, place)
    size, group = collective.size_bytes * collective.skew, collective.group
    local, total = group.per_node, group.size
    relayed = (total - local) / total * (local - 1) / local
    stays = Term(
        name="inside a node",
        how="size x ((g-1)/n + share for other rails)",
        size_bytes=size * ((local - 1) / total + relayed),
        rate=_inside(collective, place),
    )
    if place.path is None:
        return (stays,)
    if total - local == 1:
        return (stays, _crossing(collective, place, size * (total - local) / total))
    node, technology = place.network.node, place.network.technology
    used, own = _peers_on(technology), technology.collectives
    whole = own is not None and own.all_to_all_share is not None  # sharing NICs is in it
    shared = (used.many_shared,) if node.num_nics < node.num_gpus and not whole else ()
    leaves = size * (total - local) / total * local
    how = "size x (n-g)/n of each of the node's ranks"
    rate = scaled(place.path.why, used.many, *shared)
    return (stays, Term(name="between nodes", how=how, size_bytes=leaves, rate=rate))


def _rooted(collective: Collective, place: CollectivePlacement) -> tuple[Term, ...]:
    """Return the terms of a gather or a scatter: what the root alone receives or sends."""
    size, group = collective.size_bytes * collective.skew, collective.group
    local, total = group.per_node, group.size
    stays = Term(
        name="inside a node",
        how="size x (g-1)/n",
        size_bytes=size * (local - 1) / total,
        rate=_inside(collective, place),
    )
    if place.path is None:
        return (stays,)
    leaves = size * (total - local) / total
    if total - local == 1:
        return (stays, _crossing(collective, place, leaves))
    own = min(_nics_beside(place), place.path.num_nics)
    beside = Constant(
        name="share of the node's NICs that are beside the root",
        value=own / place.path.num_nics,
        source=Source(citation="the node", confidence="derived"),
    )
    rate = scaled(place.path.why, _peers_on(place.network.technology).many, beside)
    how = "size x (n-g)/n over the NICs beside the root"
    return (stays, Term(name="between nodes", how=how, size_bytes=leaves, rate=rate))


def _inside(collective: Collective, place: CollectivePlacement) -> Why:
    ring = ring_rate(place, collective.group.per_node)
    return scaled(ring, place.profile.partners_share)


def _message(collective: Collective, place: CollectivePlacement) -> Term:
    """Return the term of a shift to the next rank: one rank of a node sends to the next node."""
    size = collective.size_bytes * collective.skew
    if place.path is None:
        rate = _one_link(collective, place)
        return Term(name="inside a node", how="the message", size_bytes=size, rate=rate)
    return _crossing(collective, place, size)


def _crossing(collective: Collective, place: CollectivePlacement, size_bytes: float) -> Term:
    """Return the term of one message between nodes, over the NICs beside one GPU."""
    assert place.path is not None, place
    own = min(_nics_beside(place), place.path.num_nics)
    offered = scaled(place.path.why, _peers_on(place.network.technology).alone)
    assert isinstance(offered.value, float), offered
    channels = num_net_channels(place, collective.group.size)
    rate = Why(
        name="rate of one message between nodes",
        value=min(offered.value * own / place.path.num_nics, channels * _CHANNEL_BPS.value),
        unit="bit/s",
        how="what the NICs beside a GPU carry, or the message's channels where that is less",
        parts=(
            offered,
            Why(name="NICs beside a GPU", value=own),
            Why(name="channels of a message", value=channels, how="for the NICs; fewer with ranks"),
            _CHANNEL_BPS.why(),
        ),
    )
    how = "the message of the rank that crosses"
    return Term(name="between nodes", how=how, size_bytes=size_bytes, rate=rate)


def _nics_beside(place: CollectivePlacement) -> float:
    node = place.network.node
    return max(1.0, node.num_nics / node.num_gpus)


def num_net_channels(place: CollectivePlacement, num_ranks: int) -> int:
    """Return the channels of a message between nodes.

    As many as its NICs need at 14 GB/s each, halved until one round of all channels holds every
    rank, each channel serving eight.
    """
    assert place.path is not None, place
    own, network = _nics_beside(place), place.network
    needed = math.ceil(int(own * network.nic_rate_bps / 8e9) / (_CHANNEL_BPS.value / 8e9))
    channels = _power_of_two(max(math.ceil(own), needed))
    fast = place.profile.generation in _LATER and network.nic_rate_bps >= _FAST_NIC_BPS
    of_nic = _CHANNELS_OF_FAST_NIC if fast else _CHANNELS_OF_NIC
    most = _power_of_two(min(place.profile.num_channels, math.ceil(of_nic * place.path.num_nics)))
    while channels > 1 and channels * math.ceil(num_ranks / _BATCH) > most:
        channels //= 2
    return channels


def _power_of_two(count: int) -> int:
    """Return the least power of two that is *count* or more."""
    return 1 << max(0, count - 1).bit_length()


def _one_link(collective: Collective, place: CollectivePlacement) -> Why:
    """Return what one pair gets: the channels of a switched network, one link of a mesh."""
    scale_up = place.network.scale_up
    if scale_up.kind not in {"switched", "pcie-tree"}:
        return scaled(scale_up.why("link_rate_bps", unit="bit/s"), place.profile.link_share)
    inside = _inside(collective, place)
    if scale_up.kind == "pcie-tree":
        return inside
    assert isinstance(inside.value, float), inside
    channels = _num_channels(collective.size_bytes, collective.group.size)
    each_bps = limits_of(place.profile.generation).link_gbps * 8e9
    return Why(
        name="rate of one message inside a node",
        value=min(inside.value, channels * each_bps),
        unit="bit/s",
        how="the rings' rate, or what the message's channels carry where that is less",
        parts=(
            inside,
            Why(name="channels of a message", value=channels, how="one for each 16 MiB"),
            Why(name="rate of a channel", value=each_bps, unit="bit/s", how="NCCL's for a link"),
        ),
    )


def _num_channels(size_bytes: float, num_ranks: int) -> float:
    """Return the channels of a message inside a node: at least each rank's share of all.

    NCCL doubles them from one power of two of 16 MiB to the next; between these, in proportion.
    """
    channels = _CHANNELS
    while channels > 1 and channels * num_ranks > _CHANNELS:
        channels //= 2
    return min(float(_CHANNELS), max(float(channels), size_bytes / _CHANNEL_BYTES))
