"""Look at an InfiniBand lab with the operators' own programs, and say what is not as designed."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of, master_of
from netloom.drivers import ibdiags
from netloom.drivers.programs import is_running, wait_for
from netloom.errors import LabError
from netloom.fabric.part_id import Direction, PartId
from netloom.formats.infiniband import diags, ibsim_topology
from netloom.ops.heal.snapshot import Dispute
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder
    from netloom.ops.lab import Lab
    from netloom.ops.plant import Cable, Plant

__all__ = ["SubnetView", "look", "observer"]

READ: Final = 0.99  # confidence in what two programs say alike of a device
# A link is out of specification above this bit error rate: InfiniBand Architecture Specification,
# volume 2 (recalled).
MAX_ERROR_RATE: Final = 1e-12
# Fewer say nothing: the default threshold of ibqueryerrors (infiniband-diags, error_thresholds;
# recalled).
MIN_ERRORS: Final = 10
# A port that has a neighbour and waits for a subnet manager: InfiniBand Architecture
# Specification, volume 1, PortInfo.PortState.
IDLE: Final = ("Init", "Initialize", "Armed")
# What a port says of itself where a cable is in such trouble.
CONFIRMED: Final = {
    Trouble.MISSING.value: ("Down",),
    Trouble.UNUSED.value: IDLE,
    FaultKind.BLACK_HOLE.value: ("Active",),
}
_STATE: Final = re.compile(r"^LinkState:\.{1,48}(?P<state>\w{1,16})", re.ASCII | re.MULTILINE)
# What is asked over a cable that just went gets no answer; a second, as infiniband-diags wait, for
# each such question adds up. ibsim answers within a millisecond when it is its turn.
TIMEOUT_MS: Final = 200
IDLE_S: Final = 3.0  # a manager that works looks every second, and takes 2 s with 1,024 hosts
PACKET_BYTES: Final = 4096  # the largest path MTU; a symbol error damages one packet

Jack = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetView:
    """What one look found.

    Attributes:
        findings: Read from devices, most certain first.
        away: Cables that carry nothing.
        disputes: Where programs disagree.
        doubts: What could not be asked.
        lids: Of the devices that answered, by name.
        rows: Every port as iblinkinfo sees it.
    """

    findings: list[Finding] = field(default_factory=list)
    away: list[PartId] = field(default_factory=list)
    disputes: list[Dispute] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    lids: dict[str, int] = field(default_factory=dict)
    rows: list[diags.LinkRow] = field(default_factory=list)


def observer(place: LabFolder, lab: Lab, network: Subnet) -> ibdiags.Client:
    """Return the view of a subnet from the host of its master, or from its first host."""
    master = master_of(lab, network)
    index = PartId.parse(master).index if master else 0
    return client_of(place, network, host=network.manager_host(index))


def look(place: LabFolder, lab: Lab, plant: Plant, *, window_s: float) -> SubnetView:
    """Return what every subnet shows.

    Args:
        place: Of the lab.
        lab: Its record.
        plant: As designed.
        window_s: How long error counters have been counting.
    """
    seen = SubnetView()
    for network in subnets_of(place, lab, plant):
        _managers(seen, lab, network)
        client = observer(place, lab, network)
        try:
            view, rows = _viewed(client, plant, network, has_master=bool(master_of(lab, network)))
        except LabError as error:  # such a program may also crash while the fabric changes
            seen.doubts.append(f"subnet {network.number}: {error}")
            continue
        _compare(seen, view)
        _confirm(seen, view, client)
        seen.lids.update(view.lids)
        seen.rows.extend(view.states.values())
        _errors(seen, view, rows, window_s)
        _losses(seen, view, rows, client)
    return seen


def _viewed(
    client: ibdiags.Client, plant: Plant, network: Subnet, *, has_master: bool
) -> tuple[_View, tuple[diags.PortErrors, ...]]:
    """Return a subnet and its error counters: it is gone through once, and the rest read from that.

    While OpenSM sweeps a busy machine, every pass through 1,072 devices takes seconds.

    Raises:
        LabError: a program failed.
    """
    found = client.folder / f"found-{network.number}.cache"
    found.unlink(missing_ok=True)  # ibnetdiscover writes over nothing
    soon, kept = ("-t", str(TIMEOUT_MS)), ("--load-cache", str(found))
    ports = diags.parse_ports(client.run("ibnetdiscover", "-p", *soon, "--cache", str(found)))
    states = diags.parse_links(client.run("iblinkinfo", "-l", *kept))
    errors = diags.parse_errors(client.run("ibqueryerrors", *soon, *kept))
    if any(row.state == "Active" and not row.peer_name for row in states):
        states = ibdiags.links(client)  # dark, or the answer came too late: look a second time
    states = _settled(client, states) if has_master else states
    return _View.of(ports, states, plant, network), errors


def _confirm(seen: SubnetView, view: _View, client: ibdiags.Client) -> None:
    """Ask the ends of the cables that were not found in order themselves, and add who disagrees."""
    by_part = {PartId.cable(cable.number): cable for cable in view.cables}
    for finding in tuple(seen.findings):
        cable = by_part.get(finding.part.whole)
        if cable is None or finding.kind not in CONFIRMED:
            continue
        for name, port in view.jacks(cable):
            said = _link_state(client, view.lids.get(name, 0), port)
            if said and said not in CONFIRMED[finding.kind]:
                says = (f"ibnetdiscover: {finding.kind}", f"smpquery has {name}[{port}] {said}")
                seen.disputes.append(Dispute(part=PartId.cable(cable.number), says=says))


def _link_state(client: ibdiags.Client, lid: int, port: int) -> str:
    """Return the state of a port, from ``smpquery portinfo``; empty when it does not answer."""
    if not lid:
        return ""
    try:
        match = _STATE.search(client.run("smpquery", "portinfo", str(lid), str(port)))
    except LabError:
        return ""
    return match["state"] if match else ""


def _settled(client: ibdiags.Client, rows: tuple[diags.LinkRow, ...]) -> tuple[diags.LinkRow, ...]:
    """Return the ports, asked again while some wait for a manager that may be about to come.

    Raises:
        LabError: iblinkinfo failed.
    """

    def none_waits() -> tuple[diags.LinkRow, ...] | None:
        nonlocal rows
        if any(row.state in IDLE for row in rows):
            rows = ibdiags.links(client)
        return None if any(row.state in IDLE for row in rows) else rows

    return wait_for(none_waits, timeout_s=IDLE_S, step_s=0.2) or rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """A subnet as two programs see it, beside its design.

    Attributes:
        peers: From ibnetdiscover: what each cabled port is joined to.
        states: From iblinkinfo: whether each port is up, and what it could do better.
        devices: That answered.
        lids: Of these, by name.
    """

    plant: Plant
    cables: tuple[Cable, ...]
    peers: dict[Jack, Jack]
    states: dict[Jack, diags.LinkRow]
    devices: frozenset[str]
    lids: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: Sequence[diags.PortRow],
        states: Sequence[diags.LinkRow],
        plant: Plant,
        network: Subnet,
    ) -> _View:
        inside = frozenset(network.devices)
        return cls(
            plant=plant,
            cables=tuple(c for c in plant.cables if c.lower.device in inside),
            peers={
                (row.name, row.port): (row.peer_name or "", row.peer_port or 0)
                for row in rows
                if row.peer_guid is not None
            },
            states={(row.name, row.port): row for row in states},
            devices=frozenset(row.name for row in rows),
            lids={row.name: row.lid for row in rows},
        )

    def jacks(self, cable: Cable) -> tuple[Jack, Jack]:
        lower, upper = ((self.plant.devices[p.device].name, p.number) for p in cable.ends)
        return lower, upper

    def agrees(self, jack: Jack) -> bool:
        """Return whether what a port sees, if anything, sees it too; a neighbour may be cut off."""
        found = self.peers.get(jack)
        return found is None or self.peers.get(found) == jack

    def part(self, cable: Cable) -> PartId:
        return self.plant.part(cable)


def _finding(part: PartId, kind: Trouble | FaultKind, magnitude: float, *evidence: str) -> Finding:
    return Finding(
        part=part,
        kind=kind.value,
        magnitude=magnitude,
        confidence=READ,
        evidence=evidence,
        hurts=(),
        predicted_gain=0.0,
    )


def _compare(seen: SubnetView, view: _View) -> None:
    """Add what is not where it should be."""
    silent = _silent(view)
    for name in sorted(silent):
        seen.findings.append(
            _finding(
                PartId.parse(name),
                Trouble.SILENT,
                1.0,
                "it does not answer, and no cable of it is up",
            )
        )
    owners = {jack: cable for cable in view.cables for jack in view.jacks(cable)}
    for cable in view.cables:
        lower, upper = view.jacks(cable)
        here, there = view.peers.get(lower), view.peers.get(upper)
        if here == upper and there == lower:
            _carrying(seen, view, cable)
        elif here is None and there is None:
            _missing(seen, view, cable, silent)
        elif view.agrees(lower) and view.agrees(upper):
            seen.away.append(PartId.cable(cable.number))
            _miswired(seen, view, cable, owners)
        else:
            says = (f"{_jack(lower)} sees {_jack(here)}", f"{_jack(upper)} sees {_jack(there)}")
            seen.disputes.append(Dispute(part=PartId.cable(cable.number), says=says))


def _jack(jack: Jack | None) -> str:
    return f"{jack[0] or 'something without a name'}[{jack[1]}]" if jack else "nothing"


def _silent(view: _View) -> set[str]:
    """Return the switches of which nothing is seen."""
    names = {view.plant.devices[p.device].name for c in view.cables for p in c.ends}
    hosts = {device.name for device in view.plant.hosts}
    return names - view.devices - hosts


def _carrying(seen: SubnetView, view: _View, cable: Cable) -> None:
    """Add what the other program has against a cable that is where it should be."""
    rows = [row for jack in view.jacks(cable) if (row := view.states.get(jack))]
    down = [row for row in rows if row.state not in ("Active", *IDLE)]
    idle = [row for row in rows if row.state in IDLE]
    if idle:
        seen.away.append(PartId.cable(cable.number))
        text = (
            f"{idle[0].name}[{idle[0].port}] is {idle[0].state}: no manager has taken it into use"
        )
        seen.findings.append(_finding(view.part(cable), Trouble.UNUSED, 1.0, text))
    if down:
        says = ("ibnetdiscover sees both ends", f"iblinkinfo has {down[0].name} {down[0].state}")
        seen.disputes.append(Dispute(part=PartId.cable(cable.number), says=says))
    better = sorted({text for row in rows for text in row.could_be if text.endswith("Gbps")})
    lane_gbps = next((row.lane_gbps for row in rows if row.lane_gbps), None)
    if better and lane_gbps:
        factor = float(better[-1].split()[0]) / lane_gbps
        text = f"its lanes run at {lane_gbps:g} Gbps and could at {better[-1]}"
        seen.findings.append(_finding(view.part(cable), Trouble.WRONG_SPEED, factor, text))


def _missing(seen: SubnetView, view: _View, cable: Cable, silent: set[str]) -> None:
    lower, upper = view.jacks(cable)
    if lower[0] in silent or upper[0] in silent:
        seen.away.append(PartId.cable(cable.number))
        return  # the switch is the finding
    ends = [row for jack in (lower, upper) if (row := view.states.get(jack))]
    if ends and all(row.state == "Active" and not row.peer_name for row in ends):
        text = f"{_jack(lower)} and {_jack(upper)} are Active, and nothing comes through"
        seen.findings.append(_finding(view.part(cable), FaultKind.BLACK_HOLE, 1.0, text))
        return
    seen.away.append(PartId.cable(cable.number))
    up = [row for jack in (lower, upper) if (row := view.states.get(jack)) and row.peer_name]
    if up:
        says = ("ibnetdiscover sees neither end", f"iblinkinfo sees {up[0].peer_name}")
        seen.disputes.append(Dispute(part=PartId.cable(cable.number), says=says))
    text = f"neither {_jack(lower)} nor {_jack(upper)} has a neighbour"
    seen.findings.append(_finding(view.part(cable), Trouble.MISSING, 1.0, text))


def _miswired(seen: SubnetView, view: _View, cable: Cable, owners: dict[Jack, Cable]) -> None:
    lower, upper = view.jacks(cable)
    evidence = []
    for jack, wanted in ((lower, upper), (upper, lower)):
        found = view.peers.get(jack)
        if found is None:
            evidence.append(f"{_jack(jack)} has no neighbour; it should have {_jack(wanted)}")
        else:
            other = owners.get(found)
            whose = f", where cable:{other.number} belongs" if other else ""
            evidence.append(f"{_jack(jack)} leads to {_jack(found)}{whose}, not {_jack(wanted)}")
    seen.findings.append(_finding(view.part(cable), Trouble.MISWIRED, 1.0, *evidence))


def _errors(
    seen: SubnetView, view: _View, rows: tuple[diags.PortErrors, ...], window_s: float
) -> None:
    """Add the cables whose symbol errors are more than the specification allows."""
    by_cable: dict[int, list[str]] = defaultdict(list)
    worst: dict[int, float] = {}
    at = {jack: cable for cable in view.cables for jack in view.jacks(cable)}
    for row in rows:
        cable = at.get((row.name, row.port))
        count = row.counters.get("SymbolErrorCounter", 0)
        if cable is None or count < MIN_ERRORS:
            continue
        name = ibsim_topology.speed_names(c.rate_bps for c in view.plant.cables)[cable.rate_bps]
        bits = ibsim_topology.SPEEDS_BPS[name] * max(window_s, 1.0)
        if count / bits > MAX_ERROR_RATE:
            worst[cable.number] = max(worst.get(cable.number, 0.0), count / bits)
            by_cable[cable.number].append(
                f"{row.name}[{row.port}] counted {count:,} symbol errors in {window_s:.0f} s, at "
                f"full load {count / bits:.1g} of all bits, and {MAX_ERROR_RATE:g} are allowed"
            )
    away = set(seen.away)
    for cable in view.cables:
        if cable.number in worst and PartId.cable(cable.number) not in away:
            loss = min(1.0, worst[cable.number] * PACKET_BYTES * 8)
            one = _finding(view.part(cable), Trouble.SYMBOL_ERRORS, loss, *by_cable[cable.number])
            seen.findings.append(one)


def _losses(
    seen: SubnetView, view: _View, rows: tuple[diags.PortErrors, ...], client: ibdiags.Client
) -> None:
    """Add the links whose receiving port found packets damaged."""
    at = {jack: cable for cable in view.cables for jack in view.jacks(cable)}
    for row in rows:
        cable, count = at.get((row.name, row.port)), row.counters.get("PortRcvErrors", 0)
        state = view.states.get((row.name, row.port))
        if cable is None or state is None or count < MIN_ERRORS:
            continue
        try:
            received = ibdiags.counters(client, state.lid, row.port, extended=True)
        except LabError as error:
            seen.doubts.append(f"{row.name}[{row.port}]: {error}")
            continue
        packets = received.get("PortRcvPkts", 0)
        text = f"{row.name}[{row.port}] counted {count:,} damaged packets beside {packets:,} whole"
        at_lower = view.jacks(cable)[0] == (row.name, row.port)
        part = view.plant.part(cable, Direction.DOWN if at_lower else Direction.UP)
        seen.findings.append(_finding(part, FaultKind.LOSS, count / (count + packets), text))


def _managers(seen: SubnetView, lab: Lab, network: Subnet) -> None:
    """Add the managers that do not run, and a subnet without a master."""
    for index in _dead(lab, network):
        master = master_of(lab, network)
        now = f"master is {master}" if master else "its subnet has no master"
        part = PartId.manager(network.number, index)
        seen.findings.append(_finding(part, Trouble.NO_MANAGER, 1.0, f"it does not run; {now}"))


def _dead(lab: Lab, network: Subnet) -> Iterator[int]:
    for index in range(len(network.managers)):
        program = lab.program(network.manager_name(index))
        if program is None or not is_running(program.pid, program.started):
            yield index
