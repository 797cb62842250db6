"""An InfiniBand lab: ibsim and OpenSM for every subnet of the plant; no privileges needed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.drivers import ibsim, opensm
from netloom.drivers.programs import Running, is_running, kill, start_ticks, wait_for
from netloom.errors import InfeasibleError, LabError
from netloom.fabric.topologies.entry import topology_entry
from netloom.formats.infiniband import ibsim_topology
from netloom.formats.infiniband import opensm as opensm_format
from netloom.ops.lab import MARK
from netloom.ops.plant import subnets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.app.lab.store import LabFolder
    from netloom.ops.lab import Lab
    from netloom.ops.plant import Plant
    from netloom.spec.topology import TopologySpec

__all__ = [
    "PROGRAMS",
    "Subnet",
    "agree",
    "bring_up",
    "default_engine",
    "end",
    "forget_dead",
    "is_alive",
    "start_manager",
    "start_simulator",
    "subnets_of",
]

PROGRAMS: Final = ("ibsim", "opensm", "ibnetdiscover")
MAX_SUBNETS: Final = 64
# A real switch repeats a trap until the manager has answered it; ibsim sends it once, and it is
# lost where the way to the manager is the very thing that changed. OpenSM then learns of it from
# the switches' PortStateChange bits, which it looks at this often.
SWEEP_S: Final = 1
MAX_STARTS: Final = 8
AGREE_S: Final = 8.0  # a standby polls twice in a second, and a handover takes a sweep
SWEPT_S: Final = 5.0  # for a sweep, which takes 0.05 s with 16 hosts
SWEPT_DEVICE_S: Final = 0.01  # more for each device: 4,618 of them take 10 s on two cores
GONE_S: Final = 60.0  # for the kernel to end a process that was killed
_CLIENT: Final = re.compile(
    r"^Client (?P<number>\d{1,2}): pid (?P<pid>\d{1,8}) ", re.ASCII | re.MULTILINE
)


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
    managers: tuple[opensm_format.SubnetManager, ...]

    def simulator_name(self) -> str:
        """Return what the record calls its ibsim."""
        return f"ibsim-{self.number}"

    def manager_name(self, index: int) -> str:
        """Return what the record calls one of its subnet managers."""
        return f"opensm-{self.number}.{index}"

    def manager_host(self, index: int) -> str:
        """Return where that manager runs: far apart, so that no leaf has all of them."""
        return self.hosts[index * len(self.hosts) // len(self.managers)]


def default_engine(topology: TopologySpec) -> str:
    """Return the routing engine for *topology*.

    Where switches stand in tiers, routes go up and then down; other graphs need an engine that
    keeps any of them free of deadlocks (on a torus of 5x5x5 updn and dfsssp fall back to minhop,
    nue does not).
    """
    return "updn" if topology_entry(topology).is_tiered else "nue"


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
                opensm_format.SubnetManager(folder=place.scratch / f"opensm-{number}.{index}")
                for index in range(lab.num_managers)
            ),
        )
        for number, devices in enumerate(subnets(plant))
    )


def check_size(plant: Plant, networks: Sequence[Subnet]) -> None:
    """Raise InfeasibleError when the lab would be larger than one machine simulates."""
    if len(plant.hosts) > ibsim.MAX_HOSTS:
        raise InfeasibleError(
            what=f"{len(plant.hosts):,} NIC ports; an InfiniBand lab goes to {ibsim.MAX_HOSTS:,}",
            remedy="give the scenario fewer nodes",
        )
    if len(networks) > MAX_SUBNETS:
        raise InfeasibleError(
            what=f"{len(networks)} networks that stand alone", remedy=f"a lab goes to {MAX_SUBNETS}"
        )


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
    for index in range(lab.num_managers):
        for network in networks:
            lab = start_manager(place, lab, plant, network, index)
        for network in networks:
            _wait_up(lab, network, index)
    for network in networks if lab.num_managers > 1 else ():
        lab = agree(place, lab, plant, network)
    return place.write(replace(lab, phase="up"))


def start_simulator(place: LabFolder, lab: Lab, plant: Plant, network: Subnet) -> Lab:
    """Start the ibsim of a network and return the record; it is ready some time later."""
    topology = ibsim_topology.render_topology(plant, network.devices)
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
    forget_dead(network.simulator)
    _configure(manager, lab, plant, network, priority=len(network.managers) - index)
    env = ibsim.client_environment(network.simulator, network.manager_host(index))
    begin = partial(opensm.start_manager, manager, env={**env, **place.environment})
    lab, _ = place.starting(lab, name, begin)
    return lab


def agree(place: LabFolder, lab: Lab, plant: Plant, network: Subnet) -> Lab:
    """Return the record once one manager is master and sweeps, and the others stand by.

    Managers ask one another for SMInfo, and wait until an answer is there or time is up. OpenSM
    answers no other before its own first sweep, which one start in six beside another ran into, and
    an answer can be lost on a cable that was just pulled. On a real host the time is up then; but
    libumad2sim has no time-outs, and the one that asked never sweeps again. It is started again.

    Raises:
        LabError: they do not agree.
    """
    most_s = AGREE_S + len(network.devices) * SWEPT_DEVICE_S
    for _ in range(MAX_STARTS):
        master = wait_for(partial(_lone_master, lab, network), timeout_s=most_s)
        if master is not None and _sweeps(lab, network, master):
            return lab
        for index in _astray(lab, network) if master is None else (master,):
            end(network.simulator, _process(lab, network.manager_name(index)))
            lab = start_manager(place, lab, plant, network, index)
    raise LabError(
        what=f"the managers of subnet {network.number} do not agree on a master",
        remedy="bring the lab up again",
    )


def _states(lab: Lab, network: Subnet) -> dict[int, opensm_format.State]:
    """Return what each manager that runs says it is."""
    alive = [i for i in range(len(network.managers)) if is_alive(lab, network.manager_name(i))]
    return {index: opensm.read_log(network.managers[index]).state for index in alive}


def _lone_master(lab: Lab, network: Subnet) -> int | None:
    """Return which manager is master, when all others that run stand by."""
    states = _states(lab, network)
    masters = [index for index, state in states.items() if state == "master"]
    settled = len(masters) == 1 and set(states.values()) <= {"master", "standby"}
    return masters[0] if settled else None


def _astray(lab: Lab, network: Subnet) -> list[int]:
    """Return the managers that are neither master nor stand by, or else all that are master."""
    states = _states(lab, network)
    lost = [index for index, state in states.items() if state not in ("master", "standby")]
    return lost or [index for index, state in states.items() if state == "master"] or [*states]


def _sweeps(lab: Lab, network: Subnet, index: int) -> bool:
    """Return whether a master sweeps when it is asked to."""
    manager = network.managers[index]
    offset = opensm.reread(manager, _process(lab, network.manager_name(index)))
    swept = wait_for(
        lambda: opensm.read_log(manager, offset=offset).num_sweeps or None,
        timeout_s=SWEPT_S + len(network.devices) * SWEPT_DEVICE_S,
    )
    return swept is not None


def end(simulator: ibsim.Simulator, manager: Running) -> None:
    """Kill a manager, as a crash would, and let ibsim know.

    Raises:
        LabError: ibsim does not answer.
    """
    kill(manager)
    wait_for(lambda: True if not manager.is_alive else None, timeout_s=GONE_S)
    forget_dead(simulator)


def _configure(
    manager: opensm_format.SubnetManager, lab: Lab, plant: Plant, network: Subnet, *, priority: int
) -> None:
    manager.folder.mkdir(mode=0o755, exist_ok=True)
    tiers = {plant.devices[device].tier for device in network.devices}
    has_roots = lab.engine in {"updn", "ftree"} and max(tiers) > 1
    roots = [d for d in network.devices if plant.devices[d].tier == max(tiers)]
    manager.roots.write_text(
        opensm_format.render_roots(map(ibsim_topology.guid_of, roots)), encoding="ascii"
    )
    text = opensm_format.render_configuration(
        manager,
        engine=lab.engine,
        has_roots=has_roots,
        priority=priority,
        more={"sweep_interval": SWEEP_S},
    )
    manager.configuration.write_text(text, encoding="utf-8")


def forget_dead(simulator: ibsim.Simulator) -> None:
    """Let ibsim forget the clients that died without a word, as those that are killed do.

    It holds ten; and when it finds a manager dead only later, by a datagram that cannot be
    delivered, it takes the mark of a manager (IsSM) from the port, though another may run there
    by then, unseen.

    Raises:
        LabError: ibsim does not answer.
    """
    for match in _CLIENT.finditer(ibsim.command(simulator, "Attached")):
        if start_ticks(int(match["pid"])) is None:
            ibsim.command(simulator, f"X {match['number']}")


def _wait_up(lab: Lab, network: Subnet, index: int) -> None:
    running = _process(lab, network.manager_name(index))
    log = opensm.wait_up(network.managers[index], running)
    if log.fell_back(lab.engine):
        raise LabError(
            what=f"OpenSM routes with {log.engine} instead of {lab.engine}",
            remedy="choose another engine with --routing",
        )


def _process(lab: Lab, name: str) -> Running:
    program = lab.program(name)
    assert program is not None, name
    return Running(pid=program.pid, started=program.started)


def is_alive(lab: Lab, name: str) -> bool:
    """Return whether the program of that name runs."""
    program = lab.program(name)
    return program is not None and is_running(program.pid, program.started)
