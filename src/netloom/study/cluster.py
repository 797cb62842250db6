"""What a whole cluster costs and draws: its network, its nodes, and the NICs in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from netloom.fabric.cost.bill import Bill
    from netloom.fabric.network import Network
    from netloom.parts.parts import Nic

__all__ = ["ClusterTotals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTotals:
    """Sums over a cluster.

    Attributes:
        own_nic: What the node's price and power include; the technology may bring another.
    """

    network: Network
    bill: Bill
    own_nic: Nic

    @property
    def num_nodes(self) -> int:
        """Machines."""
        return self.network.design.num_nodes

    @property
    def num_nics(self) -> int:
        """NICs in all nodes."""
        return self.network.node.num_nics * self.num_nodes

    @property
    def capex_usd(self) -> float | None:
        """Network and nodes, the technology's NICs in place of the nodes' own; None unpriced."""
        node_usd = self.network.node.price_usd
        if node_usd is None:
            return None
        return self.bill.capex_usd + node_usd * self.num_nodes + self.other_nics("price_usd")

    @property
    def power_w(self) -> float:
        """Network and nodes, likewise; at full load, without cooling."""
        nodes_w = self.network.node.power_w * self.num_nodes
        return self.bill.power_w + nodes_w + self.other_nics("power_w")

    def other_nics(self, attribute: Literal["price_usd", "power_w"]) -> float:
        """Return what the technology's NICs take more than the nodes' own, where both are known."""
        new, own = getattr(self.network.nic, attribute), getattr(self.own_nic, attribute)
        return 0.0 if new is None or own is None else self.num_nics * float(new - own)
