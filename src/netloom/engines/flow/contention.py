"""How much the network slows a collective, by routing every hop of it.

In one step of a collective all flows are equal and start together, so the last of them ends when
the most loaded link has carried its load: max-min sharing gives the flows of that link their
even share to the end, since every flow they meet elsewhere is faster and ends sooner. A step
therefore needs no events, and any number of flows is routed in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.flow.hops import gpu_hops, num_senders, placed_nodes
from netloom.engines.flow.routes import Ground, ground, ways_of
from netloom.engines.flow.settings import FlowSettings
from netloom.fabric.build import build
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import link_name
from netloom.fabric.routing.candidates import Tables
from netloom.fabric.routing.flows import Flows
from netloom.fabric.routing.spread import load_bps
from netloom.fabric.wire.framing import efficiency
from netloom.provenance import Why

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.engines.base import Pattern
    from netloom.fabric.network import Network
    from netloom.workload.collective import Group

__all__ = ["RoutedContention"]

_PIECE: Final = 1 << 20  # flows routed at a time


@dataclass(frozen=True, slots=True, eq=False)
class RoutedContention:
    """Says how much the slowest hop of a collective is slowed, with every hop routed.

    What was asked before is remembered for as long as this object lives.

    Attributes:
        seed: Decides source ports and which nodes are displaced: one draw of the hash.
    """

    seed: int = 0
    _grounds: dict[int, tuple[Network, Ground]] = field(default_factory=dict, repr=False)
    _known: dict[tuple[int, Group, str, float], Why] = field(default_factory=dict, repr=False)

    def slowdown(self, network: Network, group: Group, pattern: Pattern, *, pace: float) -> Why:
        """Return how many times longer the slowest hop takes than its NIC would; 1 or more.

        Args:
            network: Is built as planned, every link up.
            group: One group; its siblings communicate at the same time.
            pattern: What a step looks like between nodes.
            pace: What a NIC offers of payload, as a share of its nominal rate.

        Raises:
            InfeasibleError: The group spans more nodes than there are.
        """
        key = (id(network), group, pattern, pace)
        if key not in self._known:
            self._known[key] = self._routed(network, group, pattern, pace=pace)
        return self._known[key]

    def _ground(self, network: Network) -> Ground:
        if id(network) not in self._grounds:
            fabric = build(network.design, network.node, network.scale_up)
            self._grounds[id(network)] = (network, ground(fabric))
        return self._grounds[id(network)][1]

    def _routed(self, network: Network, group: Group, pattern: Pattern, *, pace: float) -> Why:
        on, settings = self._ground(network), _settings(network, pattern)
        nodes = placed_nodes(network, group, seed=self.seed)
        load = np.zeros(len(on.link_rate_bps))
        num_flows = 0
        rng = np.random.default_rng(self.seed)
        for source, target, times in gpu_hops(network, group, pattern, nodes=nodes):
            for flows in _connections(source, target, settings, rng):
                load += times / _parts(settings) * _load(on, flows, settings)
                num_flows += len(flows)
        offered_bps = num_senders(network, group) * network.nic_rate_bps * pace
        return _why(on, load, settings, offered_bps=offered_bps, num_flows=num_flows)


def _settings(network: Network, pattern: Pattern) -> FlowSettings:
    technology = network.technology
    spreads = technology.load_balancing in {"adaptive", "spray", "cells"}
    return FlowSettings(
        balance=technology.load_balancing,
        # An all-to-all has a connection to each partner anyway.
        flows_per_transfer=1 if pattern == "all-to-all" else technology.flows_per_rank,
        wire_share=efficiency(technology.payload_bytes, technology.header_bytes),
        path_share=technology.path_efficiency if spreads else 1.0,
        pxn=False,  # hops are on one rail already
    )


def _parts(settings: FlowSettings) -> int:
    return 1 if settings.splits else settings.flows_per_transfer


def _connections(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    settings: FlowSettings,
    rng: np.random.Generator,
) -> Iterator[Flows]:
    parts = _parts(settings)
    step = max(1, _PIECE // parts)
    for begin in range(0, len(source), step):
        piece = slice(begin, begin + step)
        count = len(source[piece]) * parts
        yield Flows(
            source=np.repeat(source[piece], parts),
            target=np.repeat(target[piece], parts),
            source_port=rng.integers(0xC000, 0x10000, count).astype(np.uint16),
        )


def _load(on: Ground, flows: Flows, settings: FlowSettings) -> NDArray[np.float64]:
    one = np.ones(len(flows))
    assert isinstance(on.routes, Tables), on
    if settings.splits:
        return load_bps(on.routes, flows, one)
    return ways_of(on, flows, settings).load(one, num_links=len(on.link_rate_bps))


def _why(
    on: Ground,
    load: NDArray[np.float64],
    settings: FlowSettings,
    *,
    offered_bps: float,
    num_flows: int,
) -> Why:
    """Return the time of the fullest link between switches over that of the busiest node's NICs."""
    assert isinstance(on.routes, Tables), on
    fabric = on.routes.fabric
    between = ~(on.is_edge | on.is_host | on.is_scale_up)
    time = np.where(between, load / on.capacity_bps(settings), 0.0)
    sends = on.is_edge & (fabric.vertex_kind[fabric.link_source] == VertexKind.NIC)
    sent = np.bincount(fabric.vertex_node[fabric.link_source[sends]], load[sends])
    ends_time = float(sent.max()) / offered_bps
    worst = int(np.argmax(time))
    crosses = time[worst] > 0
    value = max(1.0, float(time[worst]) / ends_time) if crosses else 1.0
    return Why(
        name="slowdown of the slowest hop",
        value=value,
        how=f"{settings.balance}: every hop routed; the fullest link over the busiest node's NICs",
        parts=(
            Why(name="flows routed", value=num_flows),
            Why(
                name="fullest link between switches",
                value=link_name(fabric, worst) if crosses else "none",
            ),
            Why(name="its load, in transfers", value=float(load[worst])),
            Why(
                name="mean load of links between switches, in transfers",
                value=float(load[between].mean()) if between.any() else 0.0,
            ),
            Why(name="what the NICs of a node offer", value=offered_bps, unit="bit/s"),
        ),
    )
