"""007: every flow with losses votes for the links of its path.

Arzani et al., Democratically finding the cause of packet drops (NSDI 2018): a flow that
retransmitted gives each of the h links of its path 1/h votes; the link with most votes is
blamed, the votes of flows that cross it are taken back, until the next has less than 1 % of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from netloom.ops.locate.observations import Observations

__all__ = ["blame_by_votes"]

MIN_SHARE: Final = 0.01  # NSDI 2018, section 5


def blame_by_votes(seen: Observations, num_links: int) -> list[int]:
    """Return the links blamed, in the order they were."""
    flow = seen.flow_of_crossing()
    links = seen.paths.links
    hops = np.diff(seen.paths.offsets)
    votes = np.where(seen.lost > 0, 1.0 / np.maximum(hops, 1), 0.0)
    all_votes = votes @ hops
    blamed: list[int] = []
    while all_votes > 0:
        tally = np.bincount(links, weights=votes[flow], minlength=num_links)
        worst = int(tally.argmax())
        if tally[worst] < MIN_SHARE * all_votes:
            break
        blamed.append(worst)
        votes[flow[links == worst]] = 0.0
    return blamed
