"""The library's way to the wire: what a plugin and its transport cost beyond NCCL's tables.

NCCL's network latencies were taken on InfiniBand. A plugin for another transport copies through
other buffers, has a proxy thread of its own, or asks the receiver before it sends a large
message (rendezvous). What that adds to each hop was read off posted logs of nccl-tests; what the
plugin tells NCCL of itself, and thereby NCCL's choice, stands in its source.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.compute.generation import Constant
from netloom.compute.generations.shared import ML_ENGINEERING
from netloom.provenance import Confidence, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netloom.parts.parts import Technology

__all__ = ["SOCKET_BPS", "Way", "measured_instead", "way_of", "with_ways"]

_OFI: Final = "aws/aws-ofi-nccl src/platform-aws.cpp, platform_data_map"
_IB: Final = "NVIDIA/nccl src/transport/net_ib.cc and net_socket.cc"
_P4DE: Final = "aws-samples/awsome-distributed-training 7217859f, P4de"
_P5: Final = "aws-samples/awsome-distributed-training 7217859f, P5"
_SLINGSHOT: Final = (
    "argonne-lcf/alcf-nccl-tests 385be336; sparticlesteve/podman-nccl-testing d7966c5e"
)
_A3: Final = "GoogleCloudPlatform/cluster-toolkit 10470803, A3 High and A3 Mega"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One plugin over one transport.

    Attributes:
        name: As the explanation writes it.
        reference_s: One-way latency of a small message that the measured hops contain already;
            a longer way adds what exceeds it.
        hop_s: What a hop between nodes takes longer than NCCL's table says, messages that are sent
            at once (LL and LL128).
        rendezvous_s: What it takes longer still where the receiver is asked first (Simple).
        doubling_s: What each doubling of a message over 1 KiB adds to a hop with LL, whose pieces
            wait for one another.
        declared_s: The latency that the plugin tells NCCL's tuner.
        has_ll128: Whether the transport keeps the order that LL128 needs.
        nic_share: What NCCL reaches of a NIC's payload rate in rings and trees.
    """

    name: str
    reference_s: float
    hop_s: Constant
    rendezvous_s: Constant
    doubling_s: Constant
    declared_s: Constant
    has_ll128: bool
    nic_share: Constant


_HOP: Final = "what a hop between nodes takes longer than NCCL's table"
_RENDEZVOUS: Final = "what a hop of the Simple protocol takes longer still"
_SHARE: Final = "share of a NIC's payload rate that NCCL reaches"


def _hop_s(
    value: float, citation: str, note: str, *, confidence: Confidence = "measured"
) -> Constant:
    source = Source(citation=citation, confidence=confidence, note=note)
    return Constant(name=_HOP, value=value, unit="s", source=source)


def _rendezvous_s(
    value: float, citation: str, note: str, *, confidence: Confidence = "measured"
) -> Constant:
    source = Source(citation=citation, confidence=confidence, note=note)
    return Constant(name=_RENDEZVOUS, value=value, unit="s", source=source)


def _doubling_s(value: float, citation: str, note: str) -> Constant:
    source = Source(citation=citation, confidence="measured", note=note)
    name = "what each doubling of a message over 1 KiB adds to a hop with LL"
    return Constant(name=name, value=value, unit="s", source=source)


def _share(
    value: float, citation: str, note: str, *, confidence: Confidence = "measured"
) -> Constant:
    source = Source(citation=citation, confidence=confidence, note=note)
    return Constant(name=_SHARE, value=value, source=source)


def _declared_s(value: float, citation: str, note: str) -> Constant:
    source = Source(citation=citation, confidence="published", note=note)
    name = "latency that the plugin tells NCCL"
    return Constant(name=name, value=value, unit="s", source=source)


