"""What a comparison with the design says, as numbers by cable and device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.locate.telemetry import CABLING
from netloom.ops.observe.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.observe.compare import DesignComparison
    from netloom.ops.plant import Cable

__all__ = ["cabling_observations"]


def cabling_observations(
    found: DesignComparison, rate_bps: Callable[[Cable], float], time_s: float
) -> Iterator[Observation]:
    """Give one number for each cable or device that is not as designed.

    Args:
        found: The comparison.
        rate_bps: What each cable should run at.
        time_s: When it was seen.
    """
    swapped = {number for group in found.swapped for number in group}
    for name in sorted(found.silent):
        yield Observation(time_s, name, CABLING["silent"], 1.0)
    for one in found.cables:
        part, wanted_bps = f"cable:{one.cable.number}", rate_bps(one.cable)
        if one.place == "missing" and not found.hidden(one):
            yield Observation(time_s, part, CABLING["missing"], 1.0)
        elif one.place == "elsewhere" and not found.hidden(one):
            num_ends = 2.0 if one.cable.number in swapped else 1.0
            yield Observation(time_s, part, CABLING["misplaced"], num_ends)
        elif one.is_slow(wanted_bps) and one.rate_bps:
            factor = wanted_bps / one.rate_bps
            yield Observation(time_s, part, CABLING["wrong-speed"], factor)
