"""What goes wrong on a link or a vertex, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.engines.delivery import Columns
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["PacketFault", "fault_arrays", "flap", "reboot"]

_CODES: Final = {"down": 0, "up": 1, "rate": 2, "loss": 3, "pause": 4, "corrupt": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFault:
    """One thing that goes wrong on one directed link.

    Attributes:
        when_ps: From the beginning of the run.
        kind: ``down`` and ``up`` cut and restore a link; ``rate`` sets its rate (a slow receiver is
            a slow last link); ``loss`` loses packets, ``corrupt`` bits and with them packets by
            their length; ``pause`` holds every priority without end, as a NIC that does not stop
            asking for it.
        link: The directed link; a cable is two.
        rate_bps: For ``rate``.
        loss: Share of packets, or of bits for ``corrupt``; 0 ends either.
        burst_packets: Mean number lost in a row (Gilbert); up to 1: independently.
        least_bytes: Smaller packets are spared.
    """

    when_ps: int
    kind: Literal["down", "up", "rate", "loss", "pause", "corrupt"]
    link: int
    rate_bps: float = 0.0
    loss: float = 0.0
    burst_packets: float = 1.0
    least_bytes: int = 0


def flap(link: int, *, down_ps: int, up_ps: int) -> tuple[PacketFault, ...]:
    """Return the faults of a cable that is cut at *down_ps* and back at *up_ps*, both ways."""
    return tuple(
        fault
        for way in (link, link ^ 1)
        for fault in (
            PacketFault(when_ps=down_ps, kind="down", link=way),
            PacketFault(when_ps=up_ps, kind="up", link=way),
        )
    )


def reboot(
    wiring: PacketTopology, vertex: int, *, down_ps: int, up_ps: int
) -> tuple[PacketFault, ...]:
    """Return the faults of a switch that restarts: every cable of it is cut meanwhile."""
    leaving = np.flatnonzero(wiring.link_source == vertex)
    return tuple(
        fault for link in leaving.tolist() for fault in flap(link, down_ps=down_ps, up_ps=up_ps)
    )


def fault_arrays(faults: Sequence[PacketFault], num_links: int) -> Columns:
    """Return *faults* as the core wants them.

    Raises:
        SpecError: a fault names no link, or a number that cannot be.
    """
    for problem in _problems(faults, num_links):
        raise SpecError(problem)
    return {
        "fault_when_ps": np.array([f.when_ps for f in faults], dtype=np.int64),
        "fault_what": np.array([_CODES[f.kind] for f in faults], dtype=np.uint8),
        "fault_link": np.array([f.link for f in faults], dtype=np.uint32),
        "fault_value": np.array(
            [f.rate_bps if f.kind == "rate" else f.loss for f in faults], dtype=np.float64
        ),
        "fault_burst": np.array([f.burst_packets for f in faults], dtype=np.float64),
        "fault_least_bytes": np.array([f.least_bytes for f in faults], dtype=np.uint32),
    }


def _problems(faults: Sequence[PacketFault], num_links: int) -> Iterator[str]:
    for number, fault in enumerate(faults):
        where = f"fault {number}"
        if not 0 <= fault.link < num_links:
            yield f"{where}: there is no link {fault.link}; links are 0 to {num_links - 1}"
        if fault.when_ps < 0:
            yield f"{where}: {fault.when_ps} ps is before the run begins"
        if fault.kind == "rate" and fault.rate_bps < 1:
            yield f"{where}: {fault.rate_bps} bit/s is no rate; cut the link with 'down' instead"
        if not 0 <= fault.loss < 1:
            yield f"{where}: {fault.loss} must lie between 0 and 1; use 0 up to less than 1"