_NOT_DECLARED: Final = _declared_s(0.0, _IB, "the plugin gives NCCL no latency of its own")
_PEAK: Final = _share(
    24.0 / 25 / 0.9937,
    "NVIDIA/nccl-tests issue #119",
    "a maintainer: 24 GB/s is the peak of a 200 Gb/s NIC; over the framing of InfiniBand, 0.9937",
)
_VERBS_CITED: Final = (
    "Azure/aks-rdma-infiniband 700dabb4 (HDR, A100); hisohara/ai-scripts 7b8b1ec2 (RoCE, "
    "MI355X); xxrjun/nccl-tests-cluster 455de4f8 (NDR, H100)"
)
_VERBS: Final = Way(
    name="verbs",
    reference_s=2e-6,
    hop_s=_hop_s(6.5e-6, _VERBS_CITED, "fitted to all-reduces on two nodes; 8 B take 38 to 40 us"),
    rendezvous_s=_rendezvous_s(
        8e-6, _VERBS_CITED, "rings of 1 to 256 MiB: the median over machines of what rows imply"
    ),
    doubling_s=_doubling_s(1e-6, _VERBS_CITED, "all-reduces of 4 to 256 KiB"),
    declared_s=_NOT_DECLARED,
    has_ll128=True,
    nic_share=_PEAK,
)
_PLUGIN_DOUBLING: Final = _doubling_s(
    2.5e-6,
    f"{_P4DE}; {_P5}; {_SLINGSHOT}; {_A3}",
    "one number, all-reduces and all-gathers of 4 to 256 KiB on 2 and 8 nodes",
)
_EFA_1: Final = Way(
    name="aws-ofi-nccl over EFA v1",
    reference_s=14e-6,
    hop_s=_hop_s(70e-6, _P4DE, "all-reduce of 8 B to 4 KiB on two nodes: 161 to 177 us"),
    rendezvous_s=_rendezvous_s(0.0, _P4DE, "the fit finds none"),
    doubling_s=_PLUGIN_DOUBLING,
    declared_s=_declared_s(75e-6, _OFI, "P4d and P4de"),
    has_ll128=True,
    nic_share=_share(0.95, _P4DE, "all-reduce of 512 MiB and more on two nodes"),
)
_EFA_2: Final = Way(
    name="aws-ofi-nccl over EFA v2",
    reference_s=8e-6,
    hop_s=_hop_s(23e-6, _P5, "all-reduce of 8 B to 4 KiB on two nodes: 65 to 79 us"),
    rendezvous_s=_rendezvous_s(70e-6, _P5, "all-reduce of 64 MiB to 1 GiB on two nodes, NVLS tree"),
    doubling_s=_PLUGIN_DOUBLING,
    declared_s=_declared_s(75e-6, _OFI, "P5 and P5e"),
    has_ll128=True,
    nic_share=_share(0.68, _P5, "all-reduce of 1 GiB and more on two nodes"),
)
_EFA_3: Final = replace(
    _EFA_2,
    name="aws-ofi-nccl over EFA v3 and later",
    hop_s=_hop_s(23e-6, _P5, "as EFA v2", confidence="assumed"),
    rendezvous_s=_rendezvous_s(70e-6, _P5, "as EFA v2", confidence="assumed"),
    declared_s=_declared_s(35e-6, _OFI, "P5en and later"),
    nic_share=_share(
        0.74 / 0.98,
        ML_ENGINEERING,
        "74 % of the wire in an all-reduce on 4 nodes of 8 B200; 0.98 is taken for the headers",
    ),
)
_CXI: Final = Way(
    name="libfabric over Slingshot",
    reference_s=2e-6,
    hop_s=_hop_s(0.0, _SLINGSHOT, "all-reduce of 8 B to 1 KiB on two nodes: 19 to 28 us"),
    rendezvous_s=_rendezvous_s(
        116e-6,
        _SLINGSHOT,
        "rings and trees of 1 to 256 MiB on 2 to 540 nodes: the median over both machines",
    ),
    doubling_s=_PLUGIN_DOUBLING,
    declared_s=_NOT_DECLARED,
    has_ll128=False,
    nic_share=_share(
        _PEAK.value,
        "as over verbs",
        "Polaris and Perlmutter reach less, which their nodes say",
        confidence="assumed",
    ),
)
_SOCKETS: Final = Way(
    name="sockets",
    reference_s=45e-6,
    hop_s=_hop_s(19e-6, _SLINGSHOT, "its TCP runs: an all-reduce of 1 KiB takes 48 to 83 us"),
    rendezvous_s=_rendezvous_s(0.0, _IB, "sockets have no rendezvous", confidence="assumed"),
    doubling_s=_PLUGIN_DOUBLING,
    declared_s=_NOT_DECLARED,
    has_ll128=True,
    nic_share=_PEAK,
)
_TCPX: Final = Way(
    name="GPUDirect-TCPX",
    reference_s=11e-6,
    hop_s=_hop_s(850e-6, _A3, "A3 High: an all-gather of 1 to 16 MiB takes 0.94 to 1.06 ms"),
    rendezvous_s=_rendezvous_s(87e-6, _A3, "A3 High: all-gather of 4 to 128 MiB"),
    doubling_s=_PLUGIN_DOUBLING,
    declared_s=_NOT_DECLARED,
    has_ll128=False,
    nic_share=_share(0.77, _A3, "A3 High: all-gather of 512 MiB on two nodes"),
)
_TCPXO: Final = Way(
    name="GPUDirect-TCPXO",
    reference_s=11e-6,
    hop_s=_hop_s(60e-6, _A3, "A3 Mega: an all-gather of 256 B to 16 KiB takes 84 to 87 us"),
    rendezvous_s=_rendezvous_s(0.0, _A3, "A3 Mega: the fit finds none"),
    doubling_s=_PLUGIN_DOUBLING,
    declared_s=_NOT_DECLARED,
    has_ll128=True,
    nic_share=_share(0.92, _A3, "A3 Mega: all-gather of 256 MiB and more on two nodes"),
)

