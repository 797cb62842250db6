"""How much more likely one flow's outcome is with a fault on its path than without.

Each function returns the logarithm of that ratio, flow by flow. A flow's say is limited: with
probability :data:`ODDITY` its outcome has a cause of its own (a burst of congestion, a slow
receiver), so that no single flow convicts a part and none acquits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "ODDITY",
    "Oddity",
    "base_loss",
    "counted",
    "dead",
    "delay_noise_s",
    "delayed",
    "lost",
    "lost_ratio",
    "rate_noise",
    "slowed",
]

ODDITY: Final = 1e-3
RATE_NOISE: Final = 0.08  # least standard deviation of the logarithm of a healthy slowdown
DELAY_NOISE_S: Final = 5e-6  # of a healthy round trip, at least
BASE_LOSS: Final = 1e-8  # of a healthy link, at least; Microsoft's optics: SDR-RDMA
MAX_BASE_LOSS: Final = 1e-4  # a network that loses more everywhere is no healthy one
WIDER: Final = 1.6  # than it was measured, so that what is far out is not all trouble
MIN_COUNT: Final = 50  # values that a scatter can be measured on
# Of a standard normal: its quantiles of 10 and 25 %, and that of 25 % of its absolute value.
_TENTH, _QUARTER, _ABSOLUTE_QUARTER = 1.2816, 0.6745, 0.3186
SEEN: Final = 0.5  # share of losses that a port's own counters show (the others are silent)
COUNTER_ODDITY: Final = 0.02  # ports whose counters rise for reasons of their own
_COUNT_SPAN: Final = np.log(1e6)  # counts of any size up to a million are alike, by logarithm
MAX_LOSS: Final = 0.9999
_FAR: Final = 50.0  # log ratios beyond this are all the same once the oddity is mixed in
_TINY: Final = 1e-300
# Newton's method: steps, when to stop, how far from its end a loss surely is another, and more than
# what rounding makes of a sum over as many flows.
_MOST_STEPS, _SMALL_STEP, _APART, _ROUNDING = 8, 1e-5, 2e-11, 1e-14


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """How often a flow's outcome has a cause of its own, or its path is not the one recorded.

    Attributes:
        suffers: Share of flows that suffer although their path is well.
        escapes: Share of flows that do not although it is not.
    """

    suffers: float = ODDITY
    escapes: float = ODDITY


USUAL: Final = Oddity()


def lost(
    lost: Array,
    packets: Array,
    before: Array,
    rate: float,
    allowed: Array | float = 0.0,
    odd: Oddity = USUAL,
) -> Array:
    """Return the say of flows that lost *lost* of *packets*.

    Args:
        lost: Packets lost.
        packets: Packets sent.
        before: Share that each flow loses anyway.
        rate: Share that the fault loses in addition.
        allowed: Share that congestion on its path may lose besides, anything up to it.
        odd: How much of what happens has causes of its own.
    """
    share = lost / np.maximum(packets, 1.0)
    without = np.clip(share, before, np.minimum(before + allowed, MAX_LOSS))
    after = 1 - (1 - before) * (1 - rate)
    fault = np.clip(share, after, np.minimum(after + allowed, MAX_LOSS))
    kept = packets - lost
    ratio = lost * np.log(fault / without) + kept * (np.log1p(-fault) - np.log1p(-without))
    return _limited(np.asarray(ratio), odd)


def lost_ratio(lost: Array, packets: Array, before: Array, rate: float) -> Array:
    """Return the same without any oddity: how well a rate fits, also where all say the same."""
    after = 1 - (1 - before) * (1 - rate)
    kept = packets - lost
    ratio = lost * np.log(after / before) + kept * (np.log1p(-after) - np.log1p(-before))
    return np.asarray(ratio)


def dead(lost: Array, packets: Array, before: Array, share: float, odd: Oddity = USUAL) -> Array:
    """Return the say of flows on a part that swallows a *share* of all flows, each wholly."""
    alive = packets > lost
    survived = np.full(len(lost), np.log1p(-share))
    gone = lost * np.log(before)  # had these losses been chance
    swallowed = np.log(np.exp(np.maximum(gone, -700)) * (1 - share) + share) - np.maximum(
        gone, -700
    )
    return _limited(np.where(alive, survived, swallowed), odd)


def base_loss(lost: Array | NDArray[np.int64], crossed: Array) -> float:
    """Return the share of packets that a healthy link loses.

    From how many flows lost nothing at all: a fault that takes in few flows moves that little,
    however much they lose, and one that takes in half of them by less than one packet each.

    Args:
        lost: Packets that each flow lost.
        crossed: Packets that it sent, times the links that it crossed.
    """
    if len(lost) < MIN_COUNT:
        return BASE_LOSS
    unhurt = int(np.count_nonzero(lost == 0))
    low, high = np.log(BASE_LOSS), np.log(MAX_BASE_LOSS)
    surely_less, surely_more = _near_loss(crossed, unhurt)
    for _ in range(40):
        middle = (low + high) / 2
        is_less = middle <= surely_less
        if surely_less < middle < surely_more:
            is_less = _unhurt_beyond(unhurt, crossed, middle) > 0
        low, high = (middle, high) if is_less else (low, middle)
    return float(np.exp(low))


def _unhurt_beyond(unhurt: int, crossed: Array, log_loss: float) -> float:
    """Return how many more flows should lose nothing than *unhurt*, by the logarithm of a loss."""
    return float(np.exp(-np.exp(log_loss) * crossed).sum()) - unhurt


def _near_loss(crossed: Array, unhurt: int) -> tuple[float, float]:
    """Return logarithms of losses, one surely less than what *unhurt* tells, one surely more.

    By Newton's method, so that halving need not ask all flows forty times. They stand so far
    apart that rounding does not matter; infinities where that cannot be said.
    """
    loss = _clipped((len(crossed) - unhurt) / max(float(crossed.sum()), 1.0))
    for _ in range(_MOST_STEPS):
        left = np.exp(-loss * crossed)
        # Not a product of BLAS, whose threads would take more time than they save.
        last, slope = loss, max(float((left * crossed).sum()), 1.0)
        loss = _clipped(loss + (float(left.sum()) - unhurt) / slope)
        if abs(loss - last) < _SMALL_STEP * loss:
            break
    near = np.log(loss)
    rounding = _ROUNDING * len(crossed)
    less, more = near - _APART, near + _APART
    return (
        less if _unhurt_beyond(unhurt, crossed, less) > rounding else -np.inf,
        more if _unhurt_beyond(unhurt, crossed, more) < -rounding else np.inf,
    )


def _clipped(loss: float) -> float:
    return min(max(loss, BASE_LOSS), MAX_BASE_LOSS)


def rate_noise(slowdown: Array) -> float:
    """Return how much the logarithm of healthy slowdowns scatters.

    From the faster quarter of the flows: whatever is slow is not among them.
    """
    known = np.log(slowdown[slowdown > 0])
    if len(known) < MIN_COUNT:
        return RATE_NOISE
    low, high = np.quantile(known, (0.10, 0.25))
    return max(RATE_NOISE, WIDER * float(high - low) / (_TENTH - _QUARTER))


def delay_noise_s(delay_s: Array) -> float:
    """Return how much healthy round trips scatter; from the quicker quarter of the probes."""
    known = np.abs(delay_s[~np.isnan(delay_s)])
    if len(known) < MIN_COUNT:
        return DELAY_NOISE_S
    return max(DELAY_NOISE_S, WIDER * float(np.quantile(known, 0.25)) / _ABSOLUTE_QUARTER)


def slowed(
    slowdown: Array,
    before: Array,
    factor: float,
    noise: float = RATE_NOISE,
    odd: Oddity = USUAL,
) -> Array:
    """Return the say of flows that took *slowdown* times as long as they should.

    A slow part slows the flows that need it most; others that cross it may not notice. So half of
    them are expected to be slowed by the factor, and half by anything up to it.
    """
    value = np.log(np.maximum(slowdown, 1e-3))
    healthy = _normal(value, np.log(before), noise)
    top = np.log(np.maximum(before, factor))
    full = _normal(value, top, 2 * noise)
    between = _between(value, np.log(before), top, noise)
    ratio = np.log(0.5 * full + 0.5 * between + _TINY) - np.log(healthy + _TINY)
    return np.where(np.isnan(slowdown), 0.0, _limited(np.nan_to_num(ratio), odd))


def delayed(
    late_s: Array,
    allowed_s: Array,
    more_s: float,
    noise_s: float = DELAY_NOISE_S,
    odd: Oddity = USUAL,
) -> Array:
    """Return the say of flows whose round trip took *late_s* longer than it should.

    Queues on its path may have taken anything up to *allowed_s* of it.
    """
    healthy = late_s - np.clip(late_s, 0.0, allowed_s)
    faulty = late_s - more_s - np.clip(late_s - more_s, 0.0, allowed_s)
    ratio = (healthy**2 - faulty**2) / (2 * noise_s**2)
    return np.where(np.isnan(late_s), 0.0, _limited(np.nan_to_num(ratio), odd))


def counted(errors: Array, packets: Array, base: float, rate: float) -> Array:
    """Return the say of ports that counted *errors* in *packets*; none where a count is missing.

    A port that loses packets shows it in half of the cases; a port that shows errors may do so
    for no reason.
    """
    known = (errors >= 0) & (packets > 0)
    errors, packets = np.where(known, errors, 0), np.where(known, packets, 1)
    any_number = np.where(errors > 0, -np.log(np.maximum(errors, 1) * _COUNT_SPAN), -700.0)
    healthy = np.logaddexp(
        np.log1p(-COUNTER_ODDITY) + _poisson(errors, packets * base),
        np.log(COUNTER_ODDITY) + any_number,
    )
    near = np.logaddexp(_poisson(errors, packets * (base + rate)), any_number) - np.log(2)
    faulty = np.logaddexp(np.log(SEEN) + near, np.log(1 - SEEN) + healthy)
    return np.where(known, faulty - healthy, 0.0)


def _limited(ratio: Array, odd: Oddity) -> Array:
    """Return the log ratio of two mixtures with the oddity, which limits it both ways."""
    times = np.exp(np.clip(ratio, -_FAR, _FAR))
    return np.asarray(np.log((times + odd.escapes) / (1 + times * odd.suffers)))


def _normal(value: Array, mean: Array, deviation: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((value - mean) / deviation) ** 2) / deviation)


def _between(value: Array, low: Array, high: Array, deviation: float) -> Array:
    """Return a density that is flat from *low* to *high* with soft edges, up to a constant."""
    width = np.maximum(high - low, deviation)
    rise = 1 / (1 + np.exp(-1.702 * (value - low) / deviation))
    fall = 1 / (1 + np.exp(-1.702 * (high - value) / deviation))
    return np.asarray(rise * fall / width * np.sqrt(2 * np.pi))


def _poisson(count: Array, mean: Array) -> Array:
    """Return the log likelihood of a count; factorials by Stirling's series."""
    n = np.maximum(count, 1.0)
    factorial = n * np.log(n) - n + 0.5 * np.log(2 * np.pi * n) + 1 / (12 * n)
    return np.asarray(
        count * np.log(np.maximum(mean, 1e-12)) - mean - np.where(count > 0, factorial, 0.0)
    )
