"""What a benchmark prints: our time, a peer's time on the same job, and the ratio."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def median_s(work: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the median wall time of *work*."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def print_ratio(job: str, *, ours_s: float, peer: str, peer_s: float) -> None:
    """Print one line of ``make bench``."""
    print(
        f"\n{job}: netloom {ours_s * 1e3:.3g} ms, {peer} {peer_s * 1e3:.3g} ms: "
        f"{peer_s / ours_s:.3g} times as fast"
    )
