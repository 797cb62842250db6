"""The closed form of hashing against rings that are routed by the real hash and share max-min."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.engines.analytic.path import scale_out
from netloom.engines.native import max_min_rates
from netloom.fabric.build import build
from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import RoutingTables, tables
from netloom.fabric.routing.flows import Flows
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of
from netloom.workload.collective import Group

if TYPE_CHECKING:
    from netloom.fabric.network import Network

pytestmark = pytest.mark.validation

NICS = 8
CHANNELS = 4  # flows_per_rank of rocev2-400g


def slowest_ring(network: Network, routes: RoutingTables, *, seed: int) -> float:
    """Return how much slower than alone the slowest of all rings is, nodes in random order.

    A ring moves at the pace of its slowest hop, so it is one flow over all links of its hops; a
    link that it crosses twice counts twice.
    """
    num_nodes = network.design.num_nodes
    rng = np.random.default_rng(seed)
    order = rng.permutation(num_nodes)
    rail = np.repeat(np.arange(NICS), CHANNELS * num_nodes)
    hop = np.tile(np.arange(num_nodes), NICS * CHANNELS)
    flows = Flows(
        source=(order[hop] * NICS + rail).astype(np.int32),
        target=(order[(hop + 1) % num_nodes] * NICS + rail).astype(np.int32),
        source_port=(49_152 + rng.integers(16_384, size=len(hop))).astype(np.uint16),
    )
    found = ecmp.paths(routes, flows)
    ends = found.offsets[::num_nodes]
    rings = [found.links[a:b].tolist() for a, b in itertools.pairwise(ends)]
    rates_bps = max_min_rates(routes.fabric.link_rate_bps, rings)
    return float(network.nic_rate_bps / CHANNELS / rates_bps.min())


@pytest.mark.parametrize("num_nodes", [128, 256, 512])
def test_the_slowest_of_hashed_rings_is_as_slow_as_the_closed_form_says(num_nodes: int) -> None:
    """Within 15 % of the mean over six seeds: the spread between seeds is about as large."""
    catalog = load_catalog()
    network = network_of(Cluster(nodes=num_nodes), catalog, technology="rocev2-400g")
    assert network.technology.flows_per_rank == CHANNELS
    routes = tables(build(network.design, network.node, network.scale_up))
    simulated = np.mean([slowest_ring(network, routes, seed=seed) for seed in range(6)])
    group = Group(size=num_nodes, per_node=1, active_per_node=NICS, displaced=1.0)
    assert scale_out(network, group, "ring").slowdown == pytest.approx(simulated, rel=0.15)
