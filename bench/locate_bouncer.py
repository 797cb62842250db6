"""NetBouncer: the success rate of every link by regularised least squares.

Tan et al., NetBouncer (NSDI 2019): path success is the product of link successes x; minimise
sum (y - prod x)^2 + lambda sum x (1 - x) by coordinate descent; a link under 1 - threshold is
blamed, and a device when all its links are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from netloom.ops.locate.observations import Observations

__all__ = ["blame_by_regression"]

# Of each path that crosses a link: losses below the threshold's half are then taken for none.
REGULARISATION: Final = 1e-3
ROUNDS: Final = 20
THRESHOLD: Final = 1e-3  # NSDI 2019, section 6: links that lose more are faulty


def blame_by_regression(seen: Observations, num_links: int) -> list[int]:
    """Return the links blamed, the worst first."""
    flow, links = seen.flow_of_crossing(), seen.paths.links
    measured = 1 - seen.lost / np.maximum(seen.packets, 1)
    success = np.ones(num_links)
    crossed = np.bincount(links, minlength=num_links)
    mean = np.bincount(links, weights=measured[flow], minlength=num_links)
    success[crossed > 0] = mean[crossed > 0] / crossed[crossed > 0]
    for _ in range(ROUNDS):
        logs = np.log(np.maximum(success, 1e-12))
        product = np.exp(np.bincount(flow, weights=logs[links], minlength=len(measured)))
        rest = product[flow] / np.maximum(success[links], 1e-12)
        top = np.bincount(links, weights=measured[flow] * rest, minlength=num_links)
        bottom = np.bincount(links, weights=rest * rest, minlength=num_links)
        weight = REGULARISATION / 2 * crossed
        fresh = (top - weight) / np.maximum(bottom - 2 * weight, 1e-12)
        moved = np.where(bottom > 2 * weight, np.clip(fresh, 0.0, 1.0), 1.0)
        success = np.where(crossed > 0, 0.5 * success + 0.5 * moved, 1.0)
    blamed = np.flatnonzero(success < 1 - THRESHOLD)
    return [int(link) for link in blamed[np.argsort(success[blamed])]]
