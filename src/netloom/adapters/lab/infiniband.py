"""An InfiniBand lab: ibsim and OpenSM for every subnet of the plant; no privileges needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.adapters import ibsim, opensm
from netloom.adapters.programs import Running, is_running
from netloom.errors import InfeasibleError, LabError
from netloom.ops.lab import MARK
from netloom.ops.plant import subnets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.adapters.lab.store import LabFolder
    from netloom.ops.lab import Lab
    from netloom.ops.plant import Plant

__all__ = [
    "PROGRAMS",
    "Subnet",
    "bring_up",
    "default_engine",
    "is_alive",
    "start_manager",
    "start_simulator",
    "subnets_of",
]

PROGRAMS: Final = ("ibsim", "opensm", "ibnetdiscover")
MAX_SUBNETS: Final = 64
# Topologies whose switches stand in tiers route up and then down; the others need an engine that
# keeps any graph free of deadlocks (on a torus of 5x5x5 updn and dfsssp fall back to minhop, nue
# does not).
TIERED: Final = frozenset({"fat-tree", "rail-fat-tree", "rail-only", "multi-plane"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """One network that stands alone, with the programs that run it.

    Attributes:
        number: Counted from 0.
        devices: Places in the plant, hosts first.
        hosts: Names of its hosts.
        simulator: Its ibsim.
        managers: Its subnet managers, the one that should be master first.
    """

    number: int
    devices: tuple[int, ...]
    hosts: tuple[str, ...]
    simulator: ibsim.Simulator
    managers: tuple[opensm.SubnetManager, ...]

    def simulator_name(self) -> str:
        """Return what the record calls its ibsim."""
        return f"ibsim-{self.number}"

    def manager_name(self, index: int) -> str:
        """Return what the record calls one of its subnet managers."""
        return f"opensm-{self.number}.{index}"

    def manager_host(self, index: int) -> str:
        """Return where that manager runs: on the first hosts of the subnet."""
        return self.hosts[min(index, len(self.hosts) - 1)]


def default_engine(topology: str) -> str:
    """Return the routing engine for a kind of topology."""
    return "updn" if topology in {*TIERED, "three-tier-tree"} else "nue"


def subnets_of(place: LabFolder, lab: Lab, plant: Plant) -> tuple[Subnet, ...]:
    """Return the subnets of a lab: what would run, whether it does or not."""
    socket = place.mark.rpartition("_")[2]
    return tuple(
        Subnet(
            number=number,
            devices=devices,
            hosts=tuple(
                plant.devices[device].name
                for device in devices
                if plant.devices[device].role == "host"
            ),
            simulator=ibsim.Simulator(
                socket=f"nl{socket}-{number}", folder=place.scratch, stem=f"ibsim-{number}"
            ),
            managers=tuple(
                opensm.SubnetManager(folder=place.scratch / f"opensm-{number}.{index}")
                for index in range(lab.num_managers)
            ),
        )
        for number, devices in enumerate(subnets(plant))
    )


def check_size(plant: Plant, networks: Sequence[Subnet]) -> None:
    """Raise InfeasibleError when the lab would be larger than one machine simulates."""
    if len(plant.hosts) > ibsim.MAX_HOSTS:
        message = (
            f"{len(plant.hosts):,} NIC ports; an InfiniBand lab goes to {ibsim.MAX_HOSTS:,}; "
            "give the scenario fewer nodes"
        )
        raise InfeasibleError(message)
    if len(networks) > MAX_SUBNETS:
        message = f"{len(networks)} networks that stand alone; a lab goes to {MAX_SUBNETS}"
        raise InfeasibleError(message)


def bring_up(place: LabFolder, lab: Lab, plant: Plant) -> Lab:
    """Start everything and return the record once every subnet is up.

    Raises:
        InfeasibleError: the lab would be too large.
        LabError: a program is missing, or does not come up.
    """
    networks = subnets_of(place, lab, plant)
    check_size(plant, networks)
    for network in networks:
        lab = start_simulator(place, lab, plant, network)
    for network in networks:
        ibsim.wait_ready(network.simulator, _process(lab, network.simulator_name()))
    # One after the other: managers that discover a subnet together can wait for ever.
    for index in range(lab.num_managers):
        for network in networks:
            lab = start_manager(place, lab, plant, network, index)
        for network in networks:
            _wait_up(lab, network, index)
    return place.write(replace(lab, phase="up"))


def start_simulator(place: LabFolder, lab: Lab, plant: Plant, network: Subnet) -> Lab:
    """Start the ibsim of a network and return the record; it is ready some time later."""
    topology = ibsim.render_topology(plant, network.devices)
    network.simulator.topology.write_text(topology, encoding="ascii")
    devices = [plant.devices[device] for device in network.devices]
    num_switches = sum(device.role == "switch" for device in devices)
    num_ports = sum(device.num_ports + 1 for device in devices)
    begin = partial(
        ibsim.start_simulator,
        network.simulator,
        num_devices=len(devices),
        num_switches=num_switches,
        num_ports=num_ports,
        mark=f"{MARK}={place.mark}",
    )
    lab, _ = place.starting(lab, network.simulator_name(), begin)
    return lab


def start_manager(place: LabFolder, lab: Lab, plant: Plant, network: Subnet, index: int) -> Lab:
    """Start one subnet manager of a network, unless it runs, and return the record."""
    name, manager = network.manager_name(index), network.managers[index]
    if is_alive(lab, name):
        return lab
    _configure(manager, lab, plant, network, priority=len(network.managers) - index)
    env = ibsim.client_environment(network.simulator, network.manager_host(index))
    begin = partial(opensm.start_manager, manager, env={**env, **place.environment})
    lab, _ = place.starting(lab, name, begin)
    return lab


def _configure(
    manager: opensm.SubnetManager, lab: Lab, plant: Plant, network: Subnet, *, priority: int
) -> None:
    manager.folder.mkdir(mode=0o755, exist_ok=True)
    tiers = {plant.devices[device].tier for device in network.devices}
    has_roots = lab.engine in {"updn", "ftree"} and max(tiers) > 1
    roots = [d for d in network.devices if plant.devices[d].tier == max(tiers)]
    manager.roots.write_text(opensm.render_roots(map(ibsim.guid_of, roots)), encoding="ascii")
    text = opensm.render_configuration(
        manager, engine=lab.engine, has_roots=has_roots, priority=priority
    )
    manager.configuration.write_text(text, encoding="utf-8")


def _wait_up(lab: Lab, network: Subnet, index: int) -> None:
    running = _process(lab, network.manager_name(index))
    log = opensm.wait_up(network.managers[index], running)
    if log.fell_back(lab.engine):
        message = (
            f"OpenSM routes with {log.engine} instead of {lab.engine}; "
            "choose another engine with --routing"
        )
        raise LabError(message)


def _process(lab: Lab, name: str) -> Running:
    program = lab.program(name)
    assert program is not None, name
    return Running(pid=program.pid, started=program.started)


def is_alive(lab: Lab, name: str) -> bool:
    """Return whether the program of that name runs."""
    program = lab.program(name)
    return program is not None and is_running(program.pid, program.started)
