"""The analytic engine: a collective's duration in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.engines.analytic.duration import (
    CollectivePlacement,
    Term,
    collective_terms,
    num_rings_of,
    ramp_s,
    ring_rate,
    spread_terms,
)
from netloom.engines.analytic.path import scale_out
from netloom.engines.analytic.profile import Profile, profile_of
from netloom.engines.analytic.tables import BASE_US, HW_US, NCCL, PROTOCOLS, Algorithm, LinkKind
from netloom.engines.analytic.tuner import (
    AlgorithmChoice,
    Communicator,
    choose,
    latency_us,
    limits_of,
)
from netloom.engines.analytic.validity import validity_of
from netloom.engines.base import Outcome
from netloom.errors import InfeasibleError
from netloom.provenance import Why
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from netloom.engines.analytic.path import Path
    from netloom.engines.base import Contention, Pattern
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective, Group

__all__ = ["AnalyticEngine"]

# What NCCL takes a PCIe lane set of 15.75 GB/s and 100 Gb/s of network to carry (NVIDIA/nccl
# src/graph/topo.h at commit 5067397c).
_NCCL_PCI_SHARE = 12.0 / 15.75
_NCCL_NET_GBPS = 12.0 / 100e9
# NCCL's network latencies were taken on InfiniBand; about 2 us one way through three switches.
_REFERENCE_S = 2e-6
# Each further partner of a rank: NCCL's arity term of CollNetDirect, in microseconds.
_PARTNER_US = 0.4
_NAME = "analytic"


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
    group, contention = collective.group, engine.contention
    place = _place(network, profile, group, pattern="ring", contention=contention)
    comm = _communicator(place, group)
    choice = choose(collective.kind, collective.size_bytes, comm, only=engine.algorithm)
    if choice.algorithm in {Algorithm.TREE, Algorithm.NVLS_TREE}:
        place = _place(network, profile, group, pattern="tree", contention=contention)
    terms = collective_terms(collective, choice, place)
    latency = _latency(collective, choice, comm, place)
    ramp = ramp_s(place, choice, collective.size_bytes)
    chosen = Why(
        name="algorithm and protocol",
        value=f"{choice.algorithm} {choice.protocol}",
        how=f"NCCL's lowest estimate: {choice.time_us:.1f} us",
        source=NCCL,
    )
    why = _why(collective, terms, latency=latency, ramp=ramp, more=(chosen, *_ramp_parts(place)))
    return _outcome(collective, network, why, choice.algorithm.value, choice.protocol.value)


def _spread(
    collective: Collective, network: Network, profile: Profile, *, contention: Contention | None
) -> Outcome:
    group = collective.group
    alone = not collective_entry(collective.kind).has_partners
    pattern: Pattern = "pair" if alone else "all-to-all"
    place = _place(network, profile, group, pattern=pattern, contention=contention)
    simple = len(PROTOCOLS) - 1
    link = _intra(network) if place.path is None else LinkKind.NET
    partners_us = 0.0 if alone else _PARTNER_US * (group.size - 1)
    parts = (
        _leaf("base latency", BASE_US[Algorithm.RING][simple] * 1e-6),
        _leaf(f"latency of a hop over {link}", HW_US[link][Algorithm.RING][simple] * 1e-6),
        _leaf("starting with each partner", partners_us * 1e-6),
        *_beyond_nccl(place),
    )
    latency = _summed("latency", parts)
    ramp = ramp_s(place, None, collective.size_bytes)
    terms = spread_terms(collective, place)
    why = _why(collective, terms, latency=latency, ramp=ramp, more=_ramp_parts(place))
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
        has_nvls=nvls,
        has_collnet=network.in_network_reduction and group.num_nodes > 1,
        has_switch=switched,
        has_ll128=profile.has_ll128,
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


def _extra_s(path: Path | None) -> float:
    return 0.0 if path is None else max(0.0, path.latency_s - _REFERENCE_S)


def _latency(
    collective: Collective, choice: AlgorithmChoice, comm: Communicator, place: CollectivePlacement
) -> Why:
    """Return the latency of *choice* with this network's hops in place of InfiniBand's."""
    index = PROTOCOLS.index(choice.protocol)
    slower = replace(comm, wire_us=_extra_s(place.path) * 1e6)
    before = latency_us(collective.kind, choice.algorithm, index, comm)
    after = latency_us(collective.kind, choice.algorithm, index, slower)
    hops = choice.latency_us * after / before * 1e-6
    used = [_leaf("base latency", BASE_US[choice.algorithm][index] * 1e-6)]
    for link in (comm.intra,) if place.path is None else (comm.intra, LinkKind.NET):
        hop_s = HW_US[link][choice.algorithm][index] * 1e-6
        used.append(_leaf(f"latency of a hop over {link}", hop_s))
    steps = Why(
        name="latency of the steps",
        value=hops,
        unit="s",
        how="base + hops inside a node + hops between nodes, as NCCL counts them",
        parts=(*used, *_beyond_nccl(place)[:1]),
    )
    return _summed("latency", (steps, *_beyond_nccl(place)[1:]))


def _beyond_nccl(place: CollectivePlacement) -> tuple[Why, ...]:
    """Return what NCCL's latencies leave out: a slower network's hop, then the call itself."""
    hop = Why(
        name="what a network hop takes longer than on InfiniBand",
        value=_extra_s(place.path),
        unit="s",
        how="one way, less 2 us, where that is positive",
    )
    overhead = place.profile.overhead_s
    return (hop,) if overhead is None else (hop, overhead.why())


def _leaf(name: str, value_s: float) -> Why:
    return Why(name=name, value=value_s, unit="s", source=NCCL)


def _summed(name: str, parts: tuple[Why, ...]) -> Why:
    total = sum(part.value for part in parts if isinstance(part.value, float | int))
    return Why(name=name, value=float(total), unit="s", how="sum of the parts", parts=parts)


def _ramp_parts(place: CollectivePlacement) -> tuple[Why, ...]:
    return (place.profile.ramp_s.why(), place.profile.fill_steps.why())


def _why(
    collective: Collective,
    terms: tuple[Term, ...],
    *,
    latency: Why,
    ramp: float,
    more: tuple[Why, ...],
) -> Why:
    slowest = max(term.time_s for term in terms)
    assert isinstance(latency.value, float), latency
    parts = (
        latency,
        Why(
            name="filling the pipeline", value=ramp, unit="s", how="per doubling x log2(1 + chunks)"
        ),
        *(term.why() for term in terms),
        *more,
    )
    return Why(
        name=f"duration of {collective.kind.value}",
        value=latency.value + ramp + slowest,
        unit="s",
        how="latency + filling the pipeline + the slower of inside a node and between nodes",
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
