"""From the numbers to a recommendation in words, with its reasons and its doubts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.validated.intervals import network_range
from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.compare.candidate import Candidate

__all__ = ["Recommendation", "cheapest_to_buy", "recommend"]

CLOSE = 0.01  # below one percent two technologies are called equal: the model is no finer


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What to buy, why, and what could make it wrong.

    Attributes:
        technology: The one that trains a token for the least money.
        reasons: Sentences, the deciding one first.
        doubts: Sentences.
        alike: Technologies whose steps cannot be told apart from its own: the intervals of what
            they expose between nodes overlap. All else is common, and so are its errors.
    """

    technology: str
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]
    alike: tuple[str, ...] = ()


def recommend(contenders: Sequence[Candidate], *, further_doubts: Sequence[str]) -> Recommendation:
    """Return the cheapest per token among *contenders*, one at least, that can be bought."""
    best = cheapest_to_buy(contenders)
    return Recommendation(
        technology=best.name,
        reasons=tuple(_reasons(best, contenders)),
        doubts=(*_alike_doubts(best, contenders), *_doubts(best, contenders), *further_doubts),
        alike=tuple(other.name for other in alike(best, contenders)),
    )


def alike(best: Candidate, contenders: Sequence[Candidate]) -> list[Candidate]:
    """Return the others that may expose as much between nodes as *best*, nothing included."""
    low_s, high_s = network_range(best.step.basis)
    ranges = [(other, *network_range(other.step.basis)) for other in contenders]
    return [
        other
        for other, least_s, most_s in ranges
        if other is not best and least_s <= high_s and most_s >= low_s
    ]


def _alike_doubts(best: Candidate, contenders: Sequence[Candidate]) -> list[str]:
    """Say which steps cannot be told apart, and which only seem so."""
    close = alike(best, contenders)
    said = []
    if close and any(network_range(one.step.basis)[1] for one in (best, *close)):
        names = listed([best.name, *(other.name for other in close)])
        ranges = ", ".join(_exposed(one) for one in (best, *close))
        said.append(
            f"{names} cannot be told apart: the intervals of what they expose between nodes "
            f"overlap ({ranges})."
        )
    apart = [one for one in contenders if one is not best and one not in close]
    if any(_overlap(best, one) for one in apart):
        said.append(
            f"{listed([one.name for one in apart])} can be told apart from {best.name}, although "
            "the intervals of whole steps overlap: what computation is off by is common to all."
        )
    return said


def _overlap(one: Candidate, other: Candidate) -> bool:
    here, there = one.step.interval, other.step.interval
    return here is not None and there is not None and here.overlaps(there)


def _exposed(one: Candidate) -> str:
    low_s, high_s = network_range(one.step.basis)
    return f"{low_s:.2g} to {high_s:.2g} s"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def cheapest_to_buy(contenders: Sequence[Candidate]) -> Candidate:
    """Return the cheapest per token of what is shipping; of all where nothing is."""
    buyable = [c for c in contenders if c.technology.status == "shipping"] or list(contenders)
    return min(buyable, key=lambda c: c.usd_per_trillion_tokens)


def _reasons(best: Candidate, contenders: Sequence[Candidate]) -> list[str]:
    reasons = [f"{_headline(best, contenders)}: {_pace(best)}."]
    reasons += [_against(best, other) for other in _rivals(best, contenders)]
    if len(contenders) > 1:
        reasons.append(_deciding_factor(contenders))
    return reasons


def _headline(best: Candidate, contenders: Sequence[Candidate]) -> str:
    cost = f"{best.name} trains a trillion tokens for {_usd(best.usd_per_trillion_tokens)}"
    if len(contenders) == 1:
        return cost
    if best.technology.status == "shipping":
        return f"{cost}, the least of the technologies that can be bought"
    return f"{cost}, the least; none of these is on the market at scale"


def _pace(contender: Candidate) -> str:
    step = contender.step
    return f"a step of {step.duration_s:.2f} s at {step.mfu:.1%} MFU"


