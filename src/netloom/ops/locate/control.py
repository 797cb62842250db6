"""What the control plane says: sessions that are down, forwarding that lost ways, no manager."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from netloom.fabric.part_id import Direction, PartId
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, Report, believed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow

__all__ = ["lost_paths", "managers", "sessions_down", "silent_daemons", "without_session"]


def sessions_down(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    down: Collection[int],
    settling: Collection[int] = (),
    planned: Collection[int] = (),
) -> Iterator[Finding]:
    """Give the cables that are up and whose sessions are not, and switches without any session.

    Where BFD is down too the cable swallows packets. Where BFD says nothing of the kind the
    session is a finding by itself: that packets pass does not make routes.

    Args:
        network: As designed.
        heard: What was said.
        down: Cables of which it is known that they are down.
        settling: Cables that came back a moment ago: their sessions follow.
        planned: Cables that are drained on purpose.
    """
    apart = {*down, *planned}
    routes = _session_reports(network, heard, "bgp_up", apart, settling)
    packets = _session_reports(network, heard, "bfd_up", apart, settling)
    shut = _shut(network, heard)
    says = {number: [*routes[number], *packets[number]] for number in {*routes, *packets}}
    bad = {number for number, some in says.items() if any(one.is_so for one in some)}
    for name, numbers in silent_routers(network, says, bad):
        bad -= numbers
        yield _no_session_at_all(network, name, [routes[n] or packets[n] for n in sorted(numbers)])
    for number in sorted(bad):
        cut = network.part(network.cables[number], _direction(network, heard, number))
        if shut.get(number) or not any(one.is_so for one in packets[number]):
            text = _session_text(routes[number], shut.get(number, ()))
            trust = TRUST[Trouble.REFUSED if shut.get(number) else Trouble.SESSION_DOWN]
            sure = believed(trust, routes[number])
            yield network.finding(cut.whole, Trouble.SESSION_DOWN, text, confidence=sure)
        elif routes[number] and not any(one.is_so for one in routes[number]):
            yield _only_bfd_down(network, cut.whole, packets[number])
        else:
            some = says[number]
            text = (
                f"{sum(one.is_so for one in some)} of {len(some)} sessions over it are down "
                "although it is up"
            )
            if cut.direction is not Direction.BOTH:
                text += "; one end hears the other, and is not heard"
            sure = believed(TRUST[FaultKind.LOSS], some)
            yield network.finding(cut, FaultKind.LOSS, text, confidence=sure, gain=1.0)


def _only_bfd_down(network: DesignedNetwork, cable: PartId, says: Sequence[Report]) -> Finding:
    """Return that routes lead over a cable whose failure BFD would not notice."""
    text = (
        f"BFD is down at {sum(one.is_so for one in says)} of {len(says)} ends although BGP is up: "
        "a failure is noticed by BGP's timers alone"
    )
    sure = believed(TRUST[Trouble.SESSION_DOWN], says)
    return network.finding(cable, Trouble.SESSION_DOWN, text, confidence=sure)


def _direction(network: DesignedNetwork, heard: TelemetryWindow, number: int) -> Direction:
    """Return the direction that loses packets, where one end of a cable hears the other still."""
    lower, upper = (heard.last("bfd_hears", end) for end in network.ends[number])
    if lower == 1 and upper == 0:
        return Direction.UP
    return Direction.DOWN if lower == 0 and upper == 1 else Direction.BOTH


def without_session(network: DesignedNetwork, heard: TelemetryWindow) -> set[int]:
    """Return the cables over which an end has no BGP session now, whatever the reason."""
    return {
        network.at[part].number
        for part, track in heard.of("bgp_up").items()
        if track.last == 0 and part in network.at
    }


def _session_reports(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    metric: str,
    apart: Collection[int],
    settling: Collection[int],
) -> dict[int, list[Report]]:
    """Return what each end says of its session, by cable."""
    says: dict[int, list[Report]] = defaultdict(list)
    mute = _half_silent(heard)
    off = {  # one end has no BFD: that of the other is down for it
        network.at[part].number
        for part, track in heard.of("bfd_missing").items()
        if track.last and part in network.at
    }
    for part in heard.of(metric):
        cable = network.at.get(part)
        if cable is not None and cable.number not in apart:
            said = heard.said(metric, part, lambda value: value == 0)
            is_early = cable.number in settling or (metric == "bfd_up" and cable.number in off)
            is_early |= not mute.isdisjoint(network.devices_of(cable))
            says[cable.number] += [one for one in said if not (one.is_so and is_early)]
    return says


def _shut(network: DesignedNetwork, heard: TelemetryWindow) -> dict[int, list[str]]:
    """Return the ends whose configuration keeps the session closed, by cable."""
    found: dict[int, list[str]] = defaultdict(list)
    for part, track in sorted(heard.of("bgp_shut").items()):
        if track.last and part in network.at:
            found[network.at[part].number].append(part)
    return found


def _session_text(says: Sequence[Report], shut: Sequence[str]) -> str:
    num_down = sum(one.is_so for one in says)
    text = f"{num_down} of {len(says)} ends have no BGP session over it although it is up"
    return f"{text}; closed by configuration at {' and '.join(shut)}" if shut else text


def _no_session_at_all(
    network: DesignedNetwork, name: str, by_cable: Sequence[Sequence[Report]]
) -> Finding:
    some = [one for says in by_cable for one in says]
    sure = believed(TRUST[Trouble.SILENT], some)
    text = f"none of its {len(some)} routing sessions is up although its cables are"
    return network.finding(PartId.parse(name), Trouble.SILENT, text, confidence=sure)


def silent_routers(
    network: DesignedNetwork, says: Mapping[int, list[Report]], bad: set[int]
) -> list[tuple[str, set[int]]]:
    """Return the devices all of whose sessions are down, several, with their cables.

    Only where each neighbour speaks with others still; else which of them is silent is unknown.
    """
    spoken = {
        name: {cable.number for cable in cables if says.get(cable.number)}
        for name, cables in network.by_device.items()
    }
    found = []
    for name, numbers in spoken.items():
        if len(numbers) < 2 or not numbers <= bad:
            continue
        near = {one for number in numbers for one in network.devices_of(network.cables[number])}
        if all(spoken[other] - bad for other in near - {name}):
            found.append((name, numbers))
    return found


def _half_silent(heard: TelemetryWindow) -> set[str]:
    """Return the switches whose bgpd answers and another daemon does not: it takes sessions down.

    Where bgpd is silent too its neighbours say so.
    """
    silent = {one for one, track in heard.of("daemon_silent").items() if track.last}
    names = {one.partition(" ")[0] for one in silent}
    return {name for name in names if f"{name} bgpd" not in silent}


def silent_daemons(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the switches of which a routing daemon does not answer; one look does not do."""
    told: dict[str, list[tuple[str, Report]]] = defaultdict(list)
    for one, track in sorted(heard.of("daemon_silent").items()):
        name, _, daemon = one.partition(" ")
        if track.last:
            told[name] += [(daemon, said) for said in heard.said("daemon_silent", one, bool)]
    for name, some in told.items():
        part = network.part_called(name)
        if part is None:
            continue
        text = "; ".join(
            f"{daemon} does not answer at {looks(said.num_looks)}, those of other switches do"
            for daemon, said in some
        )
        sure = max(believed(TRUST[Trouble.DAEMON_SILENT], [said]) for _, said in some)
        yield network.finding(
            part, Trouble.DAEMON_SILENT, text, confidence=sure, magnitude=float(len(some))
        )


