"""NCCL's own cost model, by which it chooses an algorithm and a protocol.

What NCCL *believes* a collective takes is what decides which algorithm runs; what it then
really takes is another matter (:mod:`netloom.engines.analytic.duration`). The model is
``latency + bytes / bandwidth``, both from tables and a few rules.

Source: NVIDIA/nccl, src/graph/tuning.cc at commit 5067397c. Rates are in GB/s and times in
microseconds here, as in the source, so that the two can be laid side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from netloom.compute.generation import GENERATIONS
from netloom.engines.analytic.tables import (
    BASE_US,
    HW_US,
    PAT_SHARE,
    PROTOCOLS,
    TREE_CORRECTION,
    Algorithm,
    LinkKind,
    Protocol,
)
from netloom.workload.collective import CollectiveKind
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from netloom.compute.generation import NcclLimits

__all__ = [
    "AlgorithmChoice",
    "Communicator",
    "choose",
    "estimates",
    "latency_us",
    "limits_of",
    "num_steps",
    "ring_hops",
    "switches",
]

_SIMPLE = PROTOCOLS.index(Protocol.SIMPLE)
# Sizes at which the choice is compared: NCCL's corrections change at powers of two.
_LOOKED_AT = tuple(2.0 ** (power / 4) for power in range(12, 161))
_REDUCING = {kind for kind in CollectiveKind if collective_entry(kind).is_reducing}
_SHARDED = {kind for kind in CollectiveKind if collective_entry(kind).is_sharded}
# GPUs of a node that NVLink SHARP gathers and scatters among at most (NCCL_MAX_NVLS_ARITY), and
# that CollNet takes (NCCL_MAX_DIRECT_ARITY + 1): NVIDIA/nccl src/enqueue.cc (updateCollCostTable).
_NVLS_SHARDED_GPUS = 32
_COLLNET_GPUS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Communicator:
    """What NCCL knows of a group when it tunes.

    Attributes:
        generation: ``volta``, ``ampere``, ``hopper`` or ``blackwell``.
        num_ranks: Ranks in the group.
        num_nodes: Nodes it spans.
        num_channels: Rings (or trees) that run side by side.
        num_nvls_channels: Channels of the NVLink SHARP algorithms.
        intra: What hops inside a node go over.
        intra_gbps: GB/s of all channels together inside a node.
        inter_gbps: GB/s of all channels together between nodes.
        nic_us: Latency of the NIC that is added to every network hop, twice for Simple.
        wire_us: What a network hop takes longer than NCCL's tables know; added once.
        post_us: What posting one network send costs the CPU: 1 us on Intel, 2 us on AMD.
        amd_cpu: Whether the hosts have AMD processors.
        has_nvls: Whether the scale-up switches reduce.
        has_collnet: Whether the scale-out switches reduce (SHARP).
        has_switch: Whether the scale-up network has switches.
        has_ll128: Whether the LL128 protocol may be used; it needs NVLink in any case.
    """

    generation: str
    num_ranks: int
    num_nodes: int
    num_channels: int
    num_nvls_channels: int = 16
    intra: LinkKind = LinkKind.NVLINK
    intra_gbps: float
    inter_gbps: float = 0.0
    nic_us: float = 0.0
    wire_us: float = 0.0
    post_us: float = 1.0
    amd_cpu: bool = False
    has_nvls: bool = False
    has_collnet: bool = False
    has_switch: bool = False
    has_ll128: bool = True

    @property
    def per_node(self) -> float:
        """Ranks of one node."""
        return self.num_ranks / self.num_nodes

    @property
    def scale(self) -> int:
        """Column of the tables: 1 node, 2 nodes, more."""
        return min(self.num_nodes, 3) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmChoice:
    """One algorithm with one protocol, and what NCCL expects of it."""

    algorithm: Algorithm
    protocol: Protocol
    time_us: float
    latency_us: float
    bandwidth_gbps: float


def choose(
    kind: CollectiveKind,
    size_bytes: float,
    comm: Communicator,
    *,
    only: Algorithm | None = None,
) -> AlgorithmChoice:
    """Return what NCCL would run: the lowest estimate, the first of equals.

    Args:
        kind: Which collective.
        size_bytes: As nccl-tests counts it.
        comm: The group.
        only: As ``NCCL_ALGO``: consider this algorithm alone, where it can run at all.
    """
    found = estimates(kind, size_bytes, comm)
    wanted = [choice for choice in found if only is None or choice.algorithm is only]
    return min(wanted or found, key=lambda choice: choice.time_us)


def estimates(
    kind: CollectiveKind, size_bytes: float, comm: Communicator
) -> tuple[AlgorithmChoice, ...]:
    """Return NCCL's estimate for every algorithm and protocol that can run."""
    found = []
    for algorithm, protocol, most_gbps, least_us in _candidates(kind, comm):
        bandwidth = most_gbps * _correction(kind, algorithm, protocol, size_bytes)
        latency = least_us * _plateau(kind, algorithm, protocol, size_bytes, comm)
        found.append(
            AlgorithmChoice(
                algorithm=algorithm,
                protocol=protocol,
                time_us=latency + size_bytes / (1000 * bandwidth),
                latency_us=latency,
                bandwidth_gbps=bandwidth,
            )
        )
    return tuple(found)


