"""What ports are set to against what the design would set: MTU, FEC, PFC, DSCP, ECN, shut ports.

The intent is what ``netloom deploy render`` writes. Where nearly all ports agree on another value
that works as well (another large MTU, another priority), that is what people meant, and the rest
differ from it. Ports that say nothing are not judged; one cause on many ports is one finding.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.fabric.part_id import CABLE, PartId
from netloom.fabric.wire.lossless_ethernet import MTU_BYTES, ROCE_PRIORITY
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, Report, believed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.parts.parts import Technology

__all__ = [
    "divergent_routes",
    "drifts",
    "unwatched",
    "with_wrong_sizes",
    "without_expected",
    "wrong_timers",
]

# RDMA's path MTU of 4096 with headers of Ethernet, IPv6, UDP, BTH, RETH and the checksums fits.
LEAST_MTU_BYTES: Final = 4200
RS_LEAST_BPS: Final = 200e9  # lanes of four levels need Reed-Solomon: IEEE 802.3bs (recalled)
REED_SOLOMON: Final = 2.0
MEANT: Final = 0.9  # share of ports that agree on what people meant
MANY_DEVICES: Final = 3  # with the same drift: one cause, such as a template
MOST_NAMED: Final = 4
_FEC_NAMES: Final = {0.0: "none", 1.0: "Fire code", 2.0: "Reed-Solomon"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """One setting of ports.

    Attributes:
        metric: What tells it.
        kind: What a port that differs is.
        wanted: What the design sets.
        works: Whether another value would do as well, if all ports had it.
        words: A value in words.
    """

    metric: str
    kind: Trouble
    wanted: float
    works: Callable[[float], bool]
    words: Callable[[float], str]


def _priorities(mask: float) -> str:
    found = [str(one) for one in range(8) if int(mask) >> one & 1] if 0 <= mask < 256 else ["?"]
    return f"priority {' and '.join(found)}" if found else "no priority"


def _is_one_priority(mask: float) -> bool:
    return mask in {float(1 << one) for one in range(8)}


def _rules(technology: Technology) -> tuple[_Rule, ...]:
    if technology.protocol == "infiniband":
        return ()
    mtu = _Rule(
        metric="mtu_bytes",
        kind=Trouble.WRONG_MTU,
        wanted=float(MTU_BYTES),
        works=lambda value: value >= LEAST_MTU_BYTES,
        words=lambda value: f"an MTU of {value:.0f}",
    )
    fec = _Rule(
        metric="fec_mode",
        kind=Trouble.WRONG_FEC,
        wanted=REED_SOLOMON,
        works=lambda _: False,
        words=lambda value: f"FEC {_FEC_NAMES.get(value, 'unknown')}",
    )
    if technology.flow_control != "pfc":
        return (mtu, fec)
    pfc = _Rule(
        metric="pfc_priorities",
        kind=Trouble.WRONG_PFC,
        wanted=float(1 << ROCE_PRIORITY),
        works=_is_one_priority,
        words=lambda value: f"pauses on {_priorities(value)}",
    )
    dscp = _Rule(
        metric="rdma_priority",
        kind=Trouble.WRONG_DSCP,
        wanted=float(ROCE_PRIORITY),
        works=lambda value: value > 0,
        words=lambda value: f"RDMA's code point on priority {value:.0f}",
    )
    return (mtu, fec, pfc, dscp)


def drifts(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    technology: Technology,
    planned: Collection[int] = (),
) -> Iterator[Finding]:
    """Give the devices with ports that are not set as the design would.

    Args:
        network: As designed.
        heard: What ports said.
        technology: Says what is set at all.
        planned: Numbers of cables that are drained on purpose: their ports may be shut.
    """
    for rule in _rules(technology):
        told = _told(network, heard, rule)
        yield from _found(network, heard, rule, told)
    if technology.flow_control == "pfc":
        yield from _unmarked(network, heard)
    yield from _shut(network, heard, planned)


def _told(network: DesignedNetwork, heard: TelemetryWindow, rule: _Rule) -> dict[str, float]:
    """Return what the ports of switches that the design uses say now."""
    found = {}
    for part, track in heard.of(rule.metric).items():
        cable = network.at.get(part)
        if cable is None or track.last is None or _is_host(network, part):
            continue
        if rule.metric == "fec_mode" and cable.rate_bps < RS_LEAST_BPS:
            continue
        found[part] = track.last
    return found


def _is_host(network: DesignedNetwork, part: str) -> bool:
    plant = network.plant
    return plant.devices[plant.number(_device(part))].role == "host"


def _device(part: str) -> str:
    return part.partition("[")[0]


def _found(
    network: DesignedNetwork, heard: TelemetryWindow, rule: _Rule, told: Mapping[str, float]
) -> Iterator[Finding]:
    if not told:
        return
    counts = Counter(told.values())
    most = max(counts, key=lambda value: (counts[value], value == rule.wanted))
    few = max(1.0, (1 - MEANT) * len(told))  # in a small network one port is more than a tenth
    is_meant = len(told) - counts[most] <= few and rule.works(most)
    meant = most if is_meant else rule.wanted
    wrong: dict[float, list[str]] = defaultdict(list)
    for part, value in told.items():
        if value != meant:
            wrong[value].append(part)
    for value, parts in sorted(wrong.items()):
        text = f"{rule.words(value)} instead of {rule.words(meant)}"
        yield from _by_cause(network, heard, rule.metric, rule.kind, parts, text)


def _by_cause(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    metric: str,
    kind: Trouble,
    parts: Sequence[str],
    text: str,
) -> Iterator[Finding]:
    """Give one finding for each device, or one in all where many have the same."""
    devices: dict[str, list[str]] = defaultdict(list)
    for part in sorted(parts, key=_order):
        devices[_device(part)].append(part)
    groups = list(devices.items())
    if len(devices) >= MANY_DEVICES:
        groups = [(next(iter(devices)), [one for some in devices.values() for one in some])]
    for name, some in groups:
        count = min(heard.of(metric)[part].num_looks(heard.looks) for part in some)
        report = Report(is_so=True, num_looks=max(1, count))
        named = ", ".join(some[:MOST_NAMED])
        more = f" and {len(some) - MOST_NAMED} more" if len(some) > MOST_NAMED else ""
        where = f" of {len(devices)} devices" if len(groups) < len(devices) else ""
        ports = f"{len(some)} port{'s' if len(some) > 1 else ''}{where} ({named}{more})"
        found = network.finding(
            PartId.parse(name),
            kind,
            f"{ports}: {text}, at {looks(max(1, count))}",
            confidence=believed(TRUST[kind], [report]),
            magnitude=float(len(some)),
        )
        hurts = {gpu for part in some for gpu in network.gpus.get(_device(part), ())}
        yield replace(found, hurts=tuple(sorted(hurts)))


def _order(part: str) -> tuple[str, int, int]:
    """Order ports by kind and number of their device, then by their own number."""
    device, _, port = part.partition("[")
    kind, _, number = device.partition(":")
    own = port.partition("]")[0]
    return kind, int(number) if number.isdigit() else 0, int(own) if own.isdigit() else 0


def _unmarked(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the devices whose queue of RDMA does not mark."""
    bad, places = [], {}
    for part, track in heard.of("ecn_on").items():
        port, _, queue = part.partition("/")
        if port in network.at and queue == f"queue:{_rdma_queue(heard, port)}":
            places[port] = part
            if track.last == 0:
                bad.append(part)
    text = "the queue of RDMA marks no packets"
    yield from _by_cause(network, heard, "ecn_on", Trouble.NO_ECN, bad, text)


