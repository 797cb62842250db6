"""Why a measured curve lies below the expected one: the cause whose own curve fits it best.

Each cause says how fast every size would be (:mod:`netloom.study.expect.signatures`). How
likely the measured curve is under a cause follows from how far the engine's predictions were off
where they were validated: ln(measured / predicted) is normal. Within a size band the engine's
errors go together, so a band counts once, however many sizes were measured in it. The ways in
which one cause may show share its weight. A cause that is not known would slow each band by
anything up to 20 times, and wins where nothing fits better than that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from netloom.study.expect.signatures import SIGNATURES
from netloom.validated.collectives import collective_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.load import Catalog
    from netloom.study.expect.curve import ExpectedPoint, TestRun
    from netloom.study.expect.facts import SetupFacts
    from netloom.study.expect.signature import CauseVariant, LogEvidence, Signature

__all__ = ["DESIGNED", "UNKNOWN", "Diagnosis", "MeasuredPoint", "SlowCause", "diagnose"]

DESIGNED: Final = "as-designed"
UNKNOWN: Final = "unknown"
# One row in twenty is below the interval by chance.
_BELOW_SHARE: Final = 0.2
_LEAST_SURE: Final = 0.05  # of a cluster that is as designed: more likely than that is no cause
_NAMED: Final = 0.5  # a cause is named where it is likelier than all others together
_PRIOR_DESIGNED: Final = 0.5
_MAX_FASTER: Final = 2.0
_MAX_SLOWER: Final = 20.0
_TINY: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """What was measured at one size; *dip* where a larger message took less time."""

    size_bytes: float
    time_s: float
    bus_gbps: float
    dip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowCause:
    """A cause, and how likely it is.

    Attributes:
        name: Of the signature; ``as-designed`` and ``unknown`` are none.
        how: Which of its variants fits best.
        probability: Given the curve and the log, of all causes together 1.
        error_pct: How far the curve of the best variant is from the measured one, in the median.
        says: What the log says of it; empty where it says nothing.
        predicted_gbps: Bus bandwidth of the best variant at each measured size; empty of unknown.
    """

    name: str
    title: str
    how: str
    remedy: str
    probability: float
    error_pct: float | None
    says: str
    predicted_gbps: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is wrong with a measured curve.

    Attributes:
        below: Sizes at which less was measured than the interval holds.
        verdict: ``as expected``; ``cause``; ``cause unclear`` where several fit about as well; or
            ``cause unknown`` where none does.
        causes: All that were weighed, the likeliest first; empty where nothing is wrong.
        ratio_designed: How many times likelier than the network as designed the cause makes the
            curve; None without a cause.
        ratio_next: And than the next likely cause.
        worth_bytes: The size at which the most is lost, of those of 1 MiB and more where there are
            any.
        worth_gbps: What is expected there.
        measured_gbps: And what was measured.
    """

    below: tuple[float, ...]
    verdict: str
    causes: tuple[SlowCause, ...] = ()
    ratio_designed: float | None = None
    ratio_next: float | None = None
    worth_bytes: float | None = None
    worth_gbps: float | None = None
    measured_gbps: float | None = None

    @property
    def named(self) -> SlowCause | None:
        """The cause, where there is one."""
        return self.causes[0] if self.verdict == "cause" else None


def diagnose(
    run: TestRun,
    expected: Sequence[ExpectedPoint],
    measured: Sequence[MeasuredPoint],
    *,
    catalog: Catalog,
    facts: SetupFacts | None = None,
) -> Diagnosis:
    """Return why *measured* is below *expected*.

    Args:
        run: The run as it was designed.
        expected: What it should show, at the sizes of *measured*.
        measured: What it shows.
        catalog: Where the parts of other networks are from.
        facts: What the library's log says; it overrides what the curve says.
    """
    pairs = [(want, got) for want, got in zip(expected, measured, strict=True) if not got.dip]
    below = tuple(got.size_bytes for want, got in pairs if got.bus_gbps < want.low_gbps)
    if len(below) <= _BELOW_SHARE * len(pairs):
        return Diagnosis(below=below, verdict="as expected")
    causes = _weighed(run, expected, measured, catalog, facts)
    return _judged(below, causes, pairs)


def _judged(
    below: tuple[float, ...],
    causes: tuple[SlowCause, ...],
    pairs: Sequence[tuple[ExpectedPoint, MeasuredPoint]],
) -> Diagnosis:
    designed = next(one for one in causes if one.name == DESIGNED)
    first = causes[0]
    if designed.probability > _LEAST_SURE and not first.says:
        return Diagnosis(below=below, verdict="as expected")
    others = tuple(one for one in causes if one is not designed)
    verdict = _verdict(others[0])
    is_known = verdict == "cause"
    want, got = _worst(pairs)
    return Diagnosis(
        below=below,
        verdict=verdict,
        causes=others,
        ratio_designed=_ratio(others[0], designed, _prior(len(causes))) if is_known else None,
        ratio_next=_ratio(others[0], others[1], 1.0) if is_known and len(others) > 1 else None,
        worth_bytes=got.size_bytes,
        worth_gbps=want.bus_gbps,
        measured_gbps=got.bus_gbps,
    )


def _verdict(first: SlowCause) -> str:
    if first.name == UNKNOWN:
        return "cause unknown"
    return "cause" if first.says or first.probability >= _NAMED else "cause unclear"


def _prior(num_causes: int) -> float:
    """Return how much likelier the designed network is before anything is measured."""
    return _PRIOR_DESIGNED / ((1 - _PRIOR_DESIGNED) / max(1, num_causes - 1))


def _ratio(one: SlowCause, other: SlowCause, prior: float) -> float:
    return one.probability / max(other.probability, _TINY) * prior


