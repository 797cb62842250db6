"""Which ends of a RoCE lab's cables have carrier, as the kernel says without another program."""

from __future__ import annotations

import fcntl
import socket
import struct
from typing import TYPE_CHECKING, Final

from netloom.app.lab.probes import inside
from netloom.app.lab.roce import cable_ends
from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.app.lab.store import LabFolder
    from netloom.drivers.netns import End
    from netloom.ops.plant import Cable, Plant

__all__ = ["ends_of", "with_carrier"]

SIOCGIFFLAGS: Final = 0x8913  # Linux sockios.h
IFF_UP: Final = 0x1  # Linux if.h
IFF_RUNNING: Final = 0x40
_IFREQ: Final = struct.Struct("16sH14x")  # netdevice(7)


def ends_of(place: LabFolder, plant: Plant, cables: Iterable[Cable]) -> list[End]:
    """Return both ends of cables."""
    return [end for cable in cables for end in cable_ends(place, plant, cable)]


def with_carrier(ends: Iterable[End], doubts: list[str]) -> set[End]:
    """Return those of the ends that have carrier and are enabled.

    Args:
        ends: To ask for.
        doubts: Gets what could not be asked; such an end is left out.
    """
    by_space: dict[str, list[End]] = {}
    for end in ends:
        by_space.setdefault(end.namespace, []).append(end)
    up = set()
    for space, inner in by_space.items():
        try:
            with inside(space), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
                up |= {end for end in inner if _has_carrier(asker, end.interface)}
        except LabError as error:
            doubts.append(str(error))
    return up


def _has_carrier(asker: socket.socket, interface: str) -> bool:
    """Return whether an interface of the socket's namespace is up and running."""
    request = _IFREQ.pack(interface.encode("ascii"), 0)
    try:
        _, flags = _IFREQ.unpack(fcntl.ioctl(asker, SIOCGIFFLAGS, request))
    except OSError:  # there is none
        return False
    wanted = IFF_UP | IFF_RUNNING
    return int(flags) & wanted == wanted
