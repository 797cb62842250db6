"""The analytic engine: a collective's duration in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.engines.analytic.duration import (
    CollectivePlacement,
    Term,
    collective_terms,
    fill,
    num_rings_of,
    ramp,
    ring_rate,
)
from netloom.engines.analytic.measured_rings import first_measured_bytes, fixed_s
from netloom.engines.analytic.path import scale_out
from netloom.engines.analytic.peers import peer_latency, peer_terms
from netloom.engines.analytic.profile import Profile, profile_of
from netloom.engines.analytic.startup import library_latency, overlap
from netloom.engines.analytic.tables import (
    NCCL,
    Algorithm,
    LinkKind,
    Protocol,
)
from netloom.engines.analytic.tuner import (
    AlgorithmChoice,
    Communicator,
    choose,
    limits_of,
    switches,
)
from netloom.engines.analytic.validity import validity_of
from netloom.engines.analytic.ways import way_of
from netloom.engines.base import Outcome
from netloom.errors import InfeasibleError
from netloom.provenance import Why
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from netloom.engines.base import Contention, Pattern
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective, Group

__all__ = ["AnalyticEngine", "ring_without_hops"]

# What NCCL takes a PCIe lane set of 15.75 GB/s and 100 Gb/s of network to carry (NVIDIA/nccl
# src/graph/topo.h at commit 5067397c).
_NCCL_PCI_SHARE = 12.0 / 15.75
_NCCL_NET_GBPS = 12.0 / 100e9
_NAME = "analytic"
_TREES = frozenset({Algorithm.TREE, Algorithm.NVLS_TREE})


@dataclass(frozen=True, slots=True)
class AnalyticEngine:
    """Predicts a collective as NCCL (or RCCL) would run it, without simulating anything.

    Attributes:
        algorithm: As ``NCCL_ALGO``: run this one alone; None lets the library choose.
        contention: Says what flows do to one another between nodes; default: the closed form.
    """

    algorithm: Algorithm | None = None
    contention: Contention | None = None

    @property
    def name(self) -> str:
        """The engine's name."""
        return _NAME

    def run(self, collective: Collective, network: Network) -> Outcome:
        """Return how long *collective* takes on *network*.

        Raises:
            InfeasibleError: the group puts more ranks in a node than it has GPUs.
        """
        profile = profile_of(network.gpu.architecture)
        _check(collective.group, network)
        if collective.group.size == 1 or collective.size_bytes == 0:
            return _nothing(collective, network)
        if collective_entry(collective.kind).is_direct:
            return _spread(collective, network, profile, contention=self.contention)
        return _library(collective, network, profile, engine=self)


def _check(group: Group, network: Network) -> None:
    if group.per_node > network.node.num_gpus:
        raise InfeasibleError(
            what=(
                f"group of {group.size}: {group.per_node} ranks in a node, but "
                f"{network.node.name} has {network.node.num_gpus} GPUs"
            ),
            remedy="lower the ranks in a node",
        )


def _library(
    collective: Collective, network: Network, profile: Profile, *, engine: AnalyticEngine
) -> Outcome:
    group = collective.group
    around = _place(network, profile, group, pattern="ring", contention=engine.contention)
    comm = _communicator(around, group)
    choice = choose(collective.kind, collective.size_bytes, comm, only=engine.algorithm)

    def place_of(algorithm: Algorithm) -> CollectivePlacement:
        if algorithm not in _TREES:
            return around
        return _place(network, profile, group, pattern="tree", contention=engine.contention)

    why = _run(collective, choice, comm, place_of(choice.algorithm))
    first_bytes = first_measured_bytes(collective, choice, network)
    if first_bytes is not None and collective.size_bytes < first_bytes:
        larger = replace(collective, size_bytes=first_bytes)
        why = _no_longer(why, _run(larger, choice, comm, around), first_bytes)
    for size_bytes, later in switches(collective.kind, comm, only=engine.algorithm):
        if size_bytes <= collective.size_bytes:
            continue
        larger = replace(collective, size_bytes=size_bytes)
        if engine.contention is None or _falls(collective, larger, network, engine.algorithm):
            why = _no_longer(why, _run(larger, later, comm, place_of(later.algorithm)), size_bytes)
    return _outcome(collective, network, why, choice.algorithm.value, choice.protocol.value)


