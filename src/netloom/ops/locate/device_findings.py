"""From what devices said of themselves to findings, each as sure as its witnesses make it.

What one trouble explains is not told as another: a switch that does not answer takes its cables
with it, a cable that is down its sessions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from netloom.fabric.part_id import PartId
from netloom.ops.locate import control, counters, degrading, identity, routes, subnet
from netloom.ops.locate.drift import divergent_routes, unwatched, wrong_timers
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import MIN
from netloom.ops.locate.looks.settling import settling_cables, settling_sessions
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, Report, believed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.plant import Cable

__all__ = ["cables_away", "device_findings"]


def device_findings(
    network: DesignedNetwork, heard: TelemetryWindow, planned: Collection[int] = ()
) -> tuple[Finding, ...]:
    """Return what devices say is wrong, the surest first; only what is more likely than not.

    Args:
        network: As designed.
        heard: What they said.
        planned: Numbers of cables that are drained on purpose: no session is missed there.
    """
    ear = ReportAnalysis(network=network, heard=heard)
    confused = identity.shared_guid_devices(heard)
    ear.hidden |= {c.number for name in confused for c in network.by_device.get(name, ())}
    moved, settling = ear.moved, settling_cables(network, heard)
    found = [
        *identity.shared_identities(network, heard),
        *ear.dead_devices(),
        *ear.absent(),
        *_with_cut_off(network, tuple(ear.missing()), ear.down),
        *ear.miswired(),
        *ear.slow(),
        *ear.flapping(),
        *control.sessions_down(network, heard, ear.down, settling, planned),
        *control.silent_daemons(network, heard),
        *subnet.lost_managers(network, heard),
        *subnet.unused_cables(network, heard, ear.is_hidden),
        *subnet.dark_cables(network, heard, ear.is_hidden),
        *control.lost_paths(network, heard, settling),
        *routes.foreign_routes(network, heard),
        *divergent_routes(network, heard),
        *unwatched(network, heard, {*ear.down, *planned, *settling}),
        *wrong_timers(network, heard, {*ear.down, *planned, *settling}),
        *counters.symbol_errors(network, heard, ear.is_away, lambda c: c.number in moved),
        *counters.damaged(network, heard, ear.is_away),
        # A cable that was down trains to come back.
        *counters.retrained(network, heard, lambda c: ear.is_away(c) or c.number in moved),
        *degrading.degrading_links(network, heard, ear.is_away),
    ]
    if not any(one.kind == Trouble.MISWIRED for one in found):  # routes follow cables as they lie
        gone = {*ear.down, *planned, *settling, *control.without_session(network, heard)}
        gone |= settling_sessions(network, heard)  # routes follow them
        found += routes.missing_routes(network, heard, gone, is_settling=bool(settling))
    sure = [one for one in found if one.confidence >= MIN]
    silent = {one.part for one in sure if one.kind == Trouble.SILENT}  # its daemons with it
    sure = [one for one in sure if one.kind != Trouble.DAEMON_SILENT or one.part not in silent]
    dark = {one.part.whole for one in sure if one.kind == FaultKind.BLACK_HOLE}
    sure = [one for one in sure if one.kind != FaultKind.LOSS or one.part.whole not in dark]
    return tuple(sorted(sure, key=lambda one: (-one.confidence, str(one.part), one.kind)))


def _with_cut_off(
    network: DesignedNetwork, missing: tuple[Finding, ...], down: Collection[int]
) -> Iterator[Finding]:
    """Give cables that are missing with the GPUs that they cut off together."""
    cut_off = network.cut_off(down) if len(missing) > 1 else {}
    for one in missing:
        yield replace(one, hurts=one.hurts or cut_off.get(one.part.index, ()))


def cables_away(
    network: DesignedNetwork, heard: TelemetryWindow, planned: Collection[int] = ()
) -> frozenset[int]:
    """Return the cables that carry nothing now, for whatever reason.

    They are down, or are drained: no session over them, or no route though some should be.
    """
    ear = ReportAnalysis(network=network, heard=heard)
    for _ in (*ear.dead_devices(), *ear.absent(), *ear.missing()):
        pass
    gone = {*ear.down, *planned, *control.without_session(network, heard)}
    return frozenset(gone | routes.unused_cables(network, heard, gone))


@dataclass(kw_only=True)
class ReportAnalysis:
    """One window, and what was made of it so far.

    Attributes:
        dead: Devices that were found dead.
        down: Cables that were found down, or that hang on a dead device.
        hidden: Cables that a scan cannot place, because their devices share a GUID.
    """

    network: DesignedNetwork
    heard: TelemetryWindow
    dead: set[str] = field(default_factory=set)
    down: set[int] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)

    def is_away(self, cable: Cable) -> bool:
        """Return whether nothing more is to be said of a cable: it carries nothing."""
        return cable.number in self.down

    def is_hidden(self, cable: Cable) -> bool:
        """Return whether a cable carries nothing, or cannot be placed."""
        return cable.number in self.down or cable.number in self.hidden

    @cached_property
    def beliefs(self) -> dict[int, tuple[float, str]]:
        """How sure it is that a cable is down, and in words why, for all that anyone says it of."""
        heard, network = self.heard, self.network
        numbers = {
            network.at[part].number
            for part, track in heard.of("link_up").items()
            if track.last == 0 and part in network.at
        }
        numbers |= _numbers(heard, "cable_missing")
        for device in self._silent():
            if self._is_host(device):
                numbers |= {cable.number for cable in network.by_device[device]}
        numbers -= subnet.cables_waiting(network, heard)  # there, and a finding of their own
        return {number: self._belief(network.cables[number]) for number in sorted(numbers)}

    def _is_host(self, name: str) -> bool:
        plant = self.network.plant
        return plant.devices[plant.number(name)].role == "host"

    def _silent(self) -> list[str]:
        """Return the devices of the design that a scan has not seen."""
        tracks = self.heard.of("device_silent")
        return [name for name, one in tracks.items() if one.last and name in self.network.by_device]

    def _belief(self, cable: Cable) -> tuple[float, str]:
        heard, ends = self.heard, self.network.ends[cable.number]
        says = [heard.said("link_up", end, _is_zero) for end in ends]
        witnesses = [one for some in says for one in some]
        if not all(says):  # a port that is not told of: what the scan makes of the cable
            part = f"cable:{cable.number}"
            scans = heard.said("cable_missing", part, bool)
            # A host that does not answer may have lost its cable, or be busy: that is worth less.
            lower, _ = self.network.devices_of(cable)
            silent = heard.said("device_silent", lower, bool) if self._is_host(lower) else ()
            witnesses += [*scans, *(replace(s, trust=TRUST[Trouble.SILENT]) for s in silent)]
        text = " and ".join(
            f"{end} is {'down' if some[0].is_so else 'up'} at {looks(some[0].num_looks)}"
            for end, some in zip(ends, says, strict=True)
            if some
        )
        return believed(TRUST[Trouble.MISSING], witnesses), text or "the scan does not see it"

    def dead_devices(self) -> Iterator[Finding]:
        """Give the switches of which nothing is there: no answer, and no cable that is up."""
        network, heard = self.network, self.heard
        surely = {number for number, (sure, _) in self.beliefs.items() if sure >= MIN}
        silent = set(self._silent())
        suspects = {
            name for number in surely for name in network.devices_of(network.cables[number])
        }
        for name in sorted(silent | suspects):
            cables = network.by_device[name]
            if self._is_host(name) or not (name in silent or {c.number for c in cables} <= surely):
                continue
            says = [*heard.said("device_silent", name, bool), *self._neighbours(name)]
            sure = believed(TRUST[Trouble.SILENT], says)
            if sure < MIN:
                continue
            self.dead.add(name)
            self.down |= {cable.number for cable in cables}
            num_down = sum(one.is_so for one in says)
            text = f"{num_down} of {len(says)} witnesses (scans and neighbours) see nothing of it"
            yield network.finding(PartId.parse(name), Trouble.SILENT, text, confidence=sure)

    def _neighbours(self, name: str) -> Iterator[Report]:
        """Give what each neighbour of a device says, by most of its ports to there.

        The ports of one neighbour are no witnesses apart: its answers are stale or not together.
        """
        ports: dict[str, list[Report]] = defaultdict(list)
        for cable in self.network.by_device[name]:
            lower, upper = self.network.devices_of(cable)
            end = self.network.far_end(cable, name)
            ports[upper if lower == name else lower] += self.heard.said("link_up", end, _is_zero)
        for says in ports.values():
            is_so = 2 * sum(one.is_so for one in says) > len(says)
            looks_so = [one.num_looks for one in says if one.is_so is is_so]
            if looks_so:
                yield Report(is_so=is_so, num_looks=min(looks_so))

    def absent(self) -> Iterator[Finding]:
        """Give the cables of which an end is no interface of its device any more."""
        for end, track in sorted(self.heard.of("port_absent").items()):
            cable = self.network.at.get(end)
            if cable is None or not track.last or self.is_away(cable):
                continue
            self.down.add(cable.number)
            (one,) = self.heard.said("port_absent", end, bool)
            sure = believed(TRUST[Trouble.NO_PORT], [one])
            text = f"its device answers and has no interface for {end}, at {looks(one.num_looks)}"
            text += ": renamed, or taken out"
            part = self.network.part(cable)
            yield self.network.finding(part, Trouble.NO_PORT, text, confidence=sure, gain=1.0)

    def missing(self) -> Iterator[Finding]:
        """Give the cables that are down, but for those of dead switches."""
        for number, (sure, text) in self.beliefs.items():
            cable = self.network.cables[number]
            if sure < MIN or self.dead & set(self.network.devices_of(cable)):
                continue
            if number in self.hidden or number in self.down:
                continue
            self.down.add(number)
            part = self.network.part(cable)
            yield self.network.finding(part, Trouble.MISSING, text, confidence=sure)

    def miswired(self) -> Iterator[Finding]:
        """Give the cables that lead elsewhere than they should."""
        for number in sorted(_numbers(self.heard, "cable_misplaced") - self.down - self.hidden):
            (one,) = self.heard.said("cable_misplaced", f"cable:{number}", bool)
            num_ends = int(self.heard.last("cable_misplaced", f"cable:{number}") or 1)
            sure = believed(TRUST[Trouble.MISWIRED], [one] * num_ends)
            if sure >= MIN:
                self.down.add(number)
            text = f"{num_ends} of its ends lead elsewhere at {looks(one.num_looks)}"
            part = self.network.part(self.network.cables[number])
            yield self.network.finding(part, Trouble.MISWIRED, text, confidence=sure)

    def slow(self) -> Iterator[Finding]:
        """Give the cables that do not run at their rate."""
        for number in sorted(_numbers(self.heard, "cable_slowdown") - self.down):
            part, cable = f"cable:{number}", self.network.cables[number]
            (one,) = self.heard.said("cable_slowdown", part, bool)
            factor = self.heard.last("cable_slowdown", part) or 1.0
            sure = believed(TRUST[Trouble.WRONG_SPEED], [one])
            text = f"it runs {factor:.3g} times slower than designed at {looks(one.num_looks)}"
            yield self.network.finding(
                self.network.part(cable),
                Trouble.WRONG_SPEED,
                text,
                confidence=sure,
                magnitude=factor,
                gain=max(0.0, 1 - 1 / factor),
            )

    def flapping(self) -> Iterator[Finding]:
        """Give the cables that went down and came back, several times."""
        for number in sorted({cable.number for _, cable in self._moved()}):
            cable, ends = self.network.cables[number], self.network.ends[number]
            told = [
                (end, other, self._num_downs(end))
                for end, other in (ends, ends[::-1])
                if any(end in self.heard.of(metric) for metric in ("link_up", "link_downs"))
            ]
            counts = [count for *_, count in told]
            if number in self.down or max(counts) < counters.FLAPS:
                continue
            says = [counters.down_report(self.heard, *one) for one in told]
            sure = believed(TRUST[Trouble.FLAPPING], says)
            span_s = self.heard.end_s - self.heard.start_s
            text = f"it went down {max(counts)} times in {span_s:.0f} s and came back"
            part, most = self.network.part(cable), float(max(counts))
            yield self.network.finding(
                part, Trouble.FLAPPING, text, confidence=sure, magnitude=most
            )

    @property
    def moved(self) -> set[int]:
        """The cables that were down at some time in the window."""
        return {cable.number for part, cable in self._moved() if self._num_downs(part)}

    def _moved(self) -> Iterator[tuple[str, Cable]]:
        """Give the ports that went down in the window."""
        parts = {
            part
            for metric in ("link_up", "link_downs")
            for part, track in self.heard.of(metric).items()
            if len(track.values) > 1
        }
        for part in sorted(parts):
            cable = self.network.at.get(part)
            if cable is not None:
                yield part, cable

    def _num_downs(self, part: str) -> int:
        """Return how often a port went down: as it counted, or as it was seen."""
        counted = self.heard.of("link_downs").get(part)
        rises = [rise for *_, rise in counted.rises()] if counted else []
        seen = self.heard.of("link_up").get(part)
        values = [v for v in seen.values if v is not None] if seen else []
        falls = sum(after < before for before, after in pairwise(values))
        return max(falls, int(sum(rise for rise in rises if not math.isnan(rise))))


def _numbers(heard: TelemetryWindow, metric: str) -> set[int]:
    """Return the cables of which a comparison with the design says something now."""
    return {PartId.parse(part).index for part, track in heard.of(metric).items() if track.last}


def _is_zero(value: float) -> bool:
    return value == 0
