"""What equal-cost paths cost: how unevenly hashing loads links, and who waits for the slowest.

``num_flows`` equal flows leave a switch over ``num_links`` links. Under ECMP each picks a link by
a hash, so the loads are multinomial, and a synchronous collective waits for the fullest link of
all ``num_switches`` switches it crosses. The law of the fullest link is computed, not
approximated (see :func:`max_load_cdf`); every other figure follows from it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LoadBalancing",
    "balancing_for",
    "busy_share",
    "distinct_links",
    "expected_max_load",
    "expected_max_normal",
    "hashed_slowdown",
    "max_load_cdf",
    "no_collision_probability",
    "slowdown",
    "straggler_factor",
    "thinner_flows",
]

LoadBalancing = Literal["ecmp", "static", "adaptive", "spray", "cells"]

# Probabilities below this cannot move an expectation over a million switches by 1e-9.
_NEGLIGIBLE: Final = 1e-16
# Loads at which the law is evaluated; between them it is interpolated (see _law).
_MAX_POINTS: Final = 96
# How far from the mean a sum of loads is followed, in standard deviations: exp(-8**2 / 2) ~ 1e-14.
_TAIL: Final = 8.5
_FEW_LINKS: Final = 8
_FEW_FREQUENCIES: Final = 256


def slowdown(
    *,
    load_balancing: LoadBalancing,
    path_efficiency: float,
    num_flows: float,
    num_links: int,
    num_switches: float,
    flow_share: float,
) -> float:
    """Return how many times longer the slowest flow takes than it would alone, 1 or more.

    Args:
        load_balancing: How packets choose a link. ``static`` (d-mod-k) is taken to serve a shift
            pattern, which it spreads evenly (Zahavi, D-Mod-K routing providing non-blocking
            traffic for shift permutations on real life fat trees, 2010); for another pattern ask
            :func:`balancing_for` first.
        path_efficiency: Share of the links' rate that adaptive paths, spraying or cells deliver;
            not used by ``ecmp`` and ``static``.
        num_flows: Flows that leave one switch; an expected number, need not be whole.
        num_links: Links they choose among, 1 or more.
        num_switches: Switches at which they choose independently.
        flow_share: What each flow wants, as a share of one link's rate.
    """
    assert num_links >= 1, num_links
    if load_balancing == "ecmp":
        return hashed_slowdown(
            num_flows=num_flows,
            num_links=num_links,
            num_switches=num_switches,
            flow_share=flow_share,
        )
    mean_load = num_flows * flow_share / num_links
    deliverable = 1.0 if load_balancing == "static" else path_efficiency
    return max(1.0, mean_load / deliverable)


def balancing_for(load_balancing: LoadBalancing, *, is_shift: bool) -> LoadBalancing:
    """Return the balancing that a traffic pattern really gets.

    d-mod-k is free of collisions for shifts only; other patterns meet it as if it hashed.
    """
    return "ecmp" if load_balancing == "static" and not is_shift else load_balancing


def thinner_flows(
    num_flows: float, flow_share: float, *, num_queue_pairs: int
) -> tuple[float, float]:
    """Return (num_flows, flow_share) once each flow is dealt over *num_queue_pairs* five-tuples.

    E-ECMP with queue-pair scaling: Gangidi et al., RDMA over Ethernet for distributed AI training
    at Meta scale, SIGCOMM 2024. A transfer still ends with the slowest of its queue pairs.
    """
    return num_flows * num_queue_pairs, flow_share / num_queue_pairs


def distinct_links(num_links: int, *, num_links_below: int) -> int:
    """Return how many links flows can still reach when two tiers hash with the same seed.

    The tier below keeps only hashes equal to some r modulo *num_links_below*; of these, modulo
    *num_links*, only num_links / gcd remain. Equal tiers are fully polarised: one link.
    """
    return num_links // math.gcd(num_links, num_links_below)


def no_collision_probability(num_flows: int, num_links: int) -> float:
    """Return the probability that no two hashed flows share a link (birthday problem)."""
    return math.prod(1 - i / num_links for i in range(min(num_flows, num_links + 1)))


def busy_share(num_flows: float, num_links: int) -> float:
    """Return the expected share of links that carry any hashed flow: 1 - (1 - 1/m)^n."""
    if num_links == 1:
        return min(1.0, num_flows)
    return -math.expm1(num_flows * math.log1p(-1 / num_links))


def expected_max_load(num_flows: float, num_links: int, *, num_switches: float = 1) -> float:
    """Return the expected flows on the fullest link of *num_switches* independent switches."""
    loads, cdf = _mixed_cdf(num_flows, num_links)
    return _expectation(loads.astype(float), cdf, num_switches)


def hashed_slowdown(
    *, num_flows: float, num_links: int, num_switches: float, flow_share: float
) -> float:
    """Return E[max(1, M * flow_share)], M the flows on the fullest link of all switches.

    The flows on a link share it equally, so those on the fullest get 1/M of it each.
    """
    loads, cdf = _mixed_cdf(num_flows, num_links)
    return _expectation(np.maximum(1.0, loads * flow_share), cdf, num_switches)


def max_load_cdf(num_flows: int, num_links: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the loads k in question and P(fullest link carries at most k), both read-only.

    With X_i independent Poisson of mean n/m, the multinomial is their law given that they add up
    to n, hence (Levin, A representation for multinomial cumulative distribution functions, 1981)

        P(max <= k) = P(X <= k)^m P(W_k = n) / P(Poisson(n) = n),

    W_k the sum of m copies of X given X <= k. P(W_k = n) is the inverse Fourier transform of its
    characteristic function by the trapezium rule, whose error is the mass that aliases: under
    1e-12 up to some 250 frequencies, 1e-6 beyond. Where more than 96 loads matter the law is
    interpolated, and expectations are right to 3e-5. Below the first load listed it is nil.
    """
    assert num_flows >= 0, num_flows
    assert num_links >= 1, num_links
    return _law(num_flows, num_links)


