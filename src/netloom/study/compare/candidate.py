"""One technology in a comparison: everything that is known of it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.study.cluster import ClusterTotals
from netloom.study.economics import TokenCost
from netloom.study.predict.interval import interval_json, network_json

if TYPE_CHECKING:
    from netloom.fabric.cost.bill import Bill
    from netloom.fabric.network import Network
    from netloom.fabric.wire.latency import Component
    from netloom.parts.parts import Nic, Technology
    from netloom.provenance import Validity
    from netloom.spec.scenario import Economics
    from netloom.step.model import Step
    from netloom.study.compare.scaling import ScalingCurve
    from netloom.study.goodput.model import Goodput
    from netloom.study.lossless import Lossless

__all__ = ["Candidate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A technology on the scenario's cluster and job.

    Attributes:
        latency: One way, a small message between the farthest nodes, part by part.
        step: One optimizer step.
        bill: Of the network: switches, transceivers and cables.
        goodput: What failures and checkpoints leave.
        scaling: The same job on more and fewer GPUs.
        lossless: What keeps packets from being dropped, and how far it reaches.
        own_nic: What the node's price and power include; the technology may bring another.
        validity: Of all of it.
    """

    network: Network
    latency: tuple[Component, ...]
    step: Step
    bill: Bill
    goodput: Goodput
    scaling: ScalingCurve
    economics: Economics
    own_nic: Nic
    lossless: Lossless
    validity: Validity

    @property
    def technology(self) -> Technology:
        """The technology itself."""
        return self.network.technology

    @property
    def name(self) -> str:
        """Its name."""
        return self.network.technology.name

    @property
    def latency_s(self) -> float:
        """One way, a small message between the farthest nodes."""
        return sum(component.time_s for component in self.latency)

    @property
    def network_capex_usd(self) -> float:
        """Switches, transceivers and cables."""
        return self.bill.capex_usd

    @property
    def network_power_w(self) -> float:
        """Switches and optics."""
        return self.bill.power_w

    @property
    def totals(self) -> ClusterTotals:
        """What the whole cluster costs and draws."""
        return ClusterTotals(network=self.network, bill=self.bill, own_nic=self.own_nic)

    @property
    def cluster_capex_usd(self) -> float:
        """The network and the nodes; a contender's node has a price."""
        capex_usd = self.totals.capex_usd
        assert capex_usd is not None, self.network.node.name
        return capex_usd

    @property
    def num_nodes(self) -> int:
        """Machines."""
        return self.network.design.num_nodes

    @property
    def token_cost(self) -> TokenCost:
        """What a trillion tokens cost on the whole cluster."""
        return self._cost(self.cluster_capex_usd, self.totals.power_w)

    @property
    def usd_per_trillion_tokens(self) -> float:
        """Money for a trillion tokens, nodes and network together."""
        return self.token_cost.usd

    @property
    def days_per_trillion_tokens(self) -> float:
        """Wall time for a trillion tokens, failures included."""
        return self.token_cost.days

    @property
    def network_usd_per_trillion_tokens(self) -> float:
        """The network's share of the money for a trillion tokens."""
        return self._cost(self.bill.capex_usd, self.bill.power_w).usd

    def _cost(self, capex_usd: float, power_w: float) -> TokenCost:
        return TokenCost(
            tokens_per_s=self.step.tokens_per_s,
            goodput=self.goodput.share,
            capex_usd=capex_usd,
            power_w=power_w,
            economics=self.economics,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        step = self.step
        return {
            "technology": self.name,
            "latency_s": self.latency_s,
            "step_time_s": step.duration_s,
            "interval": interval_json(step),
            "network_interval": network_json(step),
            "communication_share": step.communication_share,
            "exposed_share": step.exposed_share,
            "mfu": step.mfu,
            "tokens_per_s": step.tokens_per_s,
            "days_per_trillion_tokens": self.days_per_trillion_tokens,
            "usd_per_trillion_tokens": self.usd_per_trillion_tokens,
            "network_capex_usd": self.network_capex_usd,
            "network_power_w": self.network_power_w,
            "goodput": self.goodput.share,
            "largest_efficient_gpus": self.scaling.limit_gpus,
            "largest_efficient_reason": self.scaling.limit_reason,
            "status": self.technology.status,
            "operations": dict(self.technology.operations),
            "lossless": self.lossless.to_json(),
            "breakdown_s": step.breakdown_s(),
            "scaling": [
                {"gpus": point.num_gpus, "mfu": point.mfu, "whole": point.whole}
                for point in self.scaling.points
            ],
            "validity": self.validity.to_json(),
        }

    def row(self) -> dict[str, float | int | str | bool | None]:
        """Return the plain keys of :meth:`to_json`: one row of a table."""
        plain = {
            key: value
            for key, value in self.to_json().items()
            if value is None or isinstance(value, (str, int, float))
        }
        return plain | {"inside": self.validity.inside}
