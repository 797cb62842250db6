"""The bound of one false call in 1,000 link-months, on traces that set no threshold."""

from __future__ import annotations

import numpy as np
import pytest

from bench.optics.__main__ import MONTH_H, watched
from bench.optics.traces import fleet

WEEK_H = 24 * 7
SEED = 20261116  # neither bench.optics' own, which was looked at while thresholds were set


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("count", "most"), [(200, 0), pytest.param(1000, 1, marks=pytest.mark.long)]
)
def test_healthy_links_are_called_at_most_once_in_a_thousand_months(count: int, most: int) -> None:
    links = fleet(np.random.default_rng(SEED), count, WEEK_H + MONTH_H, degrading=False)
    assert len(watched(links, first_h=WEEK_H)) <= most


def test_most_links_that_fade_are_called_before_they_drop() -> None:
    links = fleet(np.random.default_rng(SEED), 60, 24 * 60, degrading=True)
    drops = np.flatnonzero(np.isfinite(links.drop_h))
    called = watched(links, first_h=24)
    early = [link for link in drops.tolist() if link in called]
    # 88 % of 1,000 (docs/operate/optics.md); of 60, three standard errors less.
    assert len(early) / len(drops) > 0.88 - 3 * np.sqrt(0.88 * 0.12 / 60)
