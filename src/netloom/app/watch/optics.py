"""What a watch makes of the optics it has seen for weeks: once an hour, from its own store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.ops.observe.observation import Observation, whole
from netloom.ops.optics.hourly import hourly
from netloom.ops.optics.outlook import outlooks
from netloom.ops.optics.trend import HOURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.ops.observe.observation import Reading
    from netloom.ops.observe.store import ObservationStore
    from netloom.ops.optics.outlook import PortOutlook

__all__ = ["OpticsOutlook"]

EVERY_S: Final = 3600.0
GAUGES: Final = (
    "pre_fec_error_rate",
    "optic_receive_power_dbm",
    "optic_transmit_power_dbm",
    "optic_bias_a",
    "optic_temperature_c",
)
COUNTERS: Final = ("link_downs", "fec_uncorrectable_codewords")


@dataclass(slots=True, kw_only=True)
class OpticsOutlook:
    """Tells which ports degrade; read after those that tell of optics.

    Attributes:
        store: What was seen.
        found: The ports that degrade, as of the last hour.
    """

    store: ObservationStore
    found: tuple[PortOutlook, ...] = ()
    _hour: int = field(default=-1)

    @property
    def source(self) -> str:
        """Its name."""
        return "optics"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Return what the last whole hours showed; looked through once in each hour.

        Raises:
            OutputError: the store cannot be read.
        """
        hour = int(time_s // EVERY_S)
        if hour != self._hour:
            self.found, self._hour = self._looked(time_s), hour
        return whole(self.source, time_s, list(_told(self.found, time_s)), cursor=cursor)

    def _looked(self, time_s: float) -> tuple[PortOutlook, ...]:
        histories = {
            metric: hourly(self.store, metric, time_s, HOURS, is_counter=metric in COUNTERS)
            for metric in (*GAUGES, *COUNTERS)
        }
        if not any(len(histories[metric].parts) for metric in GAUGES):
            return ()
        return outlooks(histories)


def _told(found: Sequence[PortOutlook], time_s: float) -> Iterator[Observation]:
    for one in found:
        numbers = {
            "degrading": one.confidence,
            "degrading_sign": float(one.sign),
            "optic_margin_db": one.margin_db,
            "optic_margin_slope": one.slope_db_d,
        }
        if one.drop is not None:
            numbers |= {
                "drop_expected_s": one.drop.median_s,
                "drop_earliest_s": one.drop.low_s,
                "drop_latest_s": one.drop.high_s,
                "drop_week_chance": one.drop.week_chance,
            }
        for metric, value in numbers.items():
            if value is not None:
                yield Observation(time_s, one.part, metric, value)