def ring_without_hops(collective: Collective, network: Network) -> tuple[float, float]:
    """Return what a ring takes before its first hop between nodes, and what its bytes take.

    What such a ring was measured to take beyond the two is that of its hops.
    """
    profile, group = profile_of(network.gpu.architecture), collective.group
    place = _place(network, profile, group, pattern="ring", contention=None)
    choice = AlgorithmChoice(
        algorithm=Algorithm.RING,
        protocol=Protocol.SIMPLE,
        time_us=0.0,
        latency_us=0.0,
        bandwidth_gbps=0.0,
    )
    terms = collective_terms(collective, choice, place)
    call_s = 0.0 if profile.overhead_s is None else profile.overhead_s.value
    before_s = call_s + fixed_s(collective, _communicator(place, group))
    return before_s, max(term.time_s for term in terms)


def _falls(
    collective: Collective, larger: Collective, network: Network, only: Algorithm | None
) -> bool:
    """Return whether *larger* takes no more in closed form: worth simulating then."""
    plain = AnalyticEngine(only)
    quick_s = plain.run(larger, network).duration_s
    return plain.run(collective, network).duration_s >= quick_s * (1 - 1e-6)


def _run(
    collective: Collective, choice: AlgorithmChoice, comm: Communicator, place: CollectivePlacement
) -> Why:
    """Return what *choice* takes."""
    chosen = Why(
        name="algorithm and protocol",
        value=f"{choice.algorithm} {choice.protocol}",
        how=f"NCCL's lowest estimate: {choice.time_us:.1f} us",
        source=NCCL,
    )
    terms = collective_terms(collective, choice, place)
    bytes_s = max(term.time_s for term in terms)
    return _why(
        collective,
        terms,
        latency=library_latency(collective, choice, comm, place),
        filling=fill(collective, choice, comm, place),
        more=(chosen,),
        hidden=overlap(collective, choice, comm, place, bytes_s),
    )


def _no_longer(why: Why, larger: Why, size_bytes: float) -> Why:
    """Return *why*, held to what a *larger* message takes with what NCCL runs then.

    NCCL's estimates of two protocols cross elsewhere than their times do. Measured times do not
    fall there, beyond what runs differ by.
    """
    assert isinstance(why.value, float), why
    assert isinstance(larger.value, float), larger
    if larger.value >= why.value:
        return why
    how = f"no longer than the {size_bytes:.0f} B take from which something quicker runs"
    return Why(name=why.name, value=larger.value, unit="s", how=how, parts=(why, larger))


def _spread(
    collective: Collective, network: Network, profile: Profile, *, contention: Contention | None
) -> Outcome:
    group = collective.group
    entry = collective_entry(collective.kind)
    alone = not entry.has_partners
    pattern: Pattern = "pair" if alone or entry.is_rooted else "all-to-all"
    place = _place(network, profile, group, pattern=pattern, contention=contention)
    latency = peer_latency(collective, place, intra=_intra(network))
    filling = ramp(place, None, collective.size_bytes)
    terms = peer_terms(collective, place)
    why = _why(collective, terms, latency=latency, filling=filling, more=())
    return _outcome(collective, network, why, "direct" if alone else "pairwise", "Simple")


def _place(
    network: Network,
    profile: Profile,
    group: Group,
    *,
    pattern: Pattern,
    contention: Contention | None,
) -> CollectivePlacement:
    alone = group.num_nodes == 1
    path = None if alone else scale_out(network, group, pattern, contention=contention)
    return CollectivePlacement(network=network, profile=profile, path=path)


