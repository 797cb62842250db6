"""What there is to look at: a lab, or the real network from this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lab.ethernet import (
    DeviceInterfaces,
    VirtualCables,
    built_of_namespaces,
)
from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of
from netloom.app.lab.routers import (
    addresses_of,
    daemons_of,
    kernels_of,
    named_devices,
    routers_of,
)
from netloom.app.watch.cabling import Cabled, CablingAudit
from netloom.app.watch.infiniband import (
    ManagerLog,
    SubnetCounters,
    SubnetLinks,
    Vantage,
)
from netloom.app.watch.managers import LabManagers
from netloom.app.watch.probing import LabProbes
from netloom.drivers import ibdiags
from netloom.errors import SpecError
from netloom.formats.infiniband.cables import built_of_links
from netloom.ops.observe.compare import Built
from netloom.ops.observe.naming import Naming

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder
    from netloom.ops.observe.designed import Designed
    from netloom.ops.observe.observation import Collector
    from netloom.ops.plant import Cable, Plant

__all__ = [
    "built_here",
    "built_in_lab",
    "cabling_of",
    "collectors_here",
    "infiniband_lab_collectors",
    "roce_lab_collectors",
]


def infiniband_lab_collectors(place: LabFolder, designed: Designed) -> list[Collector]:
    """Return what to look at in a lab of ibsim and OpenSM, which must be of that design.

    Raises:
        SpecError: there is no such lab, or it is of another design.
    """
    lab, plant = place.read(), _lab_plant(place, designed)
    found: list[Collector] = []
    for network in subnets_of(place, lab, plant):
        vantage = _vantage(place, network)
        links = f"subnet {network.number}"
        found.append(
            SubnetLinks(
                source=links, vantage=vantage, naming=Naming(), ports=_ports(plant), plant=plant
            )
        )
        counters = f"counters {network.number}"
        found.append(SubnetCounters(source=counters, vantage=vantage, naming=Naming()))
        found.append(LabManagers(place=place, network=network))
        found += [
            ManagerLog(
                source=f"log {network.manager_name(index)}",
                path=manager.log,
                part=network.manager_name(index),
                engine=lab.engine,
            )
            for index, manager in enumerate(network.managers)
        ]
    return found


def roce_lab_collectors(place: LabFolder, designed: Designed) -> list[Collector]:
    """Return what to look at in a lab of network namespaces, which must be of that design.

    Raises:
        SpecError: there is no such lab, or it is of another design.
    """
    place.read()
    plant = _lab_plant(place, designed)
    probes = LabProbes(place=place, plant=plant, fabric=designed.fabric)
    return [probes, *_ethernet(place, plant)]


def cabling_of(
    collectors: Sequence[Collector], designed: Designed, rate_bps: Callable[[Cable], float]
) -> list[Collector]:
    """Return the comparison with the design of what *collectors* see; none where they see none."""
    seers = [one for one in collectors if isinstance(one, Cabled)]
    return [CablingAudit(designed=designed, rate_bps=rate_bps, seers=seers)] if seers else []


def _vantage(place: LabFolder, network: Subnet) -> Vantage:
    """Return where to look from: hosts far apart, those that run subnet managers last."""
    hosts = network.hosts
    chosen = dict.fromkeys((hosts[-1], hosts[len(hosts) // 2], hosts[0]))
    clients = tuple(client_of(place, network, host=host) for host in chosen)
    return Vantage(clients=clients, num_devices=len(network.devices))


def _lab_plant(place: LabFolder, designed: Designed) -> Plant:
    plant = place.read_plant()
    if plant != designed.plant:
        raise SpecError(
            what=f"lab {place.name!r} was made from another scenario",
            remedy="give the one it was made of",
        )
    return plant


def _ports(plant: Plant) -> frozenset[str]:
    return frozenset(plant.port_name(port) for cable in plant.cables for port in cable.ends)


def _ethernet(place: LabFolder, plant: Plant) -> list[Collector]:
    """Return effects before causes.

    What breaks during a look then shows its cause too: a loss whose cable was read before it was
    pulled would be put to a switch.
    """
    interfaces = [DeviceInterfaces(machine=one) for one in named_devices(place, plant)]
    addresses = addresses_of(place, plant)
    cables = VirtualCables(kernels=kernels_of(place, plant))
    routers, daemons = routers_of(place, plant), daemons_of(place, plant)
    return [*routers, daemons, addresses, *interfaces, cables]


def collectors_here(
    designed: Designed, naming: Naming, folder: Path, sm_log: Path | None
) -> list[Collector]:
    """Return what to look at on a real InfiniBand network, through this machine's adapter.

    Args:
        designed: What should be there.
        naming: What devices and ports are called there.
        folder: For files of the programs.
        sm_log: The log of the subnet manager, where it runs here.
    """
    plant = designed.plant
    client = ibdiags.Client(env={}, folder=folder)
    vantage = Vantage(clients=(client,), num_devices=len(plant.devices))
    found: list[Collector] = [
        SubnetLinks(
            source="subnet", vantage=vantage, naming=naming, ports=_ports(plant), plant=plant
        ),
        SubnetCounters(source="counters", vantage=vantage, naming=naming),
    ]
    if sm_log is not None:
        found.append(ManagerLog(source="log opensm", path=sm_log, part="opensm"))
    return found


def built_here(naming: Naming, folder: Path) -> Built:
    """Return the cables of the InfiniBand network that this machine's adapter is in.

    Raises:
        LabError: it cannot be seen.
    """
    return built_of_links(ibdiags.links(ibdiags.Client(env={}, folder=folder)), naming)


def built_in_lab(place: LabFolder, designed: Designed) -> Built:
    """Return the cables of a lab, which must be of that design.

    Raises:
        SpecError: there is no such lab, or it is of another design.
        LabError: it cannot be seen.
    """
    lab, plant = place.read(), _lab_plant(place, designed)
    if lab.kind != "infiniband":
        return built_of_namespaces(named_devices(place, plant))
    networks = subnets_of(place, lab, plant)
    return Built.joined(built_of_links(_vantage(place, one).links(), Naming()) for one in networks)