def _mixed_cdf(num_flows: float, num_links: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the law for an expected number of flows: each switch has floor or ceil of it."""
    whole = math.floor(num_flows)
    share = num_flows - whole
    loads, cdf = max_load_cdf(whole, num_links)
    if share == 0:
        return loads, cdf
    more_loads, more_cdf = max_load_cdf(whole + 1, num_links)
    both = np.arange(min(loads[0], more_loads[0]), max(loads[-1], more_loads[-1]) + 1)
    fewer = np.interp(both, loads, cdf, left=0.0, right=1.0)
    more = np.interp(both, more_loads, more_cdf, left=0.0, right=1.0)
    return both, (1 - share) * fewer + share * more


def _expectation(
    values: NDArray[np.float64], cdf: NDArray[np.float64], num_switches: float
) -> float:
    """Return the mean of an increasing function of the largest of *num_switches* loads."""
    of_all = cdf**num_switches
    return float(values[-1] - np.dot(np.diff(values), of_all[:-1]))


@lru_cache(maxsize=8192)
def _law(num_flows: int, num_links: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute :func:`max_load_cdf`.

    Where more than _MAX_POINTS loads matter, the law is computed at _MAX_POINTS of them and
    log(-log F), nearly a straight line, is interpolated between.
    """
    if num_links == 1 or num_flows <= 1:
        return _frozen(np.array([num_flows]), np.ones(1))
    if num_links == 2:
        return _frozen(*_two_links(num_flows))
    loads, mass, first = _poisson_window(num_flows, num_links)
    step = -(-len(loads) // _MAX_POINTS)
    points = loads[::-1][::step][::-1]
    cdf = _cdf_at(points - first, mass, num_flows - num_links * first, num_links)
    cdf *= math.exp(-_log_poisson(num_flows, float(num_flows)))
    cdf = np.maximum.accumulate(np.clip(cdf, 0.0, 1.0))
    cdf[-1] = 1.0
    if step > 1:
        cdf = _between(points, cdf, loads)
    keep = np.searchsorted(cdf, 1e-13)
    return _frozen(loads[max(0, keep - 1) :], cdf[max(0, keep - 1) :])


def _two_links(num_flows: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the law for two links: the fuller carries B or n - B, B binomial."""
    loads = np.arange(-(-num_flows // 2), num_flows + 1)
    steps = np.log((num_flows - loads[:-1]) / (loads[:-1] + 1))
    log_first = math.lgamma(num_flows + 1) - math.lgamma(loads[0] + 1)
    log_first -= math.lgamma(num_flows - loads[0] + 1) + num_flows * math.log(2)
    mass = 2 * np.exp(log_first + np.concatenate(([0.0], np.cumsum(steps))))
    mass[0] /= 1 if num_flows % 2 else 2
    return loads, np.minimum(1.0, np.cumsum(mass))


def _frozen(
    loads: NDArray[np.int64], cdf: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    loads.setflags(write=False)
    cdf.setflags(write=False)
    return loads, cdf


def _between(
    points: NDArray[np.int64], cdf: NDArray[np.float64], loads: NDArray[np.int64]
) -> NDArray[np.float64]:
    bent = np.log(-np.log(np.clip(cdf, 1e-300, 1 - _NEGLIGIBLE)))
    filled = np.exp(-np.exp(np.interp(loads, points, bent)))
    filled[loads < points[0]] = 0.0
    return np.asarray(filled)


def _log_poisson(count: int, mean: float) -> float:
    return count * math.log(mean) - mean - math.lgamma(count + 1)


def _poisson_window(
    num_flows: int, num_links: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Return the loads at which P(max <= k) is neither 0 nor 1, and Poisson masses from *first*."""
    mean = num_flows / num_links
    first = max(0, math.floor(mean - 10 * math.sqrt(mean) - 10))
    last = min(num_flows, math.ceil(mean + 10 * math.sqrt(mean) + 40))
    counts = np.arange(first, last + 1)
    steps = np.log(mean / np.maximum(counts[1:], 1))
    log_mass = _log_poisson(first, mean) + np.concatenate(([0.0], np.cumsum(steps)))
    mass = np.exp(log_mass)
    above = np.concatenate((np.cumsum(mass[::-1])[::-1][1:], [0.0]))
    top = int(np.argmax(num_links * above < _NEGLIGIBLE))
    # P(max <= k) is at most P(X <= k)^m / P(Poisson(n) = n).
    bound = num_links * np.log1p(-np.minimum(above, 1 - _NEGLIGIBLE))
    bound -= _log_poisson(num_flows, float(num_flows))
    low = int(np.argmax((bound > math.log(_NEGLIGIBLE)) & (counts >= mean)))
    return counts[low : top + 1], mass[: top + 1], first


def _cdf_at(
    points: NDArray[np.int64], mass: NDArray[np.float64], total: int, num_links: int
) -> NDArray[np.float64]:
    """Return P(X <= k)^m P(W_k = total) for the indices k = *points* into *mass*."""
    index = np.arange(len(mass))
    below = np.cumsum(mass)[points]
    means = np.cumsum(mass * index)[points] / below
    variances = np.cumsum(mass * index**2)[points] / below - means**2
    offset = float(np.max(np.abs(total - num_links * means)))
    widest = math.sqrt(num_links * float(np.max(variances)))
    num_points = 2 * math.ceil(offset + _TAIL * widest) + 2
    narrowest = math.sqrt(num_links * float(np.min(variances)))
    frequencies = _frequencies(num_points, narrowest, num_links)
    transforms = _transforms(points, mass, 2 * np.pi * frequencies / num_points)
    phases = np.exp(2j * np.pi * frequencies * (total % num_points) / num_points)
    terms = np.real((transforms**num_links) * phases)
    weights = np.where((frequencies == 0) | (2 * frequencies == num_points), 1.0, 2.0)
    return np.asarray(terms @ weights / num_points)


def _frequencies(num_points: int, spread: float, num_links: int) -> NDArray[np.int64]:
    """Return the frequencies at which the characteristic function to the power m is not nil.

    It falls as exp(-(spread * angle)^2 / 2) at first; the side lobes of a law cut off at k, at
    most a few tenths, vanish when raised to the power of 8 or more links, and are followed
    farther out for fewer. Few frequencies are all kept, and then the inversion is exact.
    """
    half = num_points // 2 + 1
    if half > _FEW_FREQUENCIES:
        reach = _TAIL if num_links >= _FEW_LINKS else 10 * _TAIL
        half = min(half, math.ceil(reach / spread * num_points / (2 * math.pi)) + 1)
    return np.arange(half)


def _transforms(
    points: NDArray[np.int64], mass: NDArray[np.float64], angles: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """Return sum over i <= k of mass_i exp(-i angle), a row for each k of *points*."""
    waves = mass[:, None] * np.exp(-1j * np.outer(np.arange(len(mass)), angles))
    edges = np.concatenate(([0], points[:-1] + 1))
    return np.asarray(np.cumsum(np.add.reduceat(waves, edges, axis=0), axis=0))


@lru_cache(maxsize=1)
def _normal_log_cdf() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    grid = np.linspace(-10.0, 10.0, 2001)
    tails = np.array([0.5 * math.erfc(abs(z) / math.sqrt(2)) for z in grid])
    return grid, np.where(grid < 0, np.log(tails), np.log1p(-tails))


@lru_cache(maxsize=8192)
def expected_max_normal(num_ranks: float) -> float:
    """Return the expected largest of *num_ranks* independent standard normals.

    The integral of 1 - F^n over the positive axis less that of F^n over the negative one, by the
    trapezium rule with step 0.01; its error is under 1e-6 for up to 1e9 ranks.
    """
    assert num_ranks >= 1, num_ranks
    grid, log_cdf = _normal_log_cdf()
    largest = np.exp(num_ranks * log_cdf)
    return float(np.trapezoid(0.5 + 0.5 * np.sign(grid) - largest, grid))


def straggler_factor(num_ranks: float, *, relative_sigma: float) -> float:
    """Return the slowest of *num_ranks* over the mean, for normal jitter of *relative_sigma*."""
    return 1 + relative_sigma * expected_max_normal(num_ranks)
