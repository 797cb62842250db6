"""Where DCQCN comes to rest, by the fluid model of its authors.

Zhu et al., SIGCOMM 2015, section 5.1 (recalled). N flows share a port of C packets a second, and a
share p of their packets is marked. A flow of r = C / N hears of a mark with probability m = 1 -
(1 - p)^(tau r) in the tau between CNPs; alpha settles at 1 - (1 - p)^(tau' r); increases come by
bytes B and by time T, additive ones after F recoveries. With e(X) = p / ((1 - p)^-X - 1) and X = B
and T r packets, at rest:

    of the target:  (target - r) m / tau = R_AI r (sum of (1 - p)^(F X) e(X))
    of the rate:    r alpha m / (2 tau)  = (target - r) / 2 r (sum of e(X))

so that alpha m^2 = tau^2 R_AI r (sum of (1 - p)^(F X) e(X)) (sum of e(X)).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log1p
from typing import Final

__all__ = ["DcqcnFluid"]

# Bounds of the search, and halvings of their ratio that leave nothing to tell apart.
_MIN_SHARE: Final = 1e-6
_MAX_SHARE: Final = 0.05
_HALVINGS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DcqcnFluid:
    """Flows without end into one port; constants of the paper, as `cc/dcqcn.hpp` has them.

    Attributes:
        line_pps: Packets a second that the port sends.
        additive_of_line: R_AI over the line rate.
    """

    num_flows: int
    line_pps: float
    increase_s: float = 55e-6
    cnp_s: float = 50e-6
    alpha_s: float = 55e-6
    counter_packets: float = 10_000.0
    recoveries: int = 5
    additive_of_line: float = 1e-3

    def marked_share(self) -> float:
        """Return the share of packets that is marked at rest."""
        low, high = _MIN_SHARE, _MAX_SHARE
        for _ in range(_HALVINGS):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self._excess(middle) > 0 else (middle, high)
        return low

    def _excess(self, share: float) -> float:
        """Return by how much cuts outweigh increases when *share* of all packets is marked."""
        rate_pps = self.line_pps / self.num_flows
        passed = log1p(-share)
        heard, alpha = (-expm1(span_s * rate_pps * passed) for span_s in (self.cnp_s, self.alpha_s))
        counts = (self.counter_packets, self.increase_s * rate_pps)
        often = [share / expm1(-count * passed) for count in counts]
        additive = sum(
            exp(self.recoveries * count * passed) * each
            for count, each in zip(counts, often, strict=True)
        )
        step_pps = self.additive_of_line * self.line_pps
        return alpha * heard**2 - self.cnp_s**2 * step_pps * rate_pps * additive * sum(often)