@lru_cache(maxsize=65536)
def _candidates(
    kind: CollectiveKind, comm: Communicator
) -> tuple[tuple[Algorithm, Protocol, float, float], ...]:
    """Return what can run, with its bandwidth and latency before the size corrects them."""
    found = []
    for algorithm in Algorithm:
        for index, protocol in enumerate(PROTOCOLS):
            if not _runs(kind, algorithm, protocol, comm):
                continue
            bandwidth = _bandwidth_gbps(kind, algorithm, index, comm)
            if bandwidth > 0:
                latency = latency_us(kind, algorithm, index, comm)
                found.append((algorithm, protocol, bandwidth, latency))
    return tuple(found)


@lru_cache(maxsize=65536)
def switches(
    kind: CollectiveKind, comm: Communicator, *, only: Algorithm | None = None
) -> tuple[tuple[float, AlgorithmChoice], ...]:
    """Return the sizes from which NCCL runs something else, with what it runs there, ascending.

    Looked for between 8 B and 1 TiB, to one part in a million.
    """
    found = []
    ran = choose(kind, _LOOKED_AT[0], comm, only=only)
    for below, above in pairwise(_LOOKED_AT):
        if _way(choose(kind, above, comm, only=only)) != _way(ran):
            size = _first_unlike(ran, kind, comm, only=only, low=below, high=above)
            ran = choose(kind, size, comm, only=only)
            found.append((size, ran))
    return tuple(found)


def _first_unlike(
    ran: AlgorithmChoice,
    kind: CollectiveKind,
    comm: Communicator,
    *,
    only: Algorithm | None,
    low: float,
    high: float,
) -> float:
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        if _way(choose(kind, middle, comm, only=only)) == _way(ran):
            low = middle
        else:
            high = middle
    return high


def _way(choice: AlgorithmChoice) -> tuple[Algorithm, Protocol]:
    return choice.algorithm, choice.protocol


def num_steps(kind: CollectiveKind, num_ranks: int) -> int:
    """Return the hops that a piece of data makes around a ring."""
    return collective_entry(kind).ring_steps(num_ranks)


def _runs(
    kind: CollectiveKind, algorithm: Algorithm, protocol: Protocol, comm: Communicator
) -> bool:
    simple = protocol is Protocol.SIMPLE
    flagged = protocol is not Protocol.LL128 or (comm.has_ll128 and comm.intra is LinkKind.NVLINK)
    if algorithm is Algorithm.RING:
        return flagged
    if algorithm is Algorithm.TREE:
        return kind in _REDUCING and flagged
    if algorithm is Algorithm.PAT:
        return kind in _SHARDED and simple and comm.num_nodes == comm.num_ranks
    if algorithm is Algorithm.NVLS:
        inside = comm.num_nodes == 1 or comm.has_collnet
        few = kind in _SHARDED and comm.per_node <= _NVLS_SHARDED_GPUS
        return simple and comm.has_nvls and inside and (kind in _REDUCING or few)
    if algorithm is Algorithm.NVLS_TREE:
        return simple and comm.has_nvls and comm.num_nodes > 1 and kind in _REDUCING
    wired = comm.has_switch or algorithm is Algorithm.COLLNET_CHAIN
    fits = wired and comm.per_node <= _COLLNET_GPUS
    return simple and comm.has_collnet and comm.num_nodes > 1 and fits and kind in _REDUCING


