"""Goodput: the share of the time in which a job makes progress that is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.provenance import Source, Validity, Why
from netloom.study.goodput.failures import (
    FailureRate,
    interruption_rates,
    mean_time_between_s,
    rate_why,
)
from netloom.study.goodput.spares import enough_share, spares_needed

if TYPE_CHECKING:
    from netloom.fabric.design import Design
    from netloom.spec.scenario import Reliability

__all__ = ["Goodput", "checkpoint_interval_s", "goodput", "goodput_at", "kept_share"]

MIN_SENSIBLE = 0.5

DALY = Source(
    citation="Daly, A higher order estimate of the optimum checkpoint interval (2006)",
    confidence="published",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """What failures and checkpoints leave of the time.

    Attributes:
        share: Of wall time that ends up in the model.
        staffed_share: Of wall time in which no more nodes are away than spares stand by; 1 where
            the scenario leaves the number of spares open.
        interval_s: Between checkpoints, the best for this failure rate.
        mean_time_between_s: Between interruptions of the job.
    """

    share: float
    staffed_share: float
    interval_s: float
    mean_time_between_s: float
    reliability: Reliability
    rates: tuple[FailureRate, ...]

    @property
    def nodes_away(self) -> float:
        """Nodes in repair on average, each interruption having taken one."""
        return self.reliability.repair_s / self.mean_time_between_s

    @property
    def spares_needed(self) -> int:
        """Spares that are enough for 99 % of the time."""
        return spares_needed(self.nodes_away)

    def losses(self) -> dict[str, float]:
        """Return where the rest of the time goes, as shares of wall time that add up with it."""
        running = self.staffed_share
        writes = self.share * self.reliability.checkpoint_write_s / self.interval_s
        rest = max(0.0, running - self.share - writes)
        restarts = min(rest, running * self.reliability.restart_s / self.mean_time_between_s)
        return {
            "checkpoint writes": writes,
            "restarts": restarts,
            "work done again": rest - restarts,
            "waiting for repair": 1 - running,
        }

    @property
    def validity(self) -> Validity:
        """A doubt where failures eat most of the time: no real job runs like that."""
        if self.share >= MIN_SENSIBLE:
            return Validity()
        doubt = (
            f"Failures leave {self.share:.0%} of the time; at this size a job needs faster "
            "checkpoints and restarts than job.reliability says, or must survive failures."
        )
        return Validity((doubt,))

    def why(self) -> Why:
        """Return how the share came about."""
        between = Why(
            name="mean time between interruptions",
            value=self.mean_time_between_s,
            unit="s",
            how="1 / sum of the interruption rates",
            parts=tuple(rate_why(rate) for rate in self.rates),
        )
        costs = (
            Why(
                name="checkpoint write",
                value=self.reliability.checkpoint_write_s,
                unit="s",
                how="job.reliability.checkpoint_write of the scenario",
            ),
            Why(
                name="restart",
                value=self.reliability.restart_s,
                unit="s",
                how="job.reliability.restart of the scenario",
            ),
        )
        interval = Why(
            name="checkpoint interval",
            value=self.interval_s,
            unit="s",
            how="Daly's optimum for the two below",
            source=DALY,
        )
        staffed = Why(
            name="spares are enough",
            value=self.staffed_share,
            how=f"share of the time in which at most {self.reliability.spares} nodes are in "
            f"repair, {self.nodes_away:.3g} on average (Poisson)"
            if self.reliability.spares is not None
            else "the scenario leaves the number of spares open",
        )
        return Why(
            name="goodput",
            value=self.share,
            how="interval / (M exp(restart/M) (exp((interval + write)/M) - 1)), M between "
            "failures, times the share of the time that spares are enough",
            source=DALY,
            parts=(between, *costs, interval, staffed),
        )


def checkpoint_interval_s(write_s: float, between_s: float) -> float:
    """Return the time between checkpoints that wastes least: Daly (2006), equation 37."""
    if write_s >= 2 * between_s:
        return between_s
    ratio = math.sqrt(write_s / (2 * between_s))
    return math.sqrt(2 * write_s * between_s) * (1 + ratio / 3 + ratio**2 / 9) - write_s


def kept_share(*, interval_s: float, write_s: float, restart_s: float, between_s: float) -> float:
    """Return the share of time that is kept, failures being Poisson: Daly (2006), equation 20."""
    if (interval_s + write_s + restart_s) / between_s > 700:  # exp would overflow: nothing is kept
        return 0.0
    segment_s = between_s * math.expm1((interval_s + write_s) / between_s)
    return interval_s / (math.exp(restart_s / between_s) * segment_s)


def goodput(design: Design, reliability: Reliability, *, num_hosts: int = 1) -> Goodput:
    """Return the goodput of a job that fills *design* and checkpoints at the best interval.

    A node of *num_hosts* computers fails as often as that many.
    """
    rates = interruption_rates(design, num_hosts=num_hosts, record=reliability.record)
    return goodput_at(rates, reliability)


def goodput_at(rates: tuple[FailureRate, ...], reliability: Reliability) -> Goodput:
    """Return the goodput of a job that is interrupted at *rates*."""
    between_s = mean_time_between_s(rates)
    write_s = reliability.checkpoint_write_s
    interval_s = checkpoint_interval_s(write_s, between_s)
    kept = kept_share(
        interval_s=interval_s,
        write_s=write_s,
        restart_s=reliability.restart_s,
        between_s=between_s,
    )
    spares = reliability.spares
    staffed = 1.0 if spares is None else enough_share(spares, reliability.repair_s / between_s)
    return Goodput(
        share=kept * staffed,
        staffed_share=staffed,
        interval_s=interval_s,
        mean_time_between_s=between_s,
        reliability=reliability,
        rates=rates,
    )