def _worst(
    pairs: Sequence[tuple[ExpectedPoint, MeasuredPoint]],
) -> tuple[ExpectedPoint, MeasuredPoint]:
    large = [pair for pair in pairs if pair[0].size_bytes >= 2.0**20]
    return max(large or pairs, key=lambda pair: pair[0].bus_gbps - pair[1].bus_gbps)


def _weighed(
    run: TestRun,
    expected: Sequence[ExpectedPoint],
    measured: Sequence[MeasuredPoint],
    catalog: Catalog,
    facts: SetupFacts | None,
) -> tuple[SlowCause, ...]:
    """Return all causes that can be, the likeliest first; what the log states comes before all."""
    weights: list[tuple[SlowCause, float]] = []
    curve = _Curve.of(expected, measured)
    for one in SIGNATURES:
        told = None if facts is None else one.evidence(facts, run)
        found = None if told and not told.holds else _tried(one, run, curve, catalog, told)
        if found is not None:
            weights.append(found)
    stated = [cause for cause, _ in weights if cause.says]
    each = (1 - _PRIOR_DESIGNED) / (len(weights) + 1)
    log_weights = {cause.name: weight + math.log(each) for cause, weight in weights}
    designed = tuple(one.bus_gbps for one in expected)
    log_weights[DESIGNED] = curve.log_density(designed, 0.0) + math.log(_PRIOR_DESIGNED)
    log_weights[UNKNOWN] = curve.log_unknown() + math.log(each)
    known = [cause for cause, _ in weights]
    known.append(_plain(DESIGNED, "as designed", curve.error_pct(designed), designed))
    known.append(_plain(UNKNOWN, "cause unknown", None, ()))
    if stated:
        kept = {cause.name for cause in stated}
        log_weights = {
            name: weight if name in kept else weight - 1e6 for name, weight in log_weights.items()
        }
    return _normalised(known, log_weights)


def _normalised(
    causes: Sequence[SlowCause], log_weights: dict[str, float]
) -> tuple[SlowCause, ...]:
    most = max(log_weights.values())
    shares = {name: math.exp(max(-700.0, weight - most)) for name, weight in log_weights.items()}
    total = sum(shares.values())
    given = [replace(one, probability=shares[one.name] / total) for one in causes]
    return tuple(sorted(given, key=lambda one: -log_weights[one.name]))


def _plain(
    name: str, title: str, error_pct: float | None, predicted: tuple[float, ...]
) -> SlowCause:
    return SlowCause(
        name=name,
        title=title,
        how="",
        remedy="",
        probability=0.0,
        error_pct=error_pct,
        says="",
        predicted_gbps=predicted,
    )


def _tried(
    signature: Signature,
    run: TestRun,
    curve: _Curve,
    catalog: Catalog,
    told: LogEvidence | None,
) -> tuple[SlowCause, float] | None:
    """Return the cause with the logarithm of how likely it makes the curve; None if it cannot be.

    Its variants share one weight: the density is their mean.
    """
    variants = signature.variants(run, catalog)
    if not variants:
        return None
    tried = [_fitted(one, curve, signature.doubt) for one in variants]
    best, predicted, most = max(tried, key=lambda one: one[2])
    mean = most + math.log(fmean(math.exp(max(-700.0, one[2] - most)) for one in tried))
    cause = SlowCause(
        name=signature.name,
        title=signature.title,
        how=best.name,
        remedy=signature.remedy,
        probability=0.0,
        error_pct=curve.error_pct(predicted),
        says=told.says if told and told.holds else "",
        predicted_gbps=predicted,
    )
    return cause, mean


def _fitted(
    variant: CauseVariant, curve: _Curve, doubt: float
) -> tuple[CauseVariant, tuple[float, ...], float]:
    predicted = variant.bus_gbps(curve.sizes)
    return variant, predicted, curve.log_density(predicted, doubt)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A measured curve, with how far each size may be off, and the size bands."""

    sizes: tuple[float, ...]
    measured_gbps: tuple[float, ...]
    spreads: tuple[float, ...]
    bands: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, expected: Sequence[ExpectedPoint], measured: Sequence[MeasuredPoint]) -> _Curve:
        edges = sorted({one.min_bytes for one in collective_groups()})
        bands: defaultdict[int, list[int]] = defaultdict(list)
        for index, got in enumerate(measured):
            if not got.dip:
                bands[sum(edge <= got.size_bytes for edge in edges)].append(index)
        return cls(
            tuple(got.size_bytes for got in measured),
            tuple(got.bus_gbps for got in measured),
            tuple(want.spread for want in expected),
            tuple(tuple(band) for _, band in sorted(bands.items())),
        )

    def log_density(self, predicted: Sequence[float], doubt: float) -> float:
        """Return the logarithm of the density of the curve where *predicted* is the truth."""

        def of_size(index: int) -> float:
            deviation = math.hypot(self.spreads[index], doubt)
            off = math.log(self.measured_gbps[index] / predicted[index]) / deviation
            return -off * off / 2 - math.log(deviation * math.sqrt(2 * math.pi))

        return sum(fmean(of_size(index) for index in band) for band in self.bands)

    def log_unknown(self) -> float:
        """Return it where each band may be anything from 2 times faster to 20 times slower."""
        return -len(self.bands) * math.log(math.log(_MAX_FASTER * _MAX_SLOWER))

    def error_pct(self, predicted: Sequence[float]) -> float:
        """Return how far *predicted* is off, without sign, in the median."""
        pairs = zip(predicted, self.measured_gbps, strict=True)
        return 100 * median(abs(math.expm1(math.log(one / got))) for one, got in pairs)
