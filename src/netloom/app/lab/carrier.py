"""Which ends of a RoCE lab's cables have carrier, and their MTU, as the kernel says by itself."""

from __future__ import annotations

import fcntl
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from netloom.app.lab.roce import cable_ends
from netloom.drivers.netns import inside
from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netloom.app.lab.store import LabFolder
    from netloom.drivers.netns import End
    from netloom.ops.plant import Cable, Plant

__all__ = ["ends_of", "mtus_of", "with_carrier"]

SIOCGIFFLAGS: Final = 0x8913  # Linux sockios.h
SIOCGIFMTU: Final = 0x8921
IFF_UP: Final = 0x1  # Linux if.h
IFF_RUNNING: Final = 0x40
_IFREQ: Final = struct.Struct("16sH14x")  # netdevice(7)
_IFREQ_MTU: Final = struct.Struct("16si12x")


def ends_of(place: LabFolder, plant: Plant, cables: Iterable[Cable]) -> list[End]:
    """Return both ends of cables."""
    return [end for cable in cables for end in cable_ends(place, plant, cable)]


def with_carrier(ends: Iterable[End], doubts: list[str]) -> set[End]:
    """Return those of the ends that have carrier and are enabled.

    Args:
        ends: To ask for.
        doubts: Gets what could not be asked; such an end is left out.
    """
    up: set[End] = set()
    for inner, asker in _by_space(ends, doubts):
        up |= {end for end in inner if _has_carrier(asker, end.interface)}
    return up


def mtus_of(ends: Iterable[End]) -> dict[End, int]:
    """Return the largest packet of each end; those that do not answer are left out."""
    found: dict[End, int] = {}
    for inner, asker in _by_space(ends, []):
        for end in inner:
            request = _IFREQ_MTU.pack(end.interface.encode("ascii"), 0)
            with suppress(OSError):  # there is none
                found[end] = _IFREQ_MTU.unpack(fcntl.ioctl(asker, SIOCGIFMTU, request))[1]
    return found


def _by_space(ends: Iterable[End], doubts: list[str]) -> Iterator[tuple[list[End], socket.socket]]:
    """Give the ends of each namespace, with a socket in it."""
    by_space: dict[str, list[End]] = {}
    for end in ends:
        by_space.setdefault(end.namespace, []).append(end)
    for space, inner in by_space.items():
        try:
            with inside(space):
                asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        except LabError as error:
            doubts.append(str(error))
            continue
        with asker:
            yield inner, asker


def _has_carrier(asker: socket.socket, interface: str) -> bool:
    """Return whether an interface of the socket's namespace is up and running."""
    request = _IFREQ.pack(interface.encode("ascii"), 0)
    try:
        _, flags = _IFREQ.unpack(fcntl.ioctl(asker, SIOCGIFFLAGS, request))
    except OSError:  # there is none
        return False
    wanted = IFF_UP | IFF_RUNNING
    return int(flags) & wanted == wanted
