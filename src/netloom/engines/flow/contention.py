"""How much the network slows a collective, by routing every hop of it.

In one step of a collective all flows are equal and start together, so the last of them ends when
the most loaded link has carried its load: max-min sharing gives the flows of that link their
even share to the end, since every flow they meet elsewhere is faster and ends sooner. A step
therefore needs no events, and any number of flows is routed in pieces.

Where switches may choose for each packet, traffic is split evenly; and when that overloads a link
of a fabric that is not as it was built, as much of it as helps leans to where more is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.flow.hops import check_span, gpu_hops, num_senders, placed_nodes
from netloom.engines.flow.routes import Ground, ground, ways_of
from netloom.engines.flow.settings import FlowSettings
from netloom.fabric.build import build
from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.names import link_name
from netloom.fabric.routing.candidates import RoutingTables
from netloom.fabric.routing.flows import Flows
from netloom.fabric.routing.health import changed_between
from netloom.fabric.routing.spread import load_bps
from netloom.fabric.wire.framing import efficiency
from netloom.provenance import Why

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.engines.base import Pattern
    from netloom.engines.flow.hops import Hops
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.workload.collective import Group

__all__ = ["LinkLoad", "RoutedContention", "least_mixed"]

_PIECE: Final = 1 << 20  # flows routed at a time
_HALVINGS: Final = 40  # 1e-12 of the traffic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkLoad:
    """What the hops of one collective ask of every link.

    Attributes:
        group: Whose hops they are.
        pattern: Which member sends to which.
        share: Of each link, what it is asked for over what it carries, while every NIC sends at
            its full pace; more than 1 slows the hops. 0 on links that are not counted.
        slowdown: Of the slowest hop.
    """

    group: Group
    pattern: Pattern
    share: NDArray[np.float64]
    slowdown: float


@dataclass(frozen=True, slots=True, eq=False)
class RoutedContention:
    """Says how much the slowest hop of a collective is slowed, with every hop routed.

    What was asked before is remembered for as long as this object lives.

    Attributes:
        seed: Decides source ports and which nodes are displaced: one draw of the hash.
        fabric: The network as it stands, with what is down, drained or slow; as planned and
            whole without.
        nodes: Which node stands at each place of the job, the first places first; all nodes in
            order, but for those displaced, without.
    """

    seed: int = 0
    fabric: Fabric | None = None
    nodes: NDArray[np.int64] | None = None
    _grounds: dict[int, tuple[Network, Ground]] = field(default_factory=dict, repr=False)
    _known: dict[tuple[int, Group, str, float], tuple[Why, LinkLoad]] = field(
        default_factory=dict, repr=False
    )

    def slowdown(self, network: Network, group: Group, pattern: Pattern, *, pace: float) -> Why:
        """Return how many times longer the slowest hop takes than its NIC would; 1 or more.

        Args:
            network: Is built as planned, every link up, unless a fabric was given.
            group: One group; its siblings communicate at the same time.
            pattern: What a step looks like between nodes.
            pace: What a NIC offers of payload, as a share of its nominal rate.

        Raises:
            InfeasibleError: The group spans more nodes than there are, or two of its members
                have no path left.
        """
        key = (id(network), group, pattern, pace)
        if key not in self._known:
            self._known[key] = self._routed(network, group, pattern, pace=pace)
        return self._known[key][0]

    def presses(self) -> tuple[LinkLoad, ...]:
        """Return what was asked of the links so far, in the order it was asked."""
        return tuple(press for _, press in self._known.values())

    def _ground(self, network: Network) -> Ground:
        if id(network) not in self._grounds:
            fabric = self.fabric or build(network.design, network.node, network.scale_up)
            self._grounds[id(network)] = (network, ground(fabric))
        return self._grounds[id(network)][1]

    def _places(self, network: Network, group: Group) -> NDArray[np.int64]:
        if self.nodes is None:
            return placed_nodes(network, group, seed=self.seed)
        check_span(group, len(self.nodes), gpus_per_node=network.node.num_gpus)
        return self.nodes

    def _routed(
        self, network: Network, group: Group, pattern: Pattern, *, pace: float
    ) -> tuple[Why, LinkLoad]:
        on, settings = self._ground(network), _settings(network, pattern)
        nodes = self._places(network, group)
        offered_bps = num_senders(network, group) * network.nic_rate_bps * pace

        def pressed(*, leaning: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
            rng = np.random.default_rng(self.seed)
            hops = gpu_hops(network, group, pattern, nodes=nodes)
            load, num_flows = _loaded(on, hops, settings, rng, leaning=leaning)
            share = _share(on, load, settings, offered_bps=offered_bps, pace=pace)
            return load, share, num_flows

        load, share, num_flows = pressed(leaning=False)
        part = 0.0
        if settings.splits and share.max(initial=0.0) > 1 and _hurt(on):
            leaning_load, leaning_share, _ = pressed(leaning=True)
            part = least_mixed(share, leaning_share)
            load = (1 - part) * load + part * leaning_load
            share = (1 - part) * share + part * leaning_share
        slowdown = max(1.0, float(share.max(initial=0.0)))
        press = LinkLoad(group=group, pattern=pattern, share=share, slowdown=slowdown)
        return _why(on, load, settings, press, (offered_bps, num_flows, part)), press


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


def _loaded(
    on: Ground,
    hops: Iterator[Hops],
    settings: FlowSettings,
    rng: np.random.Generator,
    *,
    leaning: bool,
) -> tuple[NDArray[np.float64], int]:
    """Return what each link carries when every hop sends 1, and how many flows were routed."""
    load = np.zeros(len(on.link_rate_bps))
    num_flows = 0
    for source, target, times in hops:
        for flows in _connections(source, target, settings, rng):
            load += times / _parts(settings) * _load(on, flows, settings, leaning=leaning)
            num_flows += len(flows)
    return load, num_flows


def _hurt(on: Ground) -> bool:
    assert isinstance(on.routes, RoutingTables), on
    return bool(changed_between(on.routes.fabric).any())


def least_mixed(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the part of *other* in the mixture of the two whose largest value is least.

    The largest value is convex in the part, so that it is found by halving on the slope of the
    largest: of the lines through *one* and *other*, the highest one.
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        part = (low + high) / 2
        top = int(np.argmax((1 - part) * one + part * other))
        low, high = (part, high) if other[top] < one[top] else (low, part)
    return low


def _load(
    on: Ground, flows: Flows, settings: FlowSettings, *, leaning: bool
) -> NDArray[np.float64]:
    one = np.ones(len(flows))
    assert isinstance(on.routes, RoutingTables), on
    if settings.splits:
        return load_bps(on.routes, flows, one, leaning=leaning)
    return ways_of(on, flows, settings).load(one, num_links=len(on.link_rate_bps))


def _share(
    on: Ground,
    load: NDArray[np.float64],
    settings: FlowSettings,
    *,
    offered_bps: float,
    pace: float,
) -> NDArray[np.float64]:
    """Return what each link is asked for over what it carries.

    A NIC whose ports and cables are whole divides its pace over them as it likes, so they are not
    counted; those of a NIC that lost a port or has a slow one carry what their rate allows, at
    the same pace.
    """
    assert isinstance(on.routes, RoutingTables), on
    fabric = on.routes.fabric
    sends = on.is_edge & (fabric.vertex_kind[fabric.link_source] == VertexKind.NIC)
    sent = np.bincount(fabric.vertex_node[fabric.link_source[sends]], load[sends])
    wanted_bps = load * (offered_bps / max(float(sent.max(initial=0.0)), 1e-300))
    capacity_bps = on.capacity_bps(settings)
    capacity_bps[on.is_edge] = on.link_rate_bps[on.is_edge] * pace
    between = ~(on.is_edge | on.is_host | on.is_scale_up)
    counted = between | ((on.is_edge | on.is_host) & _at_hurt_gpu(on, fabric))
    return np.where(counted, wanted_bps / capacity_bps, 0.0)


def _at_hurt_gpu(on: Ground, fabric: Fabric) -> NDArray[np.bool_]:
    """Return of each link whether it belongs to a GPU one of whose ports is not as it was built."""
    edited = (fabric.link_state != LinkState.UP) | (fabric.link_slowdown != 1)
    hurt = np.zeros(fabric.num_vertices, dtype=np.bool_)
    ends = (fabric.link_source, fabric.link_target)
    for links in (on.is_edge, on.is_host, on.is_host):  # to the port, its GPU, its other ports
        near = links & (edited | hurt[ends[0]] | hurt[ends[1]])
        for end in ends:
            hurt[end[near]] = True
        hurt &= fabric.vertex_node >= 0
    return np.asarray(hurt[ends[0]] | hurt[ends[1]])


def _why(
    on: Ground,
    load: NDArray[np.float64],
    settings: FlowSettings,
    press: LinkLoad,
    counts: tuple[float, int, float],
) -> Why:
    """Say how the slowdown came about."""
    assert isinstance(on.routes, RoutingTables), on
    offered_bps, num_flows, part = counts
    leans = (Why(name="share of the traffic that leans away from hurt ways", value=part),)
    between = ~(on.is_edge | on.is_host | on.is_scale_up)
    worst = int(np.argmax(press.share))
    crosses = press.share[worst] > 0
    where = "fullest link" if crosses and not between[worst] else "fullest link between switches"
    return Why(
        name="slowdown of the slowest hop",
        value=press.slowdown,
        how=f"{settings.balance}: every hop routed; the fullest link over the busiest node's NICs",
        parts=(
            Why(name="flows routed", value=num_flows),
            Why(
                name=where,
                value=link_name(on.routes.fabric, worst) if crosses else "none",
            ),
            Why(name="its load, in transfers", value=float(load[worst])),
            Why(
                name="mean load of links between switches, in transfers",
                value=float(load[between].mean()) if between.any() else 0.0,
            ),
            Why(name="what the NICs of a node offer", value=offered_bps, unit="bit/s"),
            *(leans if part else ()),
        ),
    )
