"""The topology file of ibsim, the InfiniBand fabric simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.ops.plant import Plant, Port

__all__ = [
    "guid_of",
    "port_guid_of",
    "render_topology",
    "speed_names",
]

MAX_SWITCH_PORTS: Final = 254  # port numbers of InfiniBand are a byte, 255 is reserved
GUID_BASE: Final = 0x0200_6E6C_0000_0000  # locally administered, so no vendor's
GUID_STEP: Final = 16  # ibsim numbers the ports of an adapter from its own GUID on
# 4x links as ibsim 0.10 knows them; it reads NDR and faster as QDR.
SPEEDS_BPS: Final = {
    "4xSDR": 10e9,
    "4xDDR": 20e9,
    "4xQDR": 40e9,
    "4xFDR": 56e9,
    "4xEDR": 100e9,
    "4xHDR": 200e9,
}


def guid_of(device: int) -> int:
    """Return the GUID of the device at this place in the plant."""
    return GUID_BASE + GUID_STEP * (device + 1)


def port_guid_of(plant: Plant, device: int) -> int:
    """Return the GUID by which a device's ports are asked for: an adapter's port has its own."""
    return guid_of(device) + (plant.devices[device].role == "host")


def speed_names(rates_bps: Iterable[float]) -> dict[float, str]:
    """Return how the topology file calls each rate.

    ibsim ends at HDR: where a rate is above that, all are scaled so that the fastest is HDR, and
    proportions stay, down to the next lower speed that has a name.
    """
    rates = set(rates_bps)
    fastest_bps = SPEEDS_BPS["4xHDR"]
    scale = min(1.0, fastest_bps / max(rates, default=fastest_bps))
    return {rate_bps: _named(rate_bps * scale) for rate_bps in rates}


def _named(rate_bps: float) -> str:
    slower = [name for name, speed_bps in SPEEDS_BPS.items() if speed_bps <= rate_bps * 1.001]
    return slower[-1] if slower else "4xSDR"


def render_topology(plant: Plant, devices: Sequence[int]) -> str:
    """Return the topology file of one subnet, in the format of ibnetdiscover.

    Args:
        plant: Devices and cables.
        devices: Those of the subnet, hosts and switches.

    Raises:
        InfeasibleError: a switch has more ports than InfiniBand can number.
    """
    speeds = speed_names(cable.rate_bps for cable in plant.cables)
    peers: dict[int, list[tuple[int, Port, str]]] = {device: [] for device in devices}
    for cable in plant.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            if here.device in peers:
                peers[here.device].append((here.number, there, speeds[cable.rate_bps]))
    return "\n".join(_block(plant, device, sorted(peers[device])) for device in devices)


def _block(plant: Plant, device: int, peers: Sequence[tuple[int, Port, str]]) -> str:
    here = plant.devices[device]
    if here.num_ports > MAX_SWITCH_PORTS:
        raise InfeasibleError(
            what=f"{here.name}: {here.num_ports} ports, but InfiniBand numbers {MAX_SWITCH_PORTS}",
            remedy="choose a smaller switch",
        )
    guid, name = f"0x{guid_of(device):016x}", here.name
    if here.role == "switch":
        head = f'switchguid={guid}\nSwitch\t{here.num_ports} "{name}"'
        head += f'\t\t# "{name}" base port 0 lid 0 lmc 0\n'
    else:
        head = f'caguid={guid}\nHca\t{here.num_ports} "{name}"\t\t# "{name}"\n'
    own = "" if here.role == "switch" else "lid 0 lmc 0 "
    return head + "".join(
        f'[{number}]\t"{plant.devices[port.device].name}"[{port.number}]'
        f'\t\t# {own}"{plant.devices[port.device].name}" lid 0 {speed}\n'
        for number, port, speed in peers
    )
