"""How much the network slows a collective, with one step of it run packet by packet."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.flow.hops import gpu_hops, num_senders, placed_nodes
from netloom.engines.flow.phases import at_once
from netloom.engines.packet.engine import run_packets
from netloom.errors import InfeasibleError
from netloom.fabric.build import build
from netloom.fabric.wire.framing import efficiency
from netloom.fabric.wiring.built import wiring_of
from netloom.fabric.wiring.paths import first_ways
from netloom.provenance import Why
from netloom.spec.scenario import Floor
from netloom.study.simulate.as_deployed import as_deployed
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.cost import PACKET_RATE_PER_S, acks_per_packet

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine, Outcome, Pattern
    from netloom.engines.delivery import Delivery
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.network import Network
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.collective import Collective, Group
    from netloom.workload.transfers import Transfers

__all__ = ["PacketContention", "PacketEngine"]

# What a hop carries in the step that is run: long enough that its latency (taken off) and the
# first round trips hardly count, 256 packets of 4 KiB.
HOP_BYTES: Final = 1 << 20
# Pieces that a hop of a tree is fed in, of 16 packets, so that the last ones, which may meet, are
# few of it; and most pieces of a step together.
TREE_HOP_BYTES: Final = 1 << 22
SLICES: Final = 64
MAX_PIECES: Final = 1 << 20
# More than this is for the flow engine: about four minutes.
MAX_TRAVERSALS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketEngine:
    """Predicts a collective with a step of its hops between nodes run packet by packet.

    What the communication library does at the ends, which algorithm it chooses and what its
    steps cost, is the closed form's; what the network does to the hops is not.

    Attributes:
        library: Prices collectives by :class:`PacketContention`.
    """

    library: Engine

    @property
    def name(self) -> str:
        """The engine's name."""
        return "packet"

    @property
    def seen(self) -> str:
        """What of each collective was moved, for those who read the result."""
        hop, tree = (size >> 20 for size in (HOP_BYTES, TREE_HOP_BYTES))
        return (
            f"packets of the first {hop} MiB a hop ({tree} MiB of a tree's): what congestion "
            "control does later is not in it; 'netloom simulate --step' runs the whole step"
        )

    def run(self, collective: Collective, network: Network) -> Outcome:
        """Return how long *collective* takes on *network*.

        Raises:
            InfeasibleError: its packets are too many.
        """
        return replace(self.library.run(collective, network), engine=self.name)


