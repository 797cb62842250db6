"""What the devices of a network said in a window of time, part by part, from a store."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.ops.locate.testimony import Report
from netloom.ops.observe.tracks import Track, looks_of, tracks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from netloom.ops.observe.observation import Observation, Reading
    from netloom.ops.observe.store import ObservationStore

__all__ = ["CABLING", "TelemetryWindow", "read_window", "window_of"]

# What a comparison with the design writes into the store: one number for each cable or device
# that is not as it should be.
CABLING: Final = {
    "missing": "cable_missing",
    "misplaced": "cable_misplaced",  # how many of its ends say so
    "wrong-speed": "cable_slowdown",  # times slower
    "silent": "device_silent",
}
METRICS: Final = (
    *("link_up", "link_downs", "bgp_up", "bgp_shut", "bfd_up", "bfd_hears", "sm_master"),
    *("rib_ways", "fib_ways", "routes_over", "route_ways", "route_refused", "bgp_policy"),
    "bgp_prefixes",
    *("route_foreign", "guid_shared", "lid_shared", "address_shared", "address_missing"),
    *("symbol_errors", "receive_errors", "received_packets", "link_recoveries"),
    *("integrity_errors", "daemon_silent", "bfd_missing", "bgp_hold_s", "bfd_detection_s"),
    *CABLING.values(),
    *("mtu_bytes", "fec_mode", "pfc_priorities", "rdma_priority", "ecn_on", "admin_up"),
    *("divergent_routes", "port_waits", "port_dark", "port_absent", "manager_down"),
    *("degrading", "degrading_sign", "optic_margin_db", "optic_margin_slope"),
    *("drop_expected_s", "drop_earliest_s", "drop_latest_s", "drop_week_chance"),
)


# What ports tell of their load: of the last minute, since flows are of the last look.
LOAD_METRICS: Final = (
    *("sent_bytes", "sent_packets", "ecn_marked_packets", "queue_drops", "send_discards"),
    "buffer_overruns",
    *("queue_peak_bytes", "queue_depth_bytes", "pause_frames_received"),
)
LOAD_S: Final = 60.0
# By how much these rose is enough to know.
ALWAYS_CHANGING: Final = frozenset({"received_packets", *LOAD_METRICS})


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryWindow:
    """All that was said from one time to another.

    Attributes:
        start_s: From when.
        end_s: Until when.
        looks: When each source was looked at with success.
        tracks: By metric, then part.
    """

    start_s: float
    end_s: float
    looks: Mapping[str, Sequence[float]] = field(default_factory=dict)
    tracks: Mapping[str, Mapping[str, Track]] = field(default_factory=dict)

    def of(self, metric: str) -> Mapping[str, Track]:
        """Return the tracks of a metric by part; none where no source told it."""
        return self.tracks.get(metric, {})

    def last(self, metric: str, part: str) -> float | None:
        """Return what was last said of a part; None when it is told no more."""
        track = self.of(metric).get(part)
        return None if track is None else track.last

    def said(self, metric: str, part: str, is_so: Callable[[float], bool]) -> tuple[Report, ...]:
        """Return what one witness says, whether its last value *is_so*; nothing without one."""
        track = self.of(metric).get(part)
        if track is None or track.last is None:
            return ()
        return (Report(is_so=is_so(track.last), num_looks=track.num_looks(self.looks)),)

    def num_looks(self, track: Track) -> int:
        """Return how often the source of a track was looked at."""
        return len(self.looks.get(track.source, ()))


def window_of(readings: Iterable[Reading]) -> TelemetryWindow:
    """Return what some readings said, without a store: those of one look, or of a few in a row.

    Args:
        readings: Oldest first; each tells all that its source knows.
    """
    looks: dict[str, list[float]] = defaultdict(list)
    said: dict[tuple[str, str, str], list[Observation]] = defaultdict(list)
    for reading in readings:
        looks[reading.source].append(reading.time_s)
        for one in reading.observations:
            said[one.metric, one.part, reading.source].append(one)
    tracks: dict[str, dict[str, Track]] = defaultdict(dict)
    for (metric, part, source), some in said.items():
        values: list[float | None] = [one.value for one in some]
        times_s = [one.time_s for one in some]
        if times_s[-1] < looks[source][-1]:  # told no more
            values.append(None)
            times_s.append(looks[source][-1])
        tracks[metric][part] = Track(source=source, times_s=tuple(times_s), values=tuple(values))
    times_s = [time_s for some in looks.values() for time_s in some]
    return TelemetryWindow(
        start_s=min(times_s, default=0.0),
        end_s=max(times_s, default=0.0),
        looks=looks,
        tracks=tracks,
    )


def read_window(store: ObservationStore, start_s: float, end_s: float) -> TelemetryWindow:
    """Return what was said from *start_s* to *end_s*.

    Raises:
        OutputError: the store cannot be read.
    """
    return TelemetryWindow(
        start_s=start_s,
        end_s=end_s,
        looks=looks_of(store, start_s, end_s),
        tracks={
            metric: tracks_of(store, metric, since_s, end_s, only_ends=metric in ALWAYS_CHANGING)
            for metrics, since_s in (
                (METRICS, start_s),
                (LOAD_METRICS, max(start_s, end_s - LOAD_S)),
            )
            for metric in metrics
        },
    )
