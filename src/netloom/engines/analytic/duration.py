"""How long the algorithm that the library chose really takes.

The form is the library's own, ``latency x steps + bytes / rate``, with the rates that were
measured in place of those it assumes, and a ramp until its pipeline is full. Bytes inside
a node and between nodes flow at the same time; the slower of the two decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.engines.analytic.algorithms import nvls_wire_bytes, tree_network_bytes
from netloom.engines.analytic.measured_rings import has_measured_hops
from netloom.engines.analytic.pipeline import chunk_bytes, num_stages
from netloom.engines.analytic.profile import CHUNK_BYTES, PCIE_SHARE, Profile
from netloom.engines.analytic.rings import cube_mesh_links, num_rings
from netloom.engines.analytic.tables import NCCL, PAT_SHARE, TREE_CORRECTION, Algorithm, Protocol
from netloom.engines.analytic.tuner import AlgorithmChoice, Communicator, limits_of, num_steps
from netloom.provenance import Why
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from netloom.compute.generation import Constant
    from netloom.engines.analytic.path import Path
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective

__all__ = [
    "CollectivePlacement",
    "Term",
    "collective_terms",
    "fill",
    "num_rings_of",
    "ramp",
    "ring_rate",
    "scaled",
]

# GPUs of the nodes on which NVLink SHARP was measured.
_FULL_NODE = 8
_TREES = frozenset({Algorithm.TREE, Algorithm.NVLS_TREE})


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePlacement:
    """Where a collective runs.

    Attributes:
        path: Between the nodes; None for a group inside one.
    """

    network: Network
    profile: Profile
    path: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Bytes that have to get through something, and how fast it takes them."""

    name: str
    how: str
    size_bytes: float
    rate: Why

    @property
    def time_s(self) -> float:
        """How long that takes."""
        assert isinstance(self.rate.value, float | int), self.rate
        return self.size_bytes * 8 / self.rate.value

    def why(self) -> Why:
        """Return it as a node of an explanation."""
        size = Why(name="bytes", value=self.size_bytes, unit="B", how=self.how)
        how = "bytes x 8 / rate"
        return Why(name=self.name, value=self.time_s, unit="s", how=how, parts=(size, self.rate))


def ring_rate(place: CollectivePlacement, per_node: int) -> Why:
    """Return what a GPU sends in rings among *per_node* GPUs of a node."""
    scale_up, share = place.network.scale_up, place.profile.link_share
    if scale_up.kind == "pcie-tree":
        share = PCIE_SHARE[0] if per_node <= 4 else PCIE_SHARE[1]
        return _product("rate of a ring over PCIe", (scale_up.rate_bps, share.value), share.why())
    if scale_up.kind == "switched":
        nominal = scale_up.why("rate_bps", unit="bit/s")
        factors = (scale_up.rate_bps, share.value)
        return _product("rate of the rings", factors, nominal, share.why())
    rings = num_rings_of(place, per_node)
    parts = (
        scale_up.why("link_rate_bps", unit="bit/s"),
        share.why(),
        Why(name="rings side by side", value=rings, how="edge-disjoint rings on the links"),
    )
    return _product("rate of the rings", (scale_up.link_rate_bps, share.value, rings), *parts)


