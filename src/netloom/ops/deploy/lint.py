"""What must hold of the configuration of any switch: the same rules for every system.

A port is held to what most ports of its system have, and to what RoCE needs of any. What the
files do not show (lengths of cables, what is plugged in where) is not judged here: with a scenario
``deploy check SCENARIO`` does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, TypeVar

from netloom.ops.deploy.rules import Broken

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from netloom.ops.deploy.device import BgpNeighbour, DeviceConfig, PortConfig
    from netloom.ops.deploy.rules import Severity

__all__ = ["MIN_MTU_BYTES", "lint"]

# RDMA's largest path MTU is 4096; with Ethernet, IP, UDP, BTH, RETH and ICRC 4096 + 74.
MIN_MTU_BYTES: Final = 4_170
MAX_DETECTION_MS: Final = 3_000  # beyond it BGP's own hold time of 3 s notices first
MAX_NAMED: Final = 8

_T = TypeVar("_T", bound="Hashable")
Problem = tuple[str, str]  # what is wrong, and what to do


def lint(devices: Sequence[DeviceConfig], *, is_lossless: bool | None = None) -> Iterator[Broken]:
    """Yield what is wrong with switches, port by port.

    Args:
        devices: The switches of one fabric.
        is_lossless: Whether RoCE must be paused; by what most of them do when left out.
    """
    used = [(device, port) for device in devices for port in device.ports.values() if port.uses]
    wanted = _pausing(used) if is_lossless is None or is_lossless else frozenset()
    lossless = bool(wanted) if is_lossless is None else is_lossless
    if used and not wanted and is_lossless is not False:
        yield _nothing_paused(used, severity="error" if is_lossless else "warning")
    for system in dict.fromkeys(device.system for device in devices):
        own = [(device, port) for device, port in used if device.system == system]
        yield from _ports(own, wanted if lossless else frozenset())
    for device in devices:
        yield from _sessions(device, expects_bfd=_expects_bfd(devices))
        yield from _unknown(device)
    yield from _doubles(devices)
    yield from _systems(devices)


def _pausing(used: Iterable[tuple[DeviceConfig, PortConfig]]) -> frozenset[int]:
    """Return the priorities that most of the ports that pause at all pause."""
    counts = Counter(port.pausing for _, port in used if port.pausing)
    return _most(counts, frozenset())


def _most(counts: Counter[_T], default: _T) -> _T:
    """Return what is most frequent; the least of those in a tie, so that files decide nothing."""
    return max(counts, key=lambda one: (counts[one], str(one)), default=default)


def _nothing_paused(
    used: Sequence[tuple[DeviceConfig, PortConfig]], *, severity: Severity
) -> Broken:
    return Broken(
        severity=severity,
        where=used[0][0].where,
        what="no port of any switch pauses a priority: RoCE loses packets when a queue is full",
        remedy="turn priority flow control on for the priority of RoCE on every port",
    )


def _ports(
    used: Sequence[tuple[DeviceConfig, PortConfig]], wanted: frozenset[int]
) -> Iterator[Broken]:
    mtu = _most(Counter(port.mtu_bytes or 0 for _, port in used), 0)
    maps = Counter(tuple(sorted(port.priority_of.items())) for _, port in used if port.pausing)
    rule = dict(_most(maps, ()))
    marks = Counter(
        tuple(sorted((queue, str(one)) for queue, one in port.marks.items()))
        for _, port in used
        if port.marks
    )
    usual = _most(marks, ())
    for device, port in used:
        found = [*_state(port), *_size(port, mtu), *_split(port)]
        if port.is_up and wanted:
            found += [*_pauses(port, wanted), *_classes(port, rule), *_marking(port, usual)]
        for what, remedy in found:
            yield _error(f"{device.where}: {port.name}", what, remedy)


def _state(port: PortConfig) -> Iterator[Problem]:
    shown = [use for use in port.uses if use != "a description"]  # many say "unused"
    if not port.is_up and shown:
        yield f"is switched off, though it has {' and '.join(shown)}", "switch it on"


def _size(port: PortConfig, mtu: int) -> Iterator[Problem]:
    own = port.mtu_bytes
    if own is None or not port.is_up:
        return
    if own < MIN_MTU_BYTES:
        what = f"its MTU is {own}: RDMA packets of 4096 bytes do not fit"
        yield what, f"set at least {MIN_MTU_BYTES}, the same on every port"
    elif own != mtu:
        what = f"its MTU is {own}, that of most ports {mtu}"
        yield what, "give every port the same MTU: larger packets vanish at a smaller one"


def _split(port: PortConfig) -> Iterator[Problem]:
    if port.rate_bps and port.way_rate_bps and port.rate_bps != port.way_rate_bps:
        what = f"its speed is {port.rate_bps / 1e9:g} Gb/s, its breakout gives "
        yield f"{what}{port.way_rate_bps / 1e9:g}", "make speed and breakout agree"


def _pauses(port: PortConfig, wanted: frozenset[int]) -> Iterator[Problem]:
    if not port.pausing:
        what = f"pauses nothing, other ports priorities {sorted(wanted)}"
        yield what, "turn priority flow control on: a port that does not pause loses packets"
        return
    if port.pausing != wanted:
        what = f"pauses priorities {sorted(port.pausing)}, most ports {sorted(wanted)}"
        yield what, "pause the same priorities on every port"
    if not port.is_watched:
        yield "pauses without a watchdog: one stuck NIC stops the fabric", "turn the watchdog on"


def _classes(port: PortConfig, rule: dict[int, int]) -> Iterator[Problem]:
    if not port.pausing:
        return
    mapped = {priority for priority in port.priority_of.values() if priority in port.pausing}
    if missing := sorted(port.pausing - mapped):
        yield f"pauses priorities {missing}, and no DSCP has them", "map RoCE's DSCP to them"
    for dscp in sorted(port.priority_of.keys() | rule.keys()):
        own, usual = port.priority_of.get(dscp, 0), rule.get(dscp, 0)
        if own != usual:
            what = f"DSCP {dscp} has priority {own}, and {usual} on most ports"
            yield what, "map each DSCP to the same priority everywhere"


def _marking(port: PortConfig, usual: Iterable[tuple[int, str]]) -> Iterator[Problem]:
    for priority in sorted(port.pausing):
        queue = port.queue_of.get(priority, priority)
        if queue not in port.marks:
            what = f"queue {queue} is paused and marks nothing: only pauses slow senders down"
            yield what, "turn ECN on for the queue"
            continue
        marks = port.marks[queue]
        if not 0 < marks.least_bytes <= marks.most_bytes or not 0 < marks.mark_pct <= 100:
            what = f"queue {queue} marks from {marks.least_bytes} to {marks.most_bytes} bytes, "
            yield f"{what}{marks.mark_pct} %", "begin below the end, with more than 0 %"
        elif str(marks) != dict(usual).get(queue, str(marks)):
            what = f"queue {queue} marks from {marks.least_bytes} to {marks.most_bytes} bytes, "
            yield f"{what}{marks.mark_pct} %; most ports otherwise", "mark alike everywhere"


def _expects_bfd(devices: Iterable[DeviceConfig]) -> bool:
    return any(one.bfd is not None for device in devices for one in device.neighbours)


def _sessions(device: DeviceConfig, *, expects_bfd: bool) -> Iterator[Broken]:
    for one in device.neighbours:
        where = f"{device.where}: {one.name}"
        if one.bfd is None:
            yield Broken(
                severity="error" if expects_bfd else "warning",
                where=where,
                what="its BGP session has no BFD: a silent neighbour is noticed by hold time alone",
                remedy="turn BFD on for the session, at both ends",
            )
        elif (detection := one.bfd.interval_ms * one.bfd.multiplier) > MAX_DETECTION_MS:
            what = f"BFD notices a silent neighbour after {detection} ms"
            yield _error(where, what, f"lower it below {MAX_DETECTION_MS} ms")
        if one.remote_as is not None and one.remote_as == device.asn:
            what = f"its neighbour's system {one.remote_as} is its own"
            yield _error(where, what, "number systems by tier: RFC 7938, section 5.2")


def _unknown(device: DeviceConfig) -> Iterator[Broken]:
    if not device.unknown:
        return
    some = "; ".join(device.unknown[:MAX_NAMED])
    more = len(device.unknown) - MAX_NAMED
    yield Broken(
        severity="warning",
        where=device.where,
        what=f"{len(device.unknown)} settings are not understood and not judged: {some}"
        + (f"; and {more} more" if more > 0 else ""),
        remedy="look at them yourself; --json lists all",
    )


def _doubles(devices: Sequence[DeviceConfig]) -> Iterator[Broken]:
    """Yield addresses, router IDs and names that two switches have."""
    holders: dict[tuple[str, str], list[str]] = defaultdict(list)
    for device in devices:
        for address in device.every_address:
            holders["address", address.partition("/")[0]].append(device.where)
        for kind, name in (("router ID", device.router_id), ("host name", device.hostname)):
            if name:
                holders[kind, name].append(device.where)
    for (kind, name), places in sorted(holders.items()):
        if len(places) > 1:
            named = ", ".join(dict.fromkeys(places[:MAX_NAMED]))
            what = f"the {kind} {name} is given {len(places)} times: {named}"
            yield _error(places[0], what, "give each its own")


def _systems(devices: Sequence[DeviceConfig]) -> Iterator[Broken]:
    """Yield sessions whose far end is in another autonomous system than they say."""
    owner = {
        address.partition("/")[0]: device for device in devices for address in device.every_address
    }
    for device in devices:
        for one in device.neighbours:
            other = owner.get(one.name)
            if other is not None and _disagree(one, other):
                what = f"expects autonomous system {one.remote_as}, {other.where} has {other.asn}"
                yield _error(f"{device.where}: {one.name}", what, "make both ends agree")


def _disagree(one: BgpNeighbour, other: DeviceConfig) -> bool:
    return None not in (one.remote_as, other.asn) and one.remote_as != other.asn


def _error(where: str, what: str, remedy: str) -> Broken:
    return Broken(severity="error", where=where, what=what, remedy=remedy)
