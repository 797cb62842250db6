"""Parts and designs made by hand, after NVIDIA RA-11333-001 V11 (H100 SuperPOD)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.fabric.design import Design, Reach, Stage, Tier
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.parts.parts import CableType, Nic, Node, PortMode, Switch, Transceiver
from netloom.provenance import Source

if TYPE_CHECKING:
    from netloom.spec.topology import Topology

SHEET = Source(citation="Google sheet 1Ft3RbeZ, Aug 2024", confidence="secondary")
RATE_BPS = 400e9


def switch(radix: int = 64, price: str | None = "36000USD", power: str | None = "747W") -> Switch:
    return Switch.model_validate(
        {
            "name": f"box-{radix}",
            "vendor": "any",
            "asic": "any",
            "protocol": "infiniband",
            "modes": (PortMode.model_validate({"count": radix, "rate": "400Gbps"}),),
            "price": price,
            "power": power,
            "price_range": ("36000USD", "50000USD"),
            "ports_per_cage": 2,
            "sources": {"*": SHEET},
        }
    )


def node(num_gpus: int = 8, power: str = "10.2kW", ports_per_cage: int = 2) -> Node:
    return Node.model_validate(
        {
            "name": "dgx",
            "gpu": "H100",
            "num_gpus": num_gpus,
            "scale_up": "nvlink",
            "nic": "ConnectX-7",
            "num_nics": num_gpus,
            "ports_per_cage": ports_per_cage,
            "host_rate": "504Gbps",
            "power": power,
        }
    )


def nic() -> Nic:
    return Nic.model_validate(
        {
            "name": "ConnectX-7",
            "vendor": "NVIDIA",
            "protocols": ("infiniband",),
            "rate": "400Gbps",
            "power": "25W",
        }
    )


def _transceiver(name: str, medium: str, reach: str, price: str, num_ports: int) -> Transceiver:
    return Transceiver.model_validate(
        {
            "name": name,
            "rate": "400Gbps",
            "num_ports": num_ports,
            "medium": medium,
            "reach": reach,
            "power": f"{8 * num_ports}W",
            "price": price,
            "sources": {"*": SHEET},
        }
    )


def transceivers() -> tuple[Transceiver, ...]:
    return (
        _transceiver("2xSR4", "multimode", "50m", "1200USD", 2),
        _transceiver("SR4", "multimode", "50m", "600USD", 1),
        _transceiver("2xDR4", "singlemode", "500m", "1500USD", 2),
        _transceiver("DR4", "singlemode", "500m", "750USD", 1),
    )


def cable(name: str, medium: str, reach: str, price: str, per_metre: str = "1USD") -> CableType:
    return CableType.model_validate(
        {
            "name": name,
            "medium": medium,
            "rates": ("400Gbps",),
            "reach": reach,
            "power": "0W",
            "price": price,
            "price_per_metre": per_metre,
            "sources": {"*": SHEET},
        }
    )


def cables() -> tuple[CableType, ...]:
    return (
        cable("DAC", "dac", "3m", "120USD", "30USD"),
        cable("ACC", "acc", "5m", "250USD", "30USD"),
        cable("AOC", "aoc", "30m", "900USD", "4USD"),
        cable("OM4", "multimode", "100m", "50USD"),
        cable("OS2", "singlemode", "10km", "50USD"),
    )


def rail_fat_tree(num_nodes: int, *, radix: int = 64, num_rails: int = 8) -> Design:
    """Full bisection, by the rule that reproduces RA-11333-001 V11 tables 3 and 4."""
    down = radix // 2
    blocks = -(-num_nodes // down)
    leaves = blocks * num_rails
    if leaves <= radix:
        need = -(-leaves * down // radix)
        spines, cores = next(n for n in range(need, down + 1) if down % n == 0), 0
    else:
        spines, cores = leaves, leaves // 2
    return _clos(RailFatTree(), num_nodes, switch(radix), num_rails, (leaves, spines, cores))


def rail_only(num_nodes: int, *, radix: int, num_rails: int) -> Design:
    """One Clos for each rail: a single switch where it fits, else two tiers."""
    down = radix // 2
    if num_nodes <= radix:
        return _clos(RailOnly(), num_nodes, switch(radix), num_rails, (num_rails, 0, 0))
    leaves = -(-num_nodes // down)
    spines = -(-leaves * down // radix)
    counts = (leaves * num_rails, spines * num_rails, 0)
    return _clos(RailOnly(), num_nodes, switch(radix), num_rails, counts)


def _clos(
    topology: Topology, num_nodes: int, box: Switch, num_rails: int, counts: tuple[int, int, int]
) -> Design:
    radix = box.modes[0].count
    down, ports = radix // 2, num_nodes * num_rails
    leaves, spines, cores = counts
    uplinks = leaves * down if spines else 0
    names = ("leaf", "spine", "core")
    reaches = (down if spines else num_nodes, num_nodes if not cores else down * down // num_rails)
    tiers = [Tier(name="leaf", num_switches=leaves, num_down=down, num_up=down if spines else 0)]
    if spines:
        below = uplinks // spines
        tiers.append(
            Tier(name="spine", num_switches=spines, num_down=below, num_up=down if cores else 0)
        )
    if cores:
        tiers.append(Tier(name="core", num_switches=cores, num_down=radix, num_up=0))
    numbers = [ports, uplinks, uplinks][: len(tiers)]
    lowers = ("node", *names)
    sizes = [*reaches, num_nodes][: len(tiers) - 1]
    return Design(
        topology=topology,
        num_nodes=num_nodes,
        num_gpus=num_nodes * num_rails,
        num_rails=num_rails,
        num_planes=1,
        num_ports=ports,
        port_rate_bps=RATE_BPS,
        switch=box,
        radix=radix,
        tiers=tuple(tiers),
        stages=tuple(
            Stage(lower=lowers[i], upper=names[i], num_cables=number, rate_bps=RATE_BPS)
            for i, number in enumerate(numbers)
        ),
        reaches=tuple(
            Reach(
                tier=name,
                num_nodes=min(size, num_nodes),
                num_hops=2 * i + 1,
                num_paths=down**i,
                num_links=0,
                num_switches=1,
                taper=1,
            )
            for i, (name, size) in enumerate(zip(names, [*sizes, num_nodes], strict=False))
        ),
    )