# By the NIC where it names the plugin, else by the transport.
_BY_NIC: Final = (
    ("EFA-V1", _EFA_1),
    ("EFA-V2", _EFA_2),
    ("EFA", _EFA_3),
    ("GCP-TCPXO", _TCPXO),
    ("GCP-TCPX", _TCPX),
)
_BY_TRANSPORT: Final = {"cxi": _CXI, "srd": _EFA_2, "tcp": _SOCKETS}


_INSTEAD: dict[str, Way] = {}
_OWN: Final = Source(citation="your own catalogue", confidence="assumed")


_BY_NET: Final = {"ib": _VERBS, "tcpx": _TCPX, "tcpxo": _TCPXO}
SOCKET_BPS: Final = Constant(
    name="what the CPUs push through one NIC over sockets",
    value=70e9,
    unit="bit/s",
    source=Source(citation="as tcp-400g of the catalogue", confidence="assumed"),
)


def way_of(technology: Technology, nic: str, net: str = "") -> Way:
    """Return the library's way over *technology* with NICs called *nic*, or that of plugin *net*.

    Sockets in place of the technology's own way are never quicker than it.
    """
    own = _own_way(technology, nic)
    if net == "sockets" and own.name != _SOCKETS.name:
        return _slower(_SOCKETS, own)
    return _INSTEAD.get(_BY_NET[net].name, _BY_NET[net]) if net in _BY_NET else own


def _slower(way: Way, other: Way) -> Way:
    def more(first: Constant, second: Constant) -> Constant:
        return first if first.value >= second.value else second

    return replace(
        way,
        reference_s=min(way.reference_s, other.reference_s),
        hop_s=more(way.hop_s, other.hop_s),
        rendezvous_s=more(way.rendezvous_s, other.rendezvous_s),
        doubling_s=more(way.doubling_s, other.doubling_s),
        nic_share=way.nic_share
        if way.nic_share.value <= other.nic_share.value
        else other.nic_share,
        has_ll128=way.has_ll128 and other.has_ll128,
        declared_s=other.declared_s,
    )


def _own_way(technology: Technology, nic: str) -> Way:
    named = next((way for name, way in _BY_NIC if nic.upper().startswith(name)), None)
    way = named or _BY_TRANSPORT.get(technology.transport, _VERBS)
    return _as_measured(_INSTEAD.get(way.name, way), technology)


def _as_measured(way: Way, technology: Technology) -> Way:
    """Return *way* with what was measured on the cluster itself, where anything was."""
    if technology.collectives is None:
        return way
    return replace(
        way,
        hop_s=measured_instead(way.hop_s, technology, "hop_s"),
        rendezvous_s=measured_instead(way.rendezvous_s, technology, "rendezvous_s"),
    )


def measured_instead(shipped: Constant, technology: Technology, attribute: str) -> Constant:
    """Return *shipped*, or what the cluster itself was measured to have in its place."""
    value = getattr(technology.collectives, attribute, None)
    if value is None:
        return shipped
    source = technology.source(f"collectives.{attribute}") or _OWN
    return replace(shipped, value=value, source=source)


@contextmanager
def with_ways(ways: Iterable[Way]) -> Iterator[None]:
    """Use *ways* in place of those of the same names while the context lasts: to fit them."""
    before = dict(_INSTEAD)
    _INSTEAD.update({way.name: way for way in ways})
    try:
        yield
    finally:
        _INSTEAD.clear()
        _INSTEAD.update(before)