@dataclass(frozen=True, slots=True, eq=False)
class PacketContention:
    """Says how much the slowest hop of a collective is slowed, with its packets moved.

    What was asked before is remembered for as long as this object lives.

    Attributes:
        seed: Decides source ports, marks and which nodes are displaced.
        announce: Told in words what is about to run and how long that takes.
        choices: What runs instead of the technology's own, as in ``simulate``.
        chosen_for: The technology that *choices* are for, others keep their own; empty for all.
        floor: Where the network stands: its cables decide headroom.
        hop_bytes: What a hop carries; more lets congestion control settle, and takes longer.
        jitter_ps: Hops begin up to this much later, each by its own draw.
        on_delivery: Told what came of every run.
        num_workers: Threads for components of a run that share nothing; they change no result.
    """

    seed: int = 0
    announce: Callable[[str], None] = field(default=lambda _line: None)
    choices: Choices = field(default_factory=Choices)
    chosen_for: str = ""
    floor: Floor = field(default_factory=Floor)
    hop_bytes: int = HOP_BYTES
    jitter_ps: int = 0
    on_delivery: Callable[[Delivery], None] = field(default=lambda _delivery: None)
    num_workers: int = 1
    _grounds: dict[int, tuple[Network, PacketTopology]] = field(default_factory=dict, repr=False)
    _known: dict[tuple[int, Group, str], float] = field(default_factory=dict, repr=False)

    def slowdown(self, network: Network, group: Group, pattern: Pattern, *, pace: float) -> Why:
        """Return how many times longer the slowest hop takes than its NIC would; 1 or more.

        Args:
            network: Is built as planned, every link up.
            group: One group; its siblings communicate at the same time.
            pattern: What a step looks like between nodes.
            pace: What a NIC offers of payload, as a share of its nominal rate.

        Raises:
            InfeasibleError: the group spans more nodes than there are, or the packets of a step
                would take too long.
        """
        key = (id(network), group, pattern)
        if key not in self._known:
            self._known[key] = self._span_s(network, group, pattern)
        span_s = self._known[key]
        sent = self._sent_bytes(network, group, pattern)
        offered_bps = num_senders(network, group) * network.nic_rate_bps * pace
        alone_s = sent * 8 / offered_bps
        return Why(
            name="slowdown of the slowest hop",
            value=max(1.0, span_s / alone_s),
            how="packets of one step: the last arrival less the empty network's latency, over the "
            "busiest node's bytes at the rate of its NICs",
            parts=(
                Why(name="last arrival", value=span_s, unit="s"),
                Why(name="payload that the busiest node sends", value=sent, unit="B"),
                Why(name="what the NICs of a node offer", value=offered_bps, unit="bit/s"),
            ),
        )

    def _wiring(self, network: Network) -> PacketTopology:
        if id(network) not in self._grounds:
            fabric = build(network.design, network.node, network.scale_up)
            wiring = wiring_of(fabric, network, self.floor, scale_up=False)
            self._grounds[id(network)] = (network, wiring)
        return self._grounds[id(network)][1]

    def _hops(self, network: Network, group: Group, pattern: Pattern) -> Transfers:
        nodes = placed_nodes(network, group, seed=self.seed)
        hops = list(gpu_hops(network, group, pattern, nodes=nodes))
        beside = np.arange(_feeders(network, group))  # GPUs that share the NIC of a hop
        source, target = (
            (np.concatenate([hop[end] for hop in hops])[:, None] + beside).ravel() for end in (0, 1)
        )
        rng = np.random.default_rng(self.seed)
        ports = rng.integers(0xC000, 0xF000, len(source)).astype(np.uint16)
        size_bytes = max(self._hop_bytes(pattern, len(hops)) // len(beside), 4096)
        step = at_once(source, target, size_bytes=size_bytes, source_port=ports)
        if pattern == "tree":
            return _fed(step, network, group)
        if not self.jitter_ps:
            return step
        later = rng.integers(0, self.jitter_ps, len(source), endpoint=True)
        return replace(step, start_ps=step.start_ps + later)

    def _sent_bytes(self, network: Network, group: Group, pattern: Pattern) -> float:
        transfers = self._hops(network, group, pattern)
        node = transfers.source // network.node.num_gpus
        return float(np.bincount(node, transfers.size_bytes).max())

    def _span_s(self, network: Network, group: Group, pattern: Pattern) -> float:
        """Return how long the step takes, latency taken off."""
        wiring = self._wiring(network)
        transfers = self._hops(network, group, pattern)
        settings = self._settings(network, wiring)
        ways = first_ways(
            wiring, transfers.source.astype(np.int64), transfers.target.astype(np.int64)
        )
        what = (
            f"{pattern} of {group.size} GPUs on {network.technology.name}, "
            f"{group.displaced:.0%} of nodes displaced"
        )
        self._check_size(what, transfers, settings, hops=int(ways.num_hops.sum()))
        delivery = run_packets(
            wiring, transfers, settings, seed=self.seed, num_workers=self.num_workers
        )
        self.on_delivery(delivery)
        host = settings.transport
        fixed_ps = host.send_ps + host.receive_ps + int(ways.delay_ps.max())
        if not settings.switch.cut_through:  # the last packet is stored on all links but one
            stored_ps = (ways.ps_per_byte - 8e12 / ways.slowest_bps).max()
            fixed_ps += round(float(stored_ps) * (host.payload_bytes + host.header_bytes))
        if settings.flow_control == "scheduled":
            fixed_ps += settings.schedule.wait_ps
        return float(delivery.tables["arrivals"]["arrive_ps"].max() - fixed_ps) * 1e-12

    def _hop_bytes(self, pattern: Pattern, num_hops: int) -> int:
        if pattern == "tree":
            return max(TREE_HOP_BYTES, self.hop_bytes)
        return self.hop_bytes // num_hops if pattern == "all-to-all" else self.hop_bytes

    def _settings(self, network: Network, wiring: PacketTopology) -> PacketSettings:
        """Return what switches and NICs run with: as ``simulate`` does, and as deployed."""
        name = network.technology.name
        is_chosen = not self.chosen_for or self.chosen_for.casefold() == name.casefold()
        choices = self.choices if is_chosen else Choices()
        settings = choices.packet_settings(network.technology)
        return as_deployed(settings, wiring, network, self.floor, has_own_marks=bool(choices.ecn))

    def _check_size(
        self, asked: str, transfers: Transfers, settings: PacketSettings, *, hops: int
    ) -> None:
        packets = -(-int(transfers.size_bytes[0]) // settings.transport.payload_bytes)
        acks = math.ceil(packets * acks_per_packet(settings.transport))
        count = (packets + acks) * hops
        wall_s = count / PACKET_RATE_PER_S
        what = f"{asked}: {len(transfers):,} hops, {count:,} link traversals"
        if count > MAX_TRAVERSALS:
            raise InfeasibleError(
                key="engine",
                what=f"{what} would take about {wall_s / 60:.0f} minutes",
                remedy="use --engine flow, or a smaller cluster",
            )
        self.announce(f"{what}, about {wall_s:.1f} s")


def _feeders(network: Network, group: Group) -> int:
    """Return how many GPUs hand data to a NIC that sends: those that share it and communicate."""
    sharers = max(network.node.num_gpus // network.node.num_nics, 1)
    return max(min(sharers, group.active_per_node // num_senders(network, group)), 1)


def _fed(step: Transfers, network: Network, group: Group) -> Transfers:
    """Return the hops of a tree in pieces, which come at the pace of its busiest rank.

    A rank of a tree passes on what it receives, so that every hop carries what the busiest one
    has left for each of its hops; hops that all send at once what they can would only get in each
    other's way. Pieces of the hops of a rank come in turn. Each is full packets on every
    connection: headers of shorter ones would be no part of the hop.
    """
    count = max(min(SLICES, MAX_PIECES // len(step)), 1)
    whole_bytes = int(step.size_bytes[0])
    full_bytes = int(network.technology.payload_bytes) * network.technology.flows_per_rank
    size_bytes = min(-(-whole_bytes // (count * full_bytes)) * full_bytes, whole_bytes)
    count = whole_bytes // size_bytes
    hops = max(int(np.bincount(ends).max()) for ends in (step.source, step.target))
    technology, node = network.technology, network.node
    limits = (network.nic_rate_bps, technology.host_rate_bps or np.inf)
    share = efficiency(technology.payload_bytes, technology.header_bytes)
    nic_bps = min(limits) * share / _feeders(network, group)
    num_nics = max(node.num_nics // node.num_gpus, 1)
    gap_ps = size_bytes * 8e12 * hops / (num_nics * min(nic_bps, node.host_rate_bps))
    turn = np.arange(len(step)) % hops / hops
    start_ps = np.rint((np.arange(count)[:, None] + turn) * gap_ps).astype(np.int64).ravel()
    pieces = at_once(
        np.tile(step.source, count),
        np.tile(step.target, count),
        size_bytes=size_bytes,
        source_port=np.tile(step.source_port, count),
    )
    return replace(pieces, start_ps=start_ps)
