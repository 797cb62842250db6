"""Bring an InfiniBand lab from one condition to another, by ibsim's console and OpenSM's end."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.app.lab.infiniband import agree, end, is_alive, start_manager, subnets_of
from netloom.drivers import ibdiags, ibsim, opensm
from netloom.drivers.programs import Running, is_running, wait_for
from netloom.errors import LabError, SpecError
from netloom.formats.infiniband import ibsim_topology
from netloom.ops.condition import condition_of
from netloom.ops.plant import subnets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder
    from netloom.ops.condition import CableCondition, Condition
    from netloom.ops.lab import InjectedFault, Lab
    from netloom.ops.plant import Cable, Plant, Port

__all__ = ["add_to_counter", "apply", "check", "client_of", "flap_once", "master_of"]

# ibportstate(8), espeed: the sum of the speeds that are allowed.
EXTENDED_SPEEDS: Final = {1: 56e9, 2: 100e9, 4: 200e9}
ALL_SPEEDS: Final = 7
# Every change makes two traps, and 10 datagrams may wait for a client (net.unix.max_dgram_qlen).
# Beyond that ibsim tries again and again to deliver one and reads nothing meanwhile, while
# OpenSM's answers to traps wait for ibsim and hold the lock that its own receiver needs
# (umad2sim.c): neither goes on. So a manager gets this long to take two in.
PACE_S: Final = 0.1
ACTIVE_S: Final = 10.0  # for a sweep and the one after it, and more for each device
ACTIVE_DEVICE_S: Final = 0.01  # 4,618 devices take OpenSM 10 s on two cores
_PORT: Final = re.compile(
    r"^[0-9a-f]{1,16}\t\[(?P<number>\d{1,3})\]\t.* (?P<state>[A-Z][a-z]+)/(?P<physical>[A-Z]\w+)",
    re.ASCII | re.MULTILINE,
)
LINK_DOWNED: Final = "PortCounters.LinkDownedCounter"
SYMBOL_ERRORS: Final = "PortCounters.SymbolErrorCounter"


def check(fault: InjectedFault) -> None:
    """Raise SpecError for a fault that ibsim cannot make."""
    if fault.settings.get("larger_than_bytes"):
        message = "--larger-than needs a RoCE lab: ibsim's datagrams are all of one size"
        raise SpecError(message)
    if fault.kind != "silent-drop":
        return
    if fault.settings["share"] != 1:
        raise SpecError(
            what="silent-drop --share: ibsim counts what it loses by chance, as PortRcvErrors",
            remedy="drop all, or use error-rate",
        )
    if "->" in fault.parts[0]:
        raise SpecError(
            what=f"{fault.parts[0]}: ibsim darkens a cable in both directions",
            remedy="name the cable, or use error-rate",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """A lab and its subnets, by device."""

    plant: Plant
    networks: tuple[Subnet, ...]
    by_device: dict[int, Subnet]

    @classmethod
    def of(cls, place: LabFolder, lab: Lab, plant: Plant) -> _Site:
        networks = subnets_of(place, lab, plant)
        by_device = {device: network for network in networks for device in network.devices}
        return cls(plant=plant, networks=networks, by_device=by_device)

    def at(self, port: Port) -> tuple[ibsim.Simulator, str, int]:
        return self.by_device[port.device].simulator, self.name(port), port.number

    def name(self, port: Port) -> str:
        return self.plant.devices[port.device].name

    def network_of(self, manager: str) -> Subnet:
        """Return the subnet of a manager, by what the record calls it."""
        number = int(manager.removeprefix("opensm-").partition(".")[0])
        return self.networks[number]


def apply(place: LabFolder, lab: Lab, plant: Plant, old: Condition, new: Condition) -> Lab:
    """Change what differs between *old*, which is there, and *new*; return the record.

    Raises:
        LabError: ibsim or OpenSM does not do its part.
    """
    site = _Site.of(place, lab, plant)
    changed = [c for c in plant.cables if old.cable(c.number) != new.cable(c.number)]
    for cable in changed:
        _set_speed(place, site, cable, old, new)
    moved = [c for c in changed if _wiring(old, c) != _wiring(new, c) or _lit(old, new, c)]
    _check_same_subnet(site, moved, new)
    for cable in moved:
        if old.cable(cable.number).is_linked:
            ibsim.unlink(*site.at(cable.lower))
            if not _lit(old, new, cable):
                lab = _count_down(site, lab, cable)
            time.sleep(PACE_S)
    for cable in moved:
        if new.cable(cable.number).is_linked:
            _link(site, cable, new.cable(cable.number).upper or cable.upper)
            time.sleep(PACE_S)
    plugged = [c for c in moved if new.cable(c.number).is_linked]
    lab = _show_managers(place, lab, site, plugged)
    for cable in changed:
        _set_losses(site, old.cable(cable.number), new.cable(cable.number))
        if new.cable(cable.number).is_dark and new.cable(cable.number).is_linked:
            _darken(place, site, cable)
    lab = _set_managers(place, lab, site, old, new)
    if moved or old.dead_managers - new.dead_managers:
        lab = _agreed(place, lab, site, new)
    _wait_active(site, lab, [c for c in plugged if not new.cable(c.number).is_dark])
    return lab


def _lit(old: Condition, new: Condition, cable: Cable) -> bool:
    """Return whether a dark cable is to carry something again: ibsim wants it plugged in again."""
    return old.cable(cable.number).is_dark and not new.cable(cable.number).is_dark


def _darken(place: LabFolder, site: _Site, cable: Cable) -> None:
    """Let a cable carry nothing while both ends stay Active and no trap is sent.

    That is what ibsim makes of a port that is disabled.

    Raises:
        LabError: the port is as before.
    """
    client = client_of(place, site.by_device[cable.upper.device])
    guid = ibsim_topology.port_guid_of(site.plant, cable.upper.device)
    ibdiags.set_port(client, guid, cable.upper.number, "disable")
    if _port_state(site, cable.upper) != ("Active", "Disabled"):
        message = f"{site.plant.port_name(cable.upper)} cannot be reached, so that it is not dark"
        raise LabError(message)


def _wait_active(site: _Site, lab: Lab, plugged: Sequence[Cable]) -> None:
    """Return when a manager has brought these cables into use, or does not in time.

    A cable that is plugged in carries nothing before that; and where no manager runs, or none
    can reach the cable, it stays so.
    """
    waiting = {
        cable.lower
        for cable in plugged
        if any(
            is_alive(lab, site.by_device[cable.lower.device].manager_name(index))
            for index in range(lab.num_managers)
        )
    }

    def active() -> bool | None:
        used = {port for port in waiting if _port_state(site, port)[0] == "Active"}
        waiting.difference_update(used)
        return None if waiting else True

    most_s = ACTIVE_S + ACTIVE_DEVICE_S * len(site.by_device)
    wait_for(active, timeout_s=most_s, step_s=0.05)


def _port_state(site: _Site, port: Port) -> tuple[str, str]:
    """Return the logical and the physical state of a port, as ibsim itself has them."""
    simulator, name, number = site.at(port)
    said = ibsim.command(simulator, f'Dump "{name}"')
    rows = (match for match in _PORT.finditer(said) if int(match["number"]) == number)
    return next(((match["state"], match["physical"]) for match in rows), ("", ""))


def _show_managers(place: LabFolder, lab: Lab, site: _Site, plugged: Sequence[Cable]) -> Lab:
    """Restart the managers whose own cable was plugged in, and return the record.

    ibsim sets a port that is linked to its first state, without the mark that a manager runs
    there (IsSM), and OpenSM does not set that a second time (link_ports in ibsim's sim_net.c,
    osm_vendor_set_sm). This manager would be invisible: two would be master, each sure to
    be alone, and traps would go to the one that swept last.
    """
    hosts = {site.name(cable.lower) for cable in plugged}
    for network in site.networks:
        for index in range(len(network.managers)):
            program = lab.program(network.manager_name(index))
            running = program and Running(pid=program.pid, started=program.started)
            if network.manager_host(index) in hosts and running and running.is_alive:
                end(network.simulator, running)
                lab = start_manager(place, lab, site.plant, network, index)
    return lab


def _agreed(place: LabFolder, lab: Lab, site: _Site, new: Condition) -> Lab:
    """Return the record once the managers that can see one another agree on a master."""
    linked = tuple(c for c in site.plant.cables if new.cable(c.number).is_linked)
    islands = subnets(replace(site.plant, cables=linked))
    for network in site.networks:
        hosts = {
            site.plant.number(network.manager_host(index))
            for index in range(len(network.managers))
            if is_alive(lab, network.manager_name(index))
        }
        if len(hosts) > 1 and any(hosts <= set(island) for island in islands):
            lab = agree(place, lab, site.plant, network)
    return lab


def _link(site: _Site, cable: Cable, upper: Port) -> None:
    """Plug a cable in, whatever an attempt that failed left in its ports."""
    for port in (cable.lower, upper):
        ibsim.unlink(*site.at(port))
    simulator, name, number = site.at(cable.lower)
    ibsim.link(simulator, (name, number), (site.name(upper), upper.number))


def _wiring(condition: Condition, cable: Cable) -> tuple[object, ...]:
    one = condition.cable(cable.number)
    return one.is_linked, one.upper, one.slowdown


def _check_same_subnet(site: _Site, cables: list[Cable], new: Condition) -> None:
    for cable in cables:
        upper = new.cable(cable.number).upper or cable.upper
        if site.by_device[upper.device] is not site.by_device[cable.lower.device]:
            raise SpecError(
                what=f"cable:{cable.number} would join two subnets",
                remedy="each has an ibsim of its own here",
            )


def _set_speed(place: LabFolder, site: _Site, cable: Cable, old: Condition, new: Condition) -> None:
    """Allow both ends only what the slowdown leaves; ibsim obeys neither alone."""
    before, after = old.cable(cable.number), new.cable(cable.number)
    if before.slowdown == after.slowdown:
        return
    client = client_of(place, site.by_device[cable.lower.device])
    speeds = ALL_SPEEDS if after.slowdown == 1 else _speed_below(site.plant, cable, after.slowdown)
    for port in cable.ends:
        guid = ibsim_topology.port_guid_of(site.plant, port.device)
        ibdiags.set_extended_speed(client, guid, port.number, speeds)


def _speed_below(plant: Plant, cable: Cable, slowdown: float) -> int:
    """Return the fastest speed that is slower by *slowdown*, or the slowest there is."""
    name = ibsim_topology.speed_names(c.rate_bps for c in plant.cables)[cable.rate_bps]
    wanted_bps = ibsim_topology.SPEEDS_BPS[name] / slowdown
    slow_enough = [bit for bit, rate_bps in EXTENDED_SPEEDS.items() if rate_bps <= wanted_bps]
    if ibsim_topology.SPEEDS_BPS[name] <= EXTENDED_SPEEDS[1]:
        message = f"cable:{cable.number} is {name}, and ibsim slows none below 4xFDR"
        raise SpecError(message)
    return max(slow_enough, default=1)


def _set_losses(site: _Site, old: CableCondition, new: CableCondition) -> None:
    shares = {loss.port: loss.share for loss in new.losses if not loss.is_silent}
    for port in {*shares, *(loss.port for loss in old.losses if not loss.is_silent)}:
        ibsim.set_error_rate(*site.at(port), round(100 * shares.get(port, 0.0)))


def _count_down(site: _Site, lab: Lab, cable: Cable) -> Lab:
    """Raise LinkDowned on both ends, which ibsim does not do of itself."""
    for port in cable.ends:
        lab = add_to_counter(site, lab, port, LINK_DOWNED, 1)
    return lab


def add_to_counter(site: _Site, lab: Lab, port: Port, counter: str, count: int) -> Lab:
    """Let a counter of a port hold so much more than it was last set to."""
    key = f"{site.plant.port_name(port)}.{counter}"
    value = lab.counters.get(key, 0) + count
    held = ibsim.set_counter(*site.at(port), counter, value)
    return replace(lab, counters={**lab.counters, key: held})


def flap_once(place: LabFolder, lab: Lab, plant: Plant, cables: tuple[Cable, ...]) -> Lab:
    """Pull cables and put them back."""
    site = _Site.of(place, lab, plant)
    for cable in cables:
        ibsim.unlink(*site.at(cable.lower))
        lab = _count_down(site, lab, cable)
    for cable in cables:
        _link(site, cable, cable.upper)
    lab = _show_managers(place, lab, site, cables)
    return _agreed(place, lab, site, condition_of(lab.faults, plant))


def add_symbol_errors(
    place: LabFolder, lab: Lab, plant: Plant, links: tuple[tuple[Cable, Port], ...], count: int
) -> Lab:
    """Count symbol errors at the receiving port of each link."""
    site = _Site.of(place, lab, plant)
    for cable, sender in links:
        (receiver,) = (port for port in cable.ends if port != sender)
        lab = add_to_counter(site, lab, receiver, SYMBOL_ERRORS, count)
    return lab


def reset_symbol_errors(
    place: LabFolder, lab: Lab, plant: Plant, links: tuple[tuple[Cable, Port], ...]
) -> Lab:
    """Set the symbol errors at the receiving port of each link to zero."""
    site = _Site.of(place, lab, plant)
    counters = dict(lab.counters)
    for cable, sender in links:
        (receiver,) = (port for port in cable.ends if port != sender)
        ibsim.set_counter(*site.at(receiver), SYMBOL_ERRORS, 0)
        counters.pop(f"{plant.port_name(receiver)}.{SYMBOL_ERRORS}", None)
    return replace(lab, counters=counters)


def client_of(place: LabFolder, network: Subnet, *, host: str = "") -> ibdiags.Client:
    """Return how infiniband-diags see a subnet from one of its hosts, the first by default."""
    env = ibsim.client_environment(network.simulator, host or network.hosts[0])
    return ibdiags.Client(env={**env, **place.environment}, folder=place.scratch)


def master_of(lab: Lab, network: Subnet) -> str:
    """Return the name of the subnet manager that is master of a subnet; empty without one."""
    for index, manager in enumerate(network.managers):
        name = network.manager_name(index)
        program = lab.program(name)
        alive = program is not None and is_running(program.pid, program.started)
        if alive and opensm.read_log(manager).state == "master":
            return name
    return ""


def _set_managers(place: LabFolder, lab: Lab, site: _Site, old: Condition, new: Condition) -> Lab:
    for name in sorted(new.dead_managers - old.dead_managers):
        program = lab.program(name)
        if program is None:
            known = ", ".join(one.name for one in lab.programs if one.name.startswith("opensm"))
            raise SpecError(
                what=f"there is no subnet manager {name!r}", remedy=f"there are {known}"
            )
        end(site.network_of(name).simulator, Running(pid=program.pid, started=program.started))
    back = old.dead_managers - new.dead_managers
    for network in site.networks:
        for index in range(len(network.managers)):
            if network.manager_name(index) in back:
                lab = start_manager(place, lab, site.plant, network, index)
    return lab