def _rdma_queue(heard: TelemetryWindow, port: str) -> int:
    """Return the queue that RDMA uses: by the port's own map where it tells it."""
    told = heard.last("rdma_priority", port)
    return ROCE_PRIORITY if told is None else int(told)


def _shut(
    network: DesignedNetwork, heard: TelemetryWindow, planned: Collection[int]
) -> Iterator[Finding]:
    """Give the cables of which a port was shut by configuration, but for planned drains."""
    by_device: dict[str, list[str]] = defaultdict(list)
    for part, track in heard.of("admin_up").items():
        cable = network.at.get(part)
        if cable is not None and track.last == 0 and cable.number not in planned:
            by_device[_device(part)].append(part)
    for parts in by_device.values():
        if len(parts) > 1:
            text = "shut by configuration, and the design uses them"
            yield from _by_cause(network, heard, "admin_up", Trouble.SHUT, parts, text)
            continue
        (part,) = parts
        (report,) = heard.said("admin_up", part, lambda value: value == 0)
        text = f"{part} is shut by configuration, at {looks(report.num_looks)}"
        sure = believed(TRUST[Trouble.SHUT], [report])
        yield network.finding(network.part(network.at[part]), Trouble.SHUT, text, confidence=sure)


def unwatched(
    network: DesignedNetwork, heard: TelemetryWindow, apart: Collection[int]
) -> Iterator[Finding]:
    """Give the cables whose end has no BFD session beside its BGP session, by its own word.

    Several at one device are one finding there.

    Args:
        network: As designed: with BFD between all switches.
        heard: What switches said.
        apart: Cables that are down, drained or came back a moment ago.
    """
    by_device: dict[str, list[str]] = defaultdict(list)
    for part, track in sorted(heard.of("bfd_missing").items()):
        cable = network.at.get(part)
        if cable is not None and track.last and cable.number not in apart:
            by_device[_device(part)].append(part)
    why = "no BFD session although the design has one"
    for parts in by_device.values():
        if len(parts) > 1:
            yield from _by_cause(network, heard, "bfd_missing", Trouble.NO_BFD, parts, why)
            continue
        (part,) = parts
        (report,) = heard.said("bfd_missing", part, bool)
        text = f"{part} has {why}, at {looks(report.num_looks)}: BGP's timers alone notice failures"
        sure = believed(TRUST[Trouble.NO_BFD], [report])
        yield network.finding(network.part(network.at[part]), Trouble.NO_BFD, text, confidence=sure)