def _bandwidth_gbps(
    kind: CollectiveKind, algorithm: Algorithm, protocol: int, comm: Communicator
) -> float:
    """Return algorithm bandwidth: bytes of the collective over time, at large sizes."""
    if algorithm in {Algorithm.NVLS, Algorithm.NVLS_TREE}:
        bus = _nvls_bus(kind, algorithm, comm)
    elif algorithm in {Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN}:
        bus = _collnet_bus(algorithm, comm)
    else:
        bus = _RULES[algorithm](_graph_gbps(algorithm, comm), protocol, comm)
    if algorithm is not Algorithm.RING and kind in _SHARDED:
        return bus
    if algorithm in {Algorithm.RING, Algorithm.NVLS, Algorithm.NVLS_TREE}:
        return bus * comm.num_ranks / num_steps(kind, comm.num_ranks)
    return bus * 0.5


def _graph_gbps(algorithm: Algorithm, comm: Communicator) -> float:
    """Return what NCCL's topology search finds for all channels together.

    On two nodes NCCL reads the rate inside the node. For a ring the search makes it equal to the
    rate between nodes; two nodes of a tree send each byte over the network once, not twice, and
    where the GPUs hang on switches the search makes use of it. On direct links it does not: four
    A100 on such links run rings (Polaris and Perlmutter at 1 GiB).
    """
    if comm.num_nodes == 1:
        return comm.intra_gbps
    doubled = comm.num_nodes == 2 and algorithm is Algorithm.TREE and comm.has_switch
    times = 2 if doubled else 1
    return min(comm.intra_gbps, times * comm.inter_gbps)


def _ring_bus(bus: float, protocol: int, comm: Communicator) -> float:
    if PROTOCOLS[protocol] is Protocol.LL:
        return min(_ll_max(comm), bus * 0.5)
    if PROTOCOLS[protocol] is Protocol.LL128:
        cap = comm.num_channels * limits_of(comm.generation).ring_ll128_max[comm.scale]
        return min(bus * 0.92, cap)
    return bus


def _tree_bus(bus: float, protocol: int, comm: Communicator) -> float:
    bus = min(bus * 0.92, comm.num_channels * limits_of(comm.generation).tree_max[comm.scale])
    if PROTOCOLS[protocol] is Protocol.LL:
        return min(bus / 3.8, _ll_max(comm))
    if PROTOCOLS[protocol] is Protocol.LL128:
        share = 7 / 9 if comm.num_nodes == 1 else 120 / 128
        cap = comm.num_channels * limits_of(comm.generation).tree_ll128_max[comm.scale]
        return min(bus * share, cap)
    return bus


def _pat_bus(bus: float, _protocol: int, _comm: Communicator) -> float:
    return bus * PAT_SHARE


_RULES = {Algorithm.RING: _ring_bus, Algorithm.TREE: _tree_bus, Algorithm.PAT: _pat_bus}


@cache
def limits_of(generation: str) -> NcclLimits:
    """Return NCCL's row for *generation*."""
    limits = GENERATIONS.get(generation).nccl
    assert limits is not None, generation
    return limits


def _ll_max(comm: Communicator) -> float:
    row = comm.generation if comm.num_nodes == 1 else ("ampere" if comm.amd_cpu else "volta")
    return limits_of(row).ll_max[comm.scale]


def _nvls_bus(kind: CollectiveKind, algorithm: Algorithm, comm: Communicator) -> float:
    channels = comm.num_nvls_channels
    per_channel = comm.intra_gbps / channels
    intra = per_channel * limits_of(comm.generation).nvls_efficiency * (channels - 1) / channels
    intra *= 2.0 if kind in _REDUCING else (comm.per_node - 1) / comm.per_node
    if comm.num_nodes == 1:
        return channels * intra
    twice = 2 if comm.num_nodes == 2 and algorithm is Algorithm.NVLS_TREE else 1
    inter = comm.inter_gbps / channels * twice
    cap = math.inf
    if algorithm is Algorithm.NVLS_TREE:
        cap = limits_of(comm.generation).nvls_tree_max[comm.scale]
    return channels * min(intra, inter, cap)


