"""Look at an InfiniBand lab as a watch does, for one to three looks in a row, without a store.

What is seen becomes readings of the watch's own collectors; the comparison with the design, the
rules of counters and the confidence are those of ``netloom.ops.locate``, for all commands.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of, master_of
from netloom.app.watch.infiniband import IDLE, SubnetCounters, SubnetLinks, Vantage
from netloom.app.watch.managers import LabManagers
from netloom.errors import LabError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.snapshot import Dispute
from netloom.ops.locate.cabling import cabling_observations
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.telemetry import CABLING, window_of
from netloom.ops.observe.compare import Built, compare
from netloom.ops.observe.naming import Naming
from netloom.ops.observe.observation import Observation, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder
    from netloom.drivers import ibdiags
    from netloom.ops.lab import Lab
    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.compare import DesignComparison, SeenCable
    from netloom.ops.observe.observation import Reading

__all__ = ["SubnetSeen", "confirm", "look", "observer", "where_ends_lead"]

# What a port says of itself where a cable is in such trouble.
CONFIRMED: Final = {
    Trouble.MISSING.value: ("Down",),
    Trouble.UNUSED.value: IDLE,
    FaultKind.BLACK_HOLE.value: ("Active",),
}
_STATE: Final = re.compile(r"^LinkState:\.{1,48}(?P<state>\w{1,16})", re.ASCII | re.MULTILINE)
MORE_LOOKS: Final = 2  # where the first sees trouble: one look may be wrong
AGAIN_S: Final = 0.2
WAIT_S: Final = 1.5  # a manager that works looks every second, and takes 2 s with 1,024 hosts
# What the lab has counted since it was made counts from zero.
SINCE_MADE: Final = ("symbol_errors", "receive_errors", "received_packets", "integrity_errors")
TROUBLES: Final = frozenset(
    {"port_waits", "port_dark", "guid_shared", "lid_shared", "manager_down", *CABLING.values()}
)
UP: Final = frozenset({"link_up", "sm_master"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetSeen:
    """What one look found.

    Attributes:
        heard: What ports, counters, managers and the comparison with the design said.
        compared: That comparison; None where not all was seen.
        doubts: What could not be asked.
        lids: Of the devices that answered, by name.
        clients: From where each device is asked, by name.
    """

    heard: TelemetryWindow
    compared: DesignComparison | None = None
    doubts: list[str] = field(default_factory=list)
    lids: dict[str, int] = field(default_factory=dict)
    clients: dict[str, ibdiags.Client] = field(default_factory=dict)


def observer(place: LabFolder, lab: Lab, network: Subnet) -> ibdiags.Client:
    """Return the view of a subnet from the host of its master, or from its first host."""
    master = master_of(lab, network)
    index = PartId.parse(master).index if master else 0
    return client_of(place, network, host=network.manager_host(index))


def look(place: LabFolder, lab: Lab, network: DesignedNetwork, *, taken_s: float) -> SubnetSeen:
    """Return what every subnet shows.

    Args:
        place: Of the lab.
        lab: Its record.
        network: As designed.
        taken_s: Now.
    """
    run = _Look(place=place, lab=lab, network=network)
    readings = run.scan(taken_s)
    readings += run.counters(taken_s, made_s=place.born_at_s)
    for number in range(1, MORE_LOOKS + 1):
        if not _has_trouble(readings):
            break
        waits = any(one.metric == "port_waits" for r in readings for one in r.observations)
        time.sleep(WAIT_S if waits else AGAIN_S)
        readings += run.scan(taken_s + number * AGAIN_S)
    return SubnetSeen(
        heard=window_of(readings),
        compared=run.compared,
        doubts=run.doubts,
        lids=run.lids,
        clients=run.clients,
    )


def _has_trouble(readings: Iterable[Reading]) -> bool:
    return any(
        one.metric in TROUBLES or (one.metric in UP and one.value == 0)
        for reading in readings
        for one in reading.observations
    )


@dataclass(slots=True, kw_only=True)
class _Look:
    """A lab that is looked at."""

    place: LabFolder
    lab: Lab
    network: DesignedNetwork
    doubts: list[str] = field(default_factory=list)
    lids: dict[str, int] = field(default_factory=dict)
    clients: dict[str, ibdiags.Client] = field(default_factory=dict)
    compared: DesignComparison | None = None
    _links: dict[int, SubnetLinks] = field(default_factory=dict)

    def _subnets(self) -> tuple[Subnet, ...]:
        return subnets_of(self.place, self.lab, self.network.plant)

    def _seer(self, subnet: Subnet) -> SubnetLinks:
        """Return what looks at a subnet: from its master's host, else from hosts far apart."""
        if subnet.number not in self._links:
            hosts = dict.fromkeys((subnet.hosts[-1], subnet.hosts[len(subnet.hosts) // 2]))
            others = tuple(client_of(self.place, subnet, host=host) for host in hosts)
            first = observer(self.place, self.lab, subnet)
            self._links[subnet.number] = SubnetLinks(
                source=f"subnet {subnet.number}",
                vantage=Vantage(clients=(first, *others), num_devices=len(subnet.devices)),
                naming=Naming(),
                ports=frozenset(self.network.at),
                plant=self.network.plant,
            )
        return self._links[subnet.number]

    def scan(self, time_s: float) -> list[Reading]:
        """Look at ports and managers, and compare cables with the design."""
        readings, built, is_whole = [], [], True
        for subnet in self._subnets():
            seer = self._seer(subnet)
            lab = LabManagers(place=self.place, network=subnet)
            readings.append(lab.read(time_s, ""))
            try:
                reading = seer.read(time_s, "")
            except LabError as error:  # such a program may also crash while the fabric changes
                self._doubt(f"subnet {subnet.number}: {error}")
                is_whole = False
                continue
            if reading.error:
                self._doubt(f"subnet {subnet.number}: {reading.error}")
                is_whole = False
            readings.append(reading)
            built += [seer.built] if seer.built is not None else []
            self._remember(seer)
        if is_whole:
            self.compared = compare(self.network.plant, Built.joined(built))
            seen = cabling_observations(self.compared, self.network.rate_bps, time_s)
            readings.append(whole("cabling", time_s, seen, cursor=""))
        return readings

    def _remember(self, seer: SubnetLinks) -> None:
        if seer.view is not None:
            self.lids |= {name: node.lid for name, node in seer.view.nodes.items()}
            self.clients |= dict.fromkeys(seer.view.nodes, seer.vantage.client)

    def _doubt(self, text: str) -> None:
        if text not in self.doubts:
            self.doubts.append(text)

    def counters(self, time_s: float, *, made_s: float) -> list[Reading]:
        """Return what ports counted, from zero when the lab was made."""
        found: list[Reading] = []
        for subnet in self._subnets():
            seer = self._seer(subnet)
            source = f"counters {subnet.number}"
            asked = SubnetCounters(source=source, vantage=seer.vantage, naming=Naming())
            try:
                reading = asked.read(time_s, "")
            except LabError as error:
                if master_of(self.lab, subnet):  # without one no port can be asked
                    self._doubt(f"subnet {subnet.number}: {error}")
                continue
            own = [one for one in reading.observations if one.metric in SINCE_MADE]
            none = [Observation(made_s, one.part, one.metric, 0.0) for one in own]
            found += [whole(source, made_s, none, cursor=""), whole(source, time_s, own, cursor="")]
        return found


def confirm(seen: SubnetSeen, network: DesignedNetwork, found: Sequence[Finding]) -> list[Dispute]:
    """Ask the ends of cables that were not found in order themselves, and return who disagrees."""
    disputes = []
    for finding in found:
        cable = network.cables.get(finding.part.index) if finding.kind in CONFIRMED else None
        if cable is None:
            continue
        for port in cable.ends:
            name = network.plant.devices[port.device].name
            said = _link_state(seen.clients.get(name), seen.lids.get(name, 0), port.number)
            if said and said not in CONFIRMED[finding.kind]:
                says = (f"iblinkinfo: {finding.kind}", f"smpquery has {name}[{port.number}] {said}")
                disputes.append(Dispute(part=PartId.cable(cable.number), says=says))
    return disputes + [_dispute(one) for one in _disputed(seen)]


def _disputed(seen: SubnetSeen) -> list[SeenCable]:
    return [one for one in seen.compared.cables if one.place == "disputed"] if seen.compared else []


def _dispute(one: SeenCable) -> Dispute:
    pairs = ((one.lower, one.lower_sees), (one.upper, one.upper_sees))
    says = tuple(f"{port} sees {there or 'nothing'}" for port, there in pairs)
    return Dispute(part=PartId.cable(one.cable.number), says=says)


def _link_state(client: ibdiags.Client | None, lid: int, port: int) -> str:
    """Return the state of a port, from ``smpquery portinfo``; empty when it does not answer."""
    if client is None or not lid:
        return ""
    try:
        match = _STATE.search(client.run("smpquery", "portinfo", str(lid), str(port)))
    except LabError:
        return ""
    return match["state"] if match else ""


def where_ends_lead(seen: SubnetSeen, number: int) -> tuple[str, ...]:
    """Return where the ends of a miswired cable lead, in words."""
    if seen.compared is None:
        return ()
    owners = {jack: one for one in seen.compared.cables for jack in (one.lower, one.upper)}
    one = next(cable for cable in seen.compared.cables if cable.cable.number == number)
    says = []
    for jack, wanted, found in (
        (one.lower, one.upper, one.lower_sees),
        (one.upper, one.lower, one.upper_sees),
    ):
        if found is None:
            says.append(f"{jack} has no neighbour; it should have {wanted}")
            continue
        other = owners.get(found)
        whose = f", where cable:{other.cable.number} belongs" if other else ""
        says.append(f"{jack} leads to {found}{whose}, not {wanted}")
    return tuple(says)