# What a device tells of where it is not as designed, and in words.
_TIMERS: Final = {
    "bfd_detection_s": "by their settings BFD notices a failure after {:g} s, not as designed",
    "bgp_hold_s": "BGP waits {:g} s for its neighbour, not as designed",
}


def wrong_timers(
    network: DesignedNetwork, heard: TelemetryWindow, apart: Collection[int]
) -> Iterator[Finding]:
    """Give the switches that are set to notice failures sooner or later than designed.

    Args:
        network: As designed.
        heard: What switches said.
        apart: Cables that are down, drained or came back a moment ago.
    """
    for metric, text in _TIMERS.items():
        by_device: dict[str, list[str]] = defaultdict(list)
        for part, track in sorted(heard.of(metric).items()):
            cable = network.at.get(part)
            if cable is not None and track.last is not None and cable.number not in apart:
                by_device[_device(part)].append(part)
        for parts in by_device.values():
            most_s = max(heard.last(metric, part) or 0.0 for part in parts)
            why = text.format(most_s)
            yield from _by_cause(network, heard, metric, Trouble.WRONG_TIMERS, parts, why)


def with_wrong_sizes(
    network: DesignedNetwork, heard: TelemetryWindow, found: Iterable[Finding]
) -> tuple[Finding, ...]:
    """Return findings with one for each cable that loses large packets by the MTU of an end.

    A device that has the wrong MTU at that port alone is no second finding.
    """
    some = tuple(found)
    small = {
        one.part: sizes
        for one in some
        if one.kind == FaultKind.LARGE_LOSS and (sizes := _too_small(network, heard, one.part))
    }
    ports = {port for sizes in small.values() for port in sizes}
    told = [one for one in some if not _is_at_one(one, ports)]
    return tuple(_with_sizes(one, small.get(one.part, {})) for one in told)


def _with_sizes(one: Finding, sizes: Mapping[str, float]) -> Finding:
    if one.kind != FaultKind.LARGE_LOSS or not sizes:
        return one
    text = " and ".join(f"{port} has an MTU of {size:.0f}" for port, size in sizes.items())
    return replace(one, kind=Trouble.WRONG_MTU.value, evidence=(text, *one.evidence))


def _too_small(network: DesignedNetwork, heard: TelemetryWindow, part: PartId) -> dict[str, float]:
    """Return the MTU of both ends of a cable, or of a NIC's, where one is too small for RDMA."""
    if part.kind == CABLE:
        cables = [network.cables[part.index]]
    else:
        cables = network.by_device.get(str(part.whole), [])
    if len(cables) != 1:
        return {}
    ends = network.ends[cables[0].number]
    told = {end: size for end in ends if (size := heard.last("mtu_bytes", end)) is not None}
    is_small = len(told) == len(ends) and min(told.values()) < LEAST_MTU_BYTES
    return told if is_small else {}


def _is_at_one(one: Finding, ports: Collection[str]) -> bool:
    """Return whether a device has the wrong MTU at one of some ports and nowhere else."""
    alone = one.kind == Trouble.WRONG_MTU and one.part.kind != CABLE and one.magnitude == 1
    return alone and any(f"({port})" in one.evidence[0] for port in ports)


def divergent_routes(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the switches whose kernel has as many ways as their daemon believes in, but others."""
    for name, track in sorted(heard.of("divergent_routes").items()):
        part = network.part_called(name)
        rib, fib = (heard.last(metric, name) for metric in ("rib_ways", "fib_ways"))
        if part is None or not track.last or (rib is not None and fib is not None and fib < rib):
            continue
        (report,) = heard.said("divergent_routes", name, bool)
        text = (
            f"{track.last:.0f} routes have other next hops in the kernel than in routing, "
            f"at {looks(report.num_looks)}"
        )
        sure = believed(TRUST[Trouble.DIVERGENT], [report])
        yield network.finding(part, Trouble.DIVERGENT, text, confidence=sure, magnitude=track.last)


def without_expected(
    network: DesignedNetwork, found: Iterable[Finding], planned: Collection[int]
) -> tuple[Finding, ...]:
    """Return findings but for what planned drains and shut ports explain.

    Args:
        network: As designed.
        found: All of them.
        planned: Numbers of cables that are drained on purpose.
    """
    some = tuple(found)
    shut = {one.part.index for one in some if one.kind == Trouble.SHUT and one.part.kind == CABLE}
    shut_at = {str(one.part) for one in some if one.kind == Trouble.SHUT}
    return tuple(one for one in some if not _is_expected(network, one, planned, shut, shut_at))


def _is_expected(
    network: DesignedNetwork,
    one: Finding,
    planned: Collection[int],
    shut: Collection[int],
    shut_at: Collection[str],
) -> bool:
    if one.kind == Trouble.SILENT:
        cables = network.by_device.get(str(one.part.whole), [])
        return bool(cables) and all(cable.number in planned for cable in cables)
    if one.part.kind != CABLE or one.kind not in {Trouble.MISSING, Trouble.FLAPPING}:
        return False
    ends = network.devices_of(network.cables[one.part.index])
    several = one.kind == Trouble.MISSING and bool(set(ends) & set(shut_at))
    return one.part.index in planned or one.part.index in shut or several