def num_rings_of(place: CollectivePlacement, per_node: int) -> int:
    """Return the rings that the direct links among *per_node* GPUs hold side by side."""
    num_links = place.network.scale_up.num_links
    if place.network.scale_up.kind == "full-mesh":
        to_each = max(1, num_links // max(1, place.network.node.num_gpus - 1))
        return max(1, per_node - 1) * to_each
    gpus = min(per_node, _FULL_NODE)  # a cube mesh has eight corners
    return max(1, num_rings(max(2, gpus), cube_mesh_links(gpus, num_links)))


def _product(name: str, factors: tuple[float, ...], *parts: Why) -> Why:
    value = math.prod(factors)
    return Why(name=name, value=value, unit="bit/s", how="product of the parts", parts=parts)


def collective_terms(
    collective: Collective, choice: AlgorithmChoice, place: CollectivePlacement
) -> tuple[Term, ...]:
    """Return what each part of the machine has to carry under *choice*."""
    group = collective.group
    share = _protocol_share(choice, place.profile) * _tree_share(choice, collective.size_bytes)
    if has_measured_hops(collective, choice, place.network):
        share = 1.0  # what the protocol costs is in the hops
    inside = _inside(collective, choice, place, share=share)
    if place.path is None:
        return (inside,)
    between = _between_bytes(collective, choice)
    how = _BETWEEN_HOW[choice.algorithm]
    rate = _scaled(_carried(choice, place, place.path.why), share)
    assert group.num_nodes > 1, group
    return (inside, Term(name="between nodes", how=how, size_bytes=between, rate=rate))


def _carried(choice: AlgorithmChoice, place: CollectivePlacement, path: Why) -> Why:
    """Return the rate of *path*, or what trees were measured to carry where that is less."""
    own = place.network.technology.collectives
    if own is None or own.tree_rate_bps is None or choice.algorithm not in _TREES:
        return path
    assert isinstance(path.value, float), path
    if own.tree_rate_bps >= path.value:
        return path
    measured = place.network.technology.why("collectives.tree_rate_bps", unit="bit/s")
    how = "what trees carry, which is less than the NICs do"
    value = own.tree_rate_bps
    return Why(name=path.name, value=value, unit="bit/s", how=how, parts=(measured, path))


def _inside(
    collective: Collective, choice: AlgorithmChoice, place: CollectivePlacement, *, share: float
) -> Term:
    size, group = collective.size_bytes, collective.group
    if choice.algorithm in {Algorithm.NVLS, Algorithm.NVLS_TREE}:
        return _nvls_term(collective, choice, place)
    ring = _capped(_scaled(ring_rate(place, group.per_node), share), choice, place)
    if choice.algorithm in {Algorithm.RING, Algorithm.PAT}:
        steps = num_steps(collective.kind, group.size)
        fill = place.profile.fill_steps.value
        fill *= collective_entry(collective.kind).fill_share
        carried = size / group.size * (steps + fill)
        how = "size / n x (steps + fill)"
    else:
        carried, how = 2 * size, "2 x size: once up and once down"
    return Term(name="inside a node", how=how, size_bytes=carried, rate=ring)


def _capped(rate: Why, choice: AlgorithmChoice, place: CollectivePlacement) -> Why:
    """Return *rate*, or inside one node the most that NCCL's table lets LL carry."""
    ll = choice.algorithm is Algorithm.RING and choice.protocol is Protocol.LL
    if not ll or place.path is not None:
        return rate
    most_bps = limits_of(place.profile.generation).ll_max[0] * 8e9
    assert isinstance(rate.value, float | int), rate
    if most_bps >= rate.value:
        return rate
    most = Why(name="most that LL carries in a node", value=most_bps, unit="bit/s", source=NCCL)
    how = "what LL carries, which is less than its share of the rings"
    return Why(name=rate.name, value=most_bps, unit="bit/s", how=how, parts=(most, rate))


def _nvls_term(collective: Collective, choice: AlgorithmChoice, place: CollectivePlacement) -> Term:
    """Return NVLink SHARP's term: what the switches pull from and push to one GPU.

    Over several nodes only the GPUs that own a NIC head a channel, and each is held to the
    share of the whole that it has in a full node.
    """
    profile, scale_up, group = place.profile, place.network.scale_up, collective.group
    assert profile.nvls_share is not None, profile
    assert profile.nvls_bus_share is not None, profile
    ranks, size = group.per_node, collective.size_bytes
    carried = nvls_wire_bytes(ranks, size)
    rate = scale_up.rate_bps * profile.nvls_share.value
    ceiling = scale_up.rate_bps * profile.nvls_bus_share.value
    carried = max(carried, 2 * (ranks - 1) / ranks * size * rate / ceiling)
    parts: tuple[Why, ...] = (
        scale_up.why("rate_bps", unit="bit/s"),
        profile.nvls_share.why(),
        profile.nvls_bus_share.why(),
    )
    if choice.algorithm is Algorithm.NVLS_TREE and place.path is not None:
        heads = min(float(ranks), place.path.num_nics)
        if heads < _FULL_NODE:
            carried = nvls_wire_bytes(_FULL_NODE, size)
            rate *= heads / _FULL_NODE
        parts = (*parts, Why(name="heads: GPUs that own a NIC", value=heads))
    whole = Why(name="rate of NVLink SHARP", value=rate, unit="bit/s", parts=parts)
    how = "size x (1 + 1/n), or what the bus ceiling amounts to"
    return Term(name="inside a node", how=how, size_bytes=carried, rate=whole)


_BETWEEN_HOW = {
    Algorithm.RING: "size x steps / n: a ring crosses every node once",
    Algorithm.PAT: "size x steps / n",
    Algorithm.TREE: "size on two nodes, 1.5 x size on three, 2 x size on more",
    Algorithm.NVLS_TREE: "size on two nodes, 1.5 x size on three, 2 x size on more",
    Algorithm.NVLS: "size: the switches reduce",
    Algorithm.COLLNET_DIRECT: "size: the switches reduce",
    Algorithm.COLLNET_CHAIN: "size: the switches reduce",
}


def _between_bytes(collective: Collective, choice: AlgorithmChoice) -> float:
    """Return what all ranks of one node together send over the network."""
    size, group = collective.size_bytes, collective.group
    if choice.algorithm in {Algorithm.RING, Algorithm.PAT}:
        return collective_entry(collective.kind).ring_bytes(size, group.size)
    if choice.algorithm in {Algorithm.TREE, Algorithm.NVLS_TREE}:
        return tree_network_bytes(group.num_nodes, size)
    return size


def _protocol_share(choice: AlgorithmChoice, profile: Profile) -> float:
    """Return what the protocol leaves of the rate: flags take the rest.

    LL sends 4 bytes of flag with 4 of data, LL128 8 with 120; PAT falls short by NCCL's quarter.
    """
    shares = {Protocol.LL: profile.ll_share.value, Protocol.LL128: 0.92, Protocol.SIMPLE: 1.0}
    if choice.algorithm is Algorithm.TREE and choice.protocol is Protocol.LL:
        return 1 / 3.8
    return shares[choice.protocol] * (PAT_SHARE if choice.algorithm is Algorithm.PAT else 1.0)


def _tree_share(choice: AlgorithmChoice, size_bytes: float) -> float:
    """Return what a tree achieves over its nominal rate: NCCL's own correction."""
    if choice.algorithm is not Algorithm.TREE:
        return 1.0
    return _corrected(TREE_CORRECTION[choice.protocol], size_bytes)


def _corrected(row: tuple[float, ...], size_bytes: float) -> float:
    """Return NCCL's correction, between the sizes of its table in proportion to their logarithm."""
    at = min(max(0.0, math.log2(max(1.0, size_bytes / 64))), len(row) - 1.0)
    low = min(int(at), len(row) - 2)
    return row[low] + (row[low + 1] - row[low]) * (at - low)


def scaled(rate: Why, *shares: Constant) -> Why:
    """Return *rate* times *shares*."""
    assert isinstance(rate.value, float | int), rate
    factors = (float(rate.value), *(share.value for share in shares))
    return _product(rate.name, factors, rate, *(share.why() for share in shares))


def _scaled(rate: Why, share: float) -> Why:
    if share == 1.0:
        return rate
    assert isinstance(rate.value, float | int), rate
    left = Why(name="share that the protocol leaves", value=share)
    value = rate.value * share
    return Why(name=rate.name, value=value, unit="bit/s", how="rate x share", parts=(rate, left))


def fill(
    collective: Collective, choice: AlgorithmChoice, comm: Communicator, place: CollectivePlacement
) -> Why:
    """Return what filling the pipeline costs.

    Inside a node it is a number a doubling. A tree over nodes passes chunks on from stage to stage:
    the last byte arrives one chunk of every channel later for each stage before it.
    """
    if place.path is None or choice.algorithm not in _TREES:
        return ramp(place, choice, collective.size_bytes)
    if choice.protocol is Protocol.LL:
        return ramp(place, choice, collective.size_bytes)  # it sends word by word
    size = collective.size_bytes
    nominal = _tree_share(choice, size)
    terms = collective_terms(collective, choice, place)
    inside, between = (term.time_s * nominal for term in terms)
    heads = min(collective.group.per_node, max(1, round(place.path.num_nics)))
    chunk = chunk_bytes(choice, size, comm, heads)
    within, over = num_stages(choice, comm)
    value = chunk / size * (within * inside + over * between)
    return Why(
        name="filling the pipeline",
        value=value,
        unit="s",
        how="chunk / size x (stages inside x time inside + stages between x time between), at the "
        "nominal rate",
        parts=(
            Why(
                name="chunk of all channels", value=chunk, unit="B", how="NCCL's rules", source=NCCL
            ),
            Why(name="stages inside a node", value=within),
            Why(name="stages between nodes", value=over),
        ),
    )


def ramp(place: CollectivePlacement, choice: AlgorithmChoice | None, size_bytes: float) -> Why:
    """Return what filling the pipeline costs inside a node, in whole chunks."""
    value = place.profile.ramp_s.value * math.log2(1 + size_bytes / CHUNK_BYTES)
    if choice is not None and choice.protocol is Protocol.LL:
        value = 0.0  # LL sends word by word and has no chunks to fill
    if choice is not None and choice.algorithm is Algorithm.TREE:
        value = 0.0  # NCCL's tree correction holds it already
    if choice is not None and choice.algorithm is Algorithm.RING and place.path is not None:
        value = 0.0  # its steps are counted one by one
    return Why(
        name="filling the pipeline",
        value=value,
        unit="s",
        how="per doubling x log2(1 + chunks)",
        parts=(place.profile.ramp_s.why(), place.profile.fill_steps.why()),
    )
