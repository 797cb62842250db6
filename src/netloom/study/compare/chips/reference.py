"""The reference network that every chip is run on, packet by packet, and what is sent over it.

Two tiers of one link for each leaf and spine, at the rate of the scenario's NICs: small enough to
run a chip in seconds, large enough for collisions, incasts and victims. What it cannot show
(three tiers, a thousand links to choose among) is the closed form's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wire.latency import PROPAGATION_S_PER_M
from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.study.simulate.as_deployed import as_deployed
from netloom.workload.dag import Label, to_transfers
from netloom.workload.exchange import all_to_all, send_recv
from netloom.workload.patterns import incast, permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.network import Network
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.spec.scenario import Floor
    from netloom.study.compare.chips.design import ChipDesign
    from netloom.workload.dag import Dag
    from netloom.workload.transfers import Transfers

__all__ = ["REFERENCE", "ReferenceNetwork", "ReferenceTraffic"]

_PS: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTraffic:
    """What is sent, each by itself.

    Attributes:
        permutation_bytes: Every host sends that to one other and receives it from one.
        message_bytes: Every host sends that to every other.
        incast_bytes: Each of *fan_in* hosts sends that to one.
        fan_in: How many.
        victim_bytes: An innocent flow beside the incast: from a host on a leaf of its senders to
            one on a third leaf that receives nothing else.
    """

    permutation_bytes: int = 4_000_000
    message_bytes: int = 65_536
    incast_bytes: int = 1_000_000
    fan_in: int = 16
    victim_bytes: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceNetwork:
    """Leaves and spines, one link for each pair.

    Attributes:
        num_leaves: Leaves; each has *hosts_per_leaf* hosts and as many spines.
        host_m: Cables to hosts; assumed, a row of racks.
        spine_m: Cables between switches; assumed, across a hall.
    """

    num_leaves: int = 8
    hosts_per_leaf: int = 8
    host_m: float = 10.0
    spine_m: float = 30.0

    @property
    def num_hosts(self) -> int:
        """Hosts in all."""
        return self.num_leaves * self.hosts_per_leaf

    @property
    def words(self) -> str:
        """What it is, in a line."""
        return (
            f"{self.num_hosts} hosts on {self.num_leaves} leaves and {self.hosts_per_leaf} spines, "
            f"non-blocking, cables of {self.host_m:g} and {self.spine_m:g} m"
        )

    def wiring(self, design: ChipDesign) -> PacketTopology:
        """Return it at the chip's rate, split over its planes, with its speed-up."""
        lower, upper, rate_bps, length_m, names = [], [], [], [], []
        names += [f"host:{host}" for host in range(self.num_hosts)]
        port_bps = design.technology.rate_bps / design.num_planes
        for _plane in range(design.num_planes):
            leaf = len(names)
            spine = leaf + self.num_leaves
            names += [f"leaf:{n}" for n in range(leaf, spine)]
            names += [f"spine:{n}" for n in range(spine, spine + self.hosts_per_leaf)]
            for host in range(self.num_hosts):
                lower.append(host)
                upper.append(leaf + host // self.hosts_per_leaf)
                rate_bps.append(port_bps)
                length_m.append(self.host_m)
            for n in range(self.num_leaves):
                for k in range(self.hosts_per_leaf):
                    lower.append(leaf + n)
                    upper.append(spine + k)
                    rate_bps.append(port_bps * design.speed_up)
                    length_m.append(self.spine_m)
        forward_ps = np.full(len(names), round(design.technology.latency.switch_s * _PS))
        forward_ps[: self.num_hosts] = 0
        delay_s = np.array(length_m) * PROPAGATION_S_PER_M
        return wire_up(
            CableList(
                lower=np.array(lower, dtype=np.int64),
                upper=np.array(upper, dtype=np.int64),
                rate_bps=np.array(rate_bps),
                delay_ps=np.round(delay_s * _PS).astype(np.int64),
                up=np.ones(len(lower), dtype=np.bool_),
            ),
            num_endpoints=self.num_hosts,
            name=tuple(names),
            forward_ps=forward_ps.astype(np.int64),
        )

    def settings(
        self, design: ChipDesign, wiring: PacketTopology, network: Network, floor: Floor
    ) -> PacketSettings:
        """Return how the chip behaves on *wiring*.

        Buffers, headroom and marks of lossless Ethernet are those that ``deploy`` would write for
        *network*; a switch here has the share of the pool that its ports are of the chip's, as if
        all others were as busy.
        """
        found = design.choices.packet_settings(design.technology)
        for section, values in design.packets.items():
            changed = replace(getattr(found, section), **values)
            found = replace(found, **{section: changed})
        deployed = as_deployed(found, wiring, network, floor, has_own_marks=False)
        if deployed is found:
            return found
        buffers = np.asarray(deployed.switch.buffer_bytes, dtype=np.int64)
        rooms = np.asarray(deployed.pfc.headroom_bytes, dtype=np.int64)
        held = np.zeros(wiring.num_vertices, dtype=np.int64)
        np.add.at(held, wiring.link_target, rooms)
        used = np.bincount(wiring.link_target, minlength=wiring.num_vertices)
        share = np.minimum(1.0, used / network.design.radix)
        pool = ((buffers - held) * share).astype(np.int64)
        switch = replace(deployed.switch, buffer_bytes=tuple((pool + held).tolist()))
        return replace(deployed, switch=switch)

    def permutation(self, traffic: ReferenceTraffic, seed: int) -> Transfers:
        """Return one flow from each host and one to each."""
        rng = np.random.default_rng(seed)
        return _labelled([permutation(self._hosts, traffic.permutation_bytes, rng=rng)], rng)

    def exchange(self, traffic: ReferenceTraffic, seed: int) -> Transfers:
        """Return an all-to-all of all hosts, all messages at once."""
        size = traffic.message_bytes * self.num_hosts
        return _labelled([all_to_all(self._hosts, size)], np.random.default_rng(seed))

    def incast(self, traffic: ReferenceTraffic, seed: int) -> Transfers:
        """Return the incast into the first host, and beside it the innocent flow, last.

        Senders are drawn from all other leaves but the last; the innocent flow goes from the second
        leaf to the last host.
        """
        rng = np.random.default_rng(seed)
        others = self._hosts[2 * self.hosts_per_leaf : -self.hosts_per_leaf]
        second = self._hosts[self.hosts_per_leaf : 2 * self.hosts_per_leaf - 1]
        senders = np.concatenate([second, rng.permutation(others)])[: traffic.fan_in]
        source, target = (self._hosts[[at]] for at in (2 * self.hosts_per_leaf - 1, -1))
        innocent = send_recv(source, target, traffic.victim_bytes)
        return _labelled([incast(senders, 0, traffic.incast_bytes), innocent], rng)

    @property
    def _hosts(self) -> NDArray[np.int64]:
        return np.arange(self.num_hosts, dtype=np.int64)


def _labelled(dags: list[Dag], rng: np.random.Generator) -> Transfers:
    labels = [Label(priority=3, job=number) for number in range(len(dags))]
    return to_transfers(dags, labels, rng=rng)


REFERENCE: Final = ReferenceNetwork()
