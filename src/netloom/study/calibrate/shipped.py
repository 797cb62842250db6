"""What netloom takes for a cluster that was not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.engines.analytic.peers import peers
from netloom.engines.analytic.ways import way_of

if TYPE_CHECKING:
    from netloom.fabric.network import Network

__all__ = ["shipped_cost"]


def shipped_cost(network: Network, name: str) -> float | None:
    """Return the shipped value of a cost that can be measured; None where there is none.

    Args:
        network: As shipped.
        name: ``nic_share``, or an attribute of MeasuredCosts.
    """
    technology = network.technology.model_copy(update={"collectives": None})
    way, used, node = way_of(technology, network.nic.name), peers(), network.node
    shared = used.many_shared.value if node.num_nics < node.num_gpus else 1.0
    return {
        "nic_share": way.nic_share.value if node.nic_share is None else node.nic_share,
        "hop_s": way.hop_s.value,
        "rendezvous_s": way.rendezvous_s.value,
        "partner_s": used.partner.value,
        "far_partner_s": used.far_partner.value,
        "all_to_all_share": used.many.value * shared,
        "message_share": used.alone.value,
    }.get(name)
