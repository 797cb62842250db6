"""Which probes to send next: those whose outcome tells most about which part is to blame.

The gain of a probe is the entropy that its outcome takes, on average, from the belief over suspects
(mutual information). Probes are picked one by one, each given what those before would tell.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.graph import VertexKind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.observations import Observations

    Array = NDArray[np.float64]

__all__ = ["Lead", "information", "leads_of", "next_probes"]

MAX_LEADS: Final = 16  # cables that are followed up at once
MAX_JOINT: Final = 8  # probes whose outcomes are weighed together: 2^8 of them
BASE: Final = 1e-6  # chance that a probe's packet is lost with nothing broken
_LEAST: Final = 1e-9  # nats: a probe that tells less tells nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A cable that may be to blame, not yet convicted.

    Attributes:
        chance: That it is.
        rate: What it then loses.
    """

    chance: float
    rate: float


def leads_of(fabric: Fabric, seen: Observations, known: Collection[int] = ()) -> dict[int, Lead]:
    """Return the cables that flows with losses point to, by number.

    A flow that lost packets points to each cable of its path alike (as 007 votes); a cable that
    one flow crosses is not left out. Those that explain losses already are.

    Args:
        fabric: The network as it should be.
        seen: What was seen of it, of many looks.
        known: Cables that were convicted, and flows across which tell nothing new.
    """
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    is_wire = is_switch[fabric.link_source] | is_switch[fabric.link_target]
    flow, cables = seen.flow_of_crossing(), seen.paths.links // 2
    told = np.zeros(len(seen), dtype=bool)
    told[flow[np.isin(cables, np.asarray(tuple(known), dtype=np.int64))]] = True
    points = is_wire[seen.paths.links] & (seen.lost > 0)[flow] & ~told[flow]
    votes = Counter(cables[points].tolist())
    total = sum(votes.values())
    return {
        number: Lead(chance=count / total, rate=_rate(seen, flow[points & (cables == number)]))
        for number, count in votes.most_common(MAX_LEADS)
    }


def _rate(seen: Observations, flows: NDArray[np.int64]) -> float:
    flows = np.unique(flows)
    return float(np.clip(seen.lost[flows].sum() / max(seen.packets[flows].sum(), 1), 1e-6, 0.999))


def information(belief: Array, suffers: Array) -> float:
    """Return how many nats the outcome of one probe takes from *belief* on average.

    Args:
        belief: Chance of each suspect, all together at most 1; the rest is that nothing is broken.
        suffers: Chance that the probe loses anything when that suspect is to blame, and last when
            nothing is.
    """
    joint = np.append(belief, max(0.0, 1 - float(belief.sum())))
    joint = joint / joint.sum()
    return float(_entropy(joint @ suffers) - joint @ _entropy(suffers))


def next_probes(
    belief: Sequence[float],
    crosses: NDArray[np.bool_],
    rates: Sequence[float],
    *,
    count: int,
    packets: int = 20,
) -> tuple[int, ...]:
    """Return the candidates to send, the most telling first; fewer where the others tell nothing.

    Args:
        belief: Chance of each suspect.
        crosses: Whether each candidate (row) crosses each suspect (column).
        rates: What each suspect loses.
        count: How many to pick at most; a candidate may be picked once.
        packets: Of each probe.
    """
    weights = np.append(belief, max(0.0, 1 - float(np.sum(belief))))
    weights = weights / weights.sum()
    lose = 1 - (1 - np.asarray(rates, dtype=float)) ** packets
    none = 1 - (1 - BASE) ** packets
    suffers = np.column_stack([np.where(crosses, lose, none), np.full(len(crosses), none)])
    picked: list[int] = []
    while len(picked) < min(count, len(crosses)):
        more = _batch(weights, suffers, picked, min(MAX_JOINT, count - len(picked)))
        picked += more
        if len(more) < MAX_JOINT:
            break
    return tuple(picked)


def _batch(weights: Array, suffers: Array, taken: Sequence[int], count: int) -> list[int]:
    """Return up to *count* probes, each the best given the outcomes of those before it."""
    picked: list[int] = []
    outcomes = weights[None, :]  # chance of each joint outcome and suspect
    while len(picked) < count:
        gains = _gains(outcomes, suffers)
        gains[[*taken, *picked]] = 0.0
        best = int(gains.argmax())
        if gains[best] < _LEAST:
            break
        picked.append(best)
        outcomes = np.concatenate([outcomes * suffers[best], outcomes * (1 - suffers[best])])
    return picked


def _gains(outcomes: Array, suffers: Array) -> Array:
    """Return what each candidate tells beyond the outcomes so far."""
    chance = outcomes.sum(axis=1)
    given = outcomes / np.maximum(chance, 1e-300)[:, None]
    total = _entropy(given @ suffers.T) - given @ _entropy(suffers).T
    return np.asarray(chance @ total)


def _entropy(share: Array) -> Array:
    """Return the entropy of an outcome with two sides, in nats."""
    share = np.clip(share, 1e-12, 1 - 1e-12)
    return np.asarray(-share * np.log(share) - (1 - share) * np.log1p(-share))