def managers(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the subnets in which no manager answers as master."""
    for name, track in heard.of("sm_master").items():
        part = network.part_called(name)
        if part is not None and track.last == 0:
            (one,) = heard.said("sm_master", name, lambda value: value == 0)
            sure = believed(TRUST[Trouble.NO_MANAGER], [one])
            text = f"no subnet manager answered as master at {looks(one.num_looks)}"
            yield network.finding(part, Trouble.NO_MANAGER, text, confidence=sure)


def lost_paths(
    network: DesignedNetwork, heard: TelemetryWindow, settling: Collection[int] = ()
) -> Iterator[Finding]:
    """Give the switches that forward by fewer ways than they believe in.

    Args:
        network: As designed.
        heard: What was said.
        settling: Cables that changed a moment ago: a kernel drops routes before its daemon does,
            so that one look does not do.
    """
    for name in heard.of("rib_ways"):
        part = network.part_called(name)
        rib, fib = (heard.last(metric, name) for metric in ("rib_ways", "fib_ways"))
        if part is None or rib is None or fib is None or fib >= rib:
            continue
        both = [heard.said(metric, name, bool) for metric in ("rib_ways", "fib_ways")]
        count = min(one.num_looks for some in both for one in some)
        if settling and count < 2:
            continue
        sure = believed(TRUST[FaultKind.LOST_PATHS], [Report(is_so=True, num_looks=count)])
        text = f"routing has {rib:.0f} ways, the forwarding plane {fib:.0f}, at {looks(count)}"
        yield network.finding(
            part,
            FaultKind.LOST_PATHS,
            text,
            confidence=sure,
            magnitude=rib - fib,
            gain=1 - fib / rib,
        )