def _deciding_factor(contenders: Sequence[Candidate]) -> str:
    """Return which communication separates the technologies most, and by how much."""

    def ends(axis: Axis) -> tuple[Candidate, Candidate]:
        ordered = sorted(contenders, key=lambda c: c.step.exposed_s.get(axis, 0.0))
        return ordered[0], ordered[-1]

    def spread_s(axis: Axis) -> float:
        least, most = ends(axis)
        return most.step.exposed_s.get(axis, 0.0) - least.step.exposed_s.get(axis, 0.0)

    axis = max(Axis, key=spread_s)
    least, most = ends(axis)
    if spread_s(axis) < CLOSE * least.step.duration_s:
        return (
            "Communication hardly separates the technologies here (less than "
            f"{CLOSE:.0%} of a step): price, vendor and operations decide."
        )
    return (
        f"What separates the technologies is mostly {axis.value} communication: a step waits "
        f"{least.step.exposed_s.get(axis, 0.0):.2f} s for it on {least.name}, "
        f"{most.step.exposed_s.get(axis, 0.0):.2f} s on {most.name}."
    )


def _rivals(best: Candidate, contenders: Sequence[Candidate]) -> list[Candidate]:
    """Return the fastest and the cheapest to build, where they are not *best* itself."""
    fastest = min(contenders, key=lambda c: c.step.duration_s)
    cheapest = min(contenders, key=lambda c: c.network_capex_usd)
    return [c for c in contenders if c is not best and (c is fastest or c is cheapest)]


def _against(best: Candidate, other: Candidate) -> str:
    slower = other.step.duration_s / best.step.duration_s - 1
    pace = (
        "as fast"
        if abs(slower) < CLOSE
        else f"{abs(slower):.1%} {'slower' if slower > 0 else 'faster'}"
    )
    price = other.network_capex_usd - best.network_capex_usd
    same = abs(price) < CLOSE * best.network_capex_usd
    money = "the same" if same else f"{_usd(abs(price))} {'more' if price > 0 else 'less'}"
    token = other.usd_per_trillion_tokens / best.usd_per_trillion_tokens - 1
    return f"{other.name} is {pace} and its network costs {money} to build: {token:+.1%} a token."


def _doubts(best: Candidate, contenders: Sequence[Candidate]) -> list[str]:
    doubts = list(best.validity.doubts)
    gaps = {
        other.name: other.usd_per_trillion_tokens / best.usd_per_trillion_tokens - 1
        for other in contenders
        if other is not best
    }
    close = [name for name, gap in gaps.items() if abs(gap) < CLOSE]
    if close:
        doubts.append(
            f"Within {CLOSE:.0%} a token, less than the model can tell apart: {', '.join(close)}. "
            "Choose among them by vendor, operations and delivery."
        )
    doubts += [
        f"{name} would be {-gap:.1%} cheaper a token, but it is not on the market at scale."
        for name, gap in gaps.items()
        if gap <= -CLOSE
    ]
    if best.num_nodes == 1:
        doubts.append("The job fits one node: it uses no network between nodes at all.")
    flip = _price_that_flips(best, contenders)
    return [*doubts, flip] if flip else doubts


def _price_that_flips(best: Candidate, contenders: Sequence[Candidate]) -> str:
    """Return by how much the winner's network may get dearer before another wins."""
    others = [c for c in contenders if c is not best and c.technology.status == "shipping"]
    if not others:
        return ""
    second = min(others, key=lambda c: c.usd_per_trillion_tokens)
    margin = second.usd_per_trillion_tokens - best.usd_per_trillion_tokens
    network = best.network_usd_per_trillion_tokens
    if margin <= 0 or network <= 0:
        return ""
    share = margin / network
    dearer = f"{share:.0%}" if share >= 0.01 else "less than 1%"
    return (
        f"The choice holds until the network of {best.name} costs {dearer} more "
        f"than assumed; then {second.name} is cheaper a token."
    )


def _usd(amount: float) -> str:
    for scale, suffix in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if amount >= scale:
            return f"{amount / scale:.3g}{suffix} USD"
    return f"{amount:.0f} USD"
