"""What a token costs: machines and network over their lifetime, and the power they draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.provenance import Why

if TYPE_CHECKING:
    from netloom.spec.scenario import Economics

__all__ = ["TRILLION", "TokenCost"]

TRILLION = 1e12
_DAY_S = 86_400.0
_KWH_J = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCost:
    """What it costs to train a trillion tokens.

    Attributes:
        tokens_per_s: While the job runs.
        goodput: Share of the time in which it does, to any effect.
        capex_usd: Of what is counted: the cluster, or only its network.
        power_w: Likewise, without cooling.
    """

    tokens_per_s: float
    goodput: float
    capex_usd: float
    power_w: float
    economics: Economics

    @property
    def seconds(self) -> float:
        """Wall time."""
        return TRILLION / (self.tokens_per_s * self.goodput)

    @property
    def days(self) -> float:
        """Wall time in days."""
        return self.seconds / _DAY_S

    @property
    def usd(self) -> float:
        """Money."""
        return self.seconds * self.usd_per_s

    @property
    def usd_per_s(self) -> float:
        """Capital spread over the lifetime, and electricity with cooling."""
        power_usd = self.power_w * self.economics.pue / _KWH_J
        return self.capex_usd / self.economics.lifetime_s + (
            power_usd * self.economics.electricity_usd_per_kwh
        )

    def why(self, *parts: Why) -> Why:
        """Return how the money came about, given where capital, power and speed come from."""
        economics = self.economics
        own = (
            Why(name="lifetime", value=economics.lifetime_s, unit="s", how="economics.lifetime"),
            Why(
                name="electricity",
                value=economics.electricity_usd_per_kwh,
                unit="USD/kWh",
                how="economics.electricity_per_kwh",
            ),
            Why(name="PUE", value=economics.pue, how="economics.pue"),
        )
        return Why(
            name="USD per trillion tokens",
            value=self.usd,
            unit="USD",
            how=("1e12 / (tokens/s x goodput) x (capex / lifetime + power x PUE x electricity)"),
            parts=(*parts, *own),
        )