def _communicator(place: CollectivePlacement, group: Group) -> Communicator:
    network, profile = place.network, place.profile
    scale_up, path = network.scale_up, place.path
    host_gbps = network.node.host_rate_bps * group.per_node / 8e9  # NCCL sees the PCIe path too
    nics = 0.0 if path is None else path.num_nics * network.nic_rate_bps * _NCCL_NET_GBPS
    inter = min(nics, host_gbps)
    way = way_of(network.technology, network.nic.name, network.net)
    switched = scale_up.kind == "switched"
    nvls = scale_up.in_network_reduction and profile.nvls_share is not None and group.per_node > 2
    return Communicator(
        generation=profile.generation,
        num_ranks=group.size,
        num_nodes=group.num_nodes,
        num_channels=_num_channels(place, group.per_node),
        intra=_intra(network),
        intra_gbps=_nccl_intra_gbps(place, group.per_node),
        inter_gbps=inter,
        nic_us=0.0 if path is None else way.declared_s.value * 1e6,
        has_nvls=nvls,
        has_collnet=network.in_network_reduction and group.num_nodes > 1,
        has_switch=switched,
        has_ll128=profile.has_ll128 and (path is None or way.has_ll128),
    )


def _num_channels(place: CollectivePlacement, per_node: int) -> int:
    """Return the generation's channels, or two for each ring on direct links."""
    if place.network.scale_up.kind in {"hybrid-cube-mesh", "full-mesh"}:
        return 2 * num_rings_of(place, per_node)
    return place.profile.num_channels


def _intra(network: Network) -> LinkKind:
    return LinkKind.PCI if network.scale_up.kind == "pcie-tree" else LinkKind.NVLINK


def _nccl_intra_gbps(place: CollectivePlacement, per_node: int) -> float:
    """Return what NCCL assumes inside a node, which is not what is measured."""
    scale_up = place.network.scale_up
    if scale_up.kind == "pcie-tree":
        return scale_up.rate_bps / 8e9 * _NCCL_PCI_SHARE
    if scale_up.kind == "switched" and "nvlink" in scale_up.generation.lower():
        return limits_of(place.profile.generation).link_gbps * scale_up.num_links
    measured = ring_rate(place, per_node).value
    assert isinstance(measured, float | int), measured
    return measured / 8e9


def _why(
    collective: Collective,
    terms: tuple[Term, ...],
    *,
    latency: Why,
    filling: Why,
    more: tuple[Why, ...],
    hidden: Why | None = None,
) -> Why:
    slowest = max(term.time_s for term in terms)
    assert isinstance(latency.value, float), latency
    assert isinstance(filling.value, float), filling
    saved = 0.0 if hidden is None else hidden.value
    assert isinstance(saved, float), hidden
    parts = (
        latency,
        filling,
        *(term.why() for term in terms),
        *(() if hidden is None else (hidden,)),
        *more,
    )
    how = "latency + filling the pipeline + the slower of inside a node and between nodes"
    return Why(
        name=f"duration of {collective.kind.value}",
        value=latency.value + filling.value + slowest - saved,
        unit="s",
        how=how if hidden is None else f"{how} - what of these runs at the same time",
        parts=parts,
    )


def _outcome(
    collective: Collective, network: Network, why: Why, algorithm: str, protocol: str
) -> Outcome:
    assert isinstance(why.value, float | int), why
    return Outcome(
        engine=_NAME,
        collective=collective,
        duration_s=float(why.value),
        algorithm=algorithm,
        protocol=protocol,
        validity=validity_of(collective, network, algorithm=algorithm),
        why=why,
    )


def _nothing(collective: Collective, network: Network) -> Outcome:
    why = Why(
        name=f"duration of {collective.kind.value}", value=0.0, unit="s", how="nothing to move"
    )
    return _outcome(collective, network, why, "none", "")
