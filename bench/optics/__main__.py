"""``python -m bench.optics [LINK_MONTHS] [SEED]``: false calls of healthy links, lead of others.

Healthy and degrading links are watched for four weeks of history and then month after month, an
outlook every three hours. A link counts as called once it is in an outlook.
"""

from __future__ import annotations

import sys

import numpy as np

from bench.optics.traces import Fleet, fleet
from netloom.ops.optics.outlook import HourlyHistory, PortOutlook, outlooks
from netloom.ops.optics.trend import HOURS

__all__ = ["main", "watched"]

EVERY_H = 3
MONTH_H = 24 * 30
AT_ONCE = 2000


def watched(links: Fleet, *, first_h: int) -> dict[int, tuple[int, PortOutlook]]:
    """Return when each link that is called was first, and what was said then."""
    num_links, num_hours = links.error_rate.shape
    parts = tuple(str(link) for link in range(num_links))
    found: dict[int, tuple[int, PortOutlook]] = {}
    for hour in range(first_h, num_hours + 1, EVERY_H):
        span = slice(max(0, hour - HOURS), hour)
        alive = np.array([n for n in range(num_links) if n not in found and links.drop_h[n] > hour])
        if not len(alive):
            break
        tables = {
            "pre_fec_error_rate": links.error_rate,
            "optic_receive_power_dbm": links.receive_dbm,
            "optic_bias_a": links.bias_a,
            "link_downs": links.downs,
        }
        names = tuple(parts[n] for n in alive.tolist())
        told = {
            metric: HourlyHistory(parts=names, values=table[alive, span])
            for metric, table in tables.items()
        }
        for one in outlooks(told):
            found.setdefault(int(one.part), (hour, one))
    return found


def main(link_months: int = 4000, seed: int = 70000) -> None:
    """Print both figures."""
    rng = np.random.default_rng(seed)
    num_false, num_months, why = 0, 0, []
    while num_months < link_months:
        some = fleet(rng, AT_ONCE, 7 * 24 + MONTH_H, degrading=False)
        calls = watched(some, first_h=7 * 24)
        num_false += len(calls)
        num_months += AT_ONCE
        why += [one.sign for _, one in calls.values()]
    print(f"healthy: {num_false} false calls in {num_months:,} link-months {sorted(why)}")
    ill = fleet(rng, 1000, 24 * 60, degrading=True)
    drops = np.isfinite(ill.drop_h)
    calls = watched(ill, first_h=24)
    early = [n for n in np.flatnonzero(drops).tolist() if n in calls]
    lead_h = np.array([ill.drop_h[n] - calls[n][0] for n in early])
    share = len(early) / drops.sum()
    print(f"degrading: {int(drops.sum())} drop, {share:.1%} called before")
    low, middle, high = np.quantile(lead_h, [0.1, 0.5, 0.9])
    print(f"lead: {low:.0f} h (10 %), {middle:.0f} h (median), {high:.0f} h (90 %)")
    took_h = ill.drop_h - ill.start_h
    for least, most in ((0, 48), (48, 168), (168, 480), (480, 2000)):
        own = np.flatnonzero(drops & (took_h >= least) & (took_h < most))
        got = [n for n in own.tolist() if n in calls]
        if len(own):
            text = f"within {least} to {most} h: {len(got)} of {len(own)} called"
            lead = [(ill.drop_h[n] - calls[n][0]) / took_h[n] for n in got]
            print(f"  {text}, {np.median(lead):.0%} of the time left (median)")
    held = [
        drop.low_s <= 3600 * (ill.drop_h[n] - calls[n][0]) <= drop.high_s
        for n in early
        if (drop := calls[n][1].drop) is not None
    ]
    print(f"interval (80 %) holds for {np.mean(held):.0%} of {len(held)}")


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3]))