def _collnet_bus(algorithm: Algorithm, comm: Communicator) -> float:
    bus = comm.inter_gbps
    if algorithm is Algorithm.COLLNET_CHAIN:
        return bus
    ratio = comm.per_node / comm.num_channels
    bus /= ratio - (ratio - 1) / 2
    return bus * limits_of(comm.generation).collnet_share


def latency_us(
    kind: CollectiveKind,
    algorithm: Algorithm,
    protocol: int,
    comm: Communicator,
    *,
    chained: bool = False,
) -> float:
    """Return what a collective of no bytes is expected to take.

    With *chained* a broadcast pays for every hop of its chain, as it does; NCCL's own estimate
    counts one.
    """
    base = BASE_US[algorithm][protocol]
    intra = HW_US[comm.intra][algorithm][protocol]
    inter = network_hop_us(algorithm, protocol, comm)
    local = int(comm.per_node) - 1
    if algorithm is Algorithm.RING:
        if kind not in _REDUCING | _SHARDED and not chained:  # the pipeline runs once around
            link = comm.intra if comm.num_nodes == 1 else LinkKind.NET
            return base + HW_US[link][Algorithm.RING][protocol]
        return base + sum(count * hop_us for count, hop_us in ring_hops(kind, protocol, comm))
    depth = int(math.log2(comm.num_nodes))
    rest = {
        Algorithm.TREE: 2 * (local * intra + depth * inter),
        Algorithm.COLLNET_DIRECT: 2 * (min(1, local) * intra + local * 0.4) + inter,
        Algorithm.COLLNET_CHAIN: 2 * local * intra + inter,
        Algorithm.NVLS: intra + (inter if comm.num_nodes > 1 else 0.0),
        Algorithm.NVLS_TREE: intra + 2 * depth * inter,
        Algorithm.PAT: depth * ((inter - comm.wire_us) / 3.5 + comm.wire_us) + comm.num_ranks * 2.8,
    }
    return base + rest[algorithm]


def ring_hops(
    kind: CollectiveKind, protocol: int, comm: Communicator
) -> tuple[tuple[int, float], ...]:
    """Return how often a piece of data hops, and how long that takes: in a node, then between."""
    intra = HW_US[comm.intra][Algorithm.RING][protocol]
    steps = num_steps(kind, comm.num_ranks)
    if kind not in _REDUCING | _SHARDED:
        steps = comm.num_ranks - 1
    if comm.num_nodes == 1:
        return ((steps, intra),)
    inter = network_hop_us(Algorithm.RING, protocol, comm)
    post = comm.post_us * (3 if protocol == _SIMPLE else 1)
    crossing = (2 if kind in _REDUCING else 1) * (comm.num_nodes - 1)
    return ((steps - crossing, max(intra, post)), (crossing, inter))


def network_hop_us(algorithm: Algorithm, protocol: int, comm: Communicator) -> float:
    """Return what a hop between nodes takes; the NIC's own latency counts twice for Simple."""
    inter_of = Algorithm.TREE if comm.per_node == 1 else algorithm
    inter = HW_US[LinkKind.NET][inter_of][protocol] + comm.nic_us + comm.wire_us
    return inter + comm.nic_us if protocol == _SIMPLE else inter


def _correction(
    kind: CollectiveKind, algorithm: Algorithm, protocol: Protocol, size_bytes: float
) -> float:
    if algorithm is not Algorithm.TREE or kind not in _REDUCING or size_bytes < 64:
        return 1.0
    row = TREE_CORRECTION[protocol]
    bucket = int(math.log2(size_bytes // 64))
    return row[bucket] if bucket < len(row) - 1 else 1.0


def _plateau(
    kind: CollectiveKind,
    algorithm: Algorithm,
    protocol: Protocol,
    size_bytes: float,
    comm: Communicator,
) -> float:
    """Return the factor on a multi-node ring's latency once every channel has work."""
    ring = algorithm is Algorithm.RING and protocol is Protocol.SIMPLE
    if not ring or comm.num_nodes == 1 or kind not in _REDUCING:
        return 1.0
    if size_bytes // (comm.num_channels * comm.num_ranks) < 64:
        return 1.0
    return limits_of(comm.generation).full_ring_factor
