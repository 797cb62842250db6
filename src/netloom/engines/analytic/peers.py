"""All-to-alls and single messages: point-to-point rounds of the library.

A rank starts with its partners one after another; the messages then share the scale-up network
and the NICs. NCCL gives a message inside a node more channels the larger it is, each of which
carries about what it takes an NVLink to carry.
"""

from __future__ import annotations

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
    from netloom.workload.collective import Collective

__all__ = ["Peers", "peer_latency", "peer_terms", "peers", "with_peers"]

# NVIDIA/nccl src/enqueue.cc and init.cc at commit 5067397c: point-to-point channels, what one of
# them takes of a message inside a node before another is added (32 steps of 512 KiB), and the
# largest message that goes as LL.
_CHANNELS: Final = 32
_CHANNEL_BYTES: Final = 2.0**24
_LL_BYTES: Final = 2.0**14


def _measured(name: str, value: float, citation: str, note: str, *, unit: str = "") -> Constant:
    source = Source(citation=citation, confidence="measured", note=note)
    return Constant(name=name, value=value, unit=unit, source=source)


_POLARIS: Final = "argonne-lcf/alcf-nccl-tests 385be336"
_EXAMPLE: Final = "xxrjun/nccl-tests-cluster 455de4f8"
_PARTNER: Final = _measured(
    "starting with each partner in another node",
    3.2e-6,
    _POLARIS,
    "all-to-all of 8 KiB to 64 KiB on 2 and 8 nodes of 4 A100",
    unit="s",
)
_FAR_PARTNER: Final = _measured(
    "what each partner beyond 64 takes longer",
    7e-6,
    _POLARIS,
    "all-to-all on 256 and 540 nodes of 4 A100; where it sets in was not measured",
    unit="s",
)
_NEAR: Final = 64
_ARITY_US: Final = 0.4  # NCCL's term for each further partner of CollNetDirect
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
    message = collective.size_bytes / max(1, group.size if partners else 1)
    protocol = Protocol.LL if message <= _LL_BYTES else Protocol.SIMPLE
    index = PROTOCOLS.index(protocol)
    link = intra if place.path is None else LinkKind.NET
    launch, overhead = place.profile.launch_s, place.profile.overhead_s
    used = _peers_on(place.network.technology)
    parts = (
        nccl_leaf("base latency", BASE_US[Algorithm.RING][index] * 1e-6),
        nccl_leaf(f"latency of a hop over {link}", HW_US[link][Algorithm.RING][index] * 1e-6),
        _times(used.partner, started),
        _times(used.far_partner, max(0, started - _NEAR)),
        nccl_leaf("starting with partners inside", (partners - started) * _ARITY_US * 1e-6),
        *wire(place, Protocol.LL128, message),  # rounds overlap: no message is waited for
        *(() if launch is None else (_times(launch, group.per_node),)),
        *(() if overhead is None else (overhead.why(),)),
    )
    return summed("latency", parts)


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
    node, technology = place.network.node, place.network.technology
    used, own = _peers_on(technology), technology.collectives
    whole = own is not None and own.all_to_all_share is not None  # sharing NICs is in it
    shared = (used.many_shared,) if node.num_nics < node.num_gpus and not whole else ()
    leaves = size * (total - local) / total * local
    how = "size x (n-g)/n of each of the node's ranks"
    rate = scaled(place.path.why, used.many, *shared)
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
    node = place.network.node
    own = max(1.0, node.num_nics / node.num_gpus)
    return Term(
        name="between nodes",
        how="the message of the rank that crosses, over the NICs beside one GPU",
        size_bytes=size * place.path.num_nics / min(own, place.path.num_nics),
        rate=scaled(place.path.why, _peers_on(place.network.technology).alone),
    )


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
