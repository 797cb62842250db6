"""Faults of a scenario on the links of its wiring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.faults import Fault
from netloom.errors import SpecError, at
from netloom.spec.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.fabric.wiring import Wiring
    from netloom.spec.faults import LinkFault

__all__ = ["faults_of"]

_PS: Final = 1e12


def faults_of(asked: Sequence[LinkFault], wiring: Wiring) -> tuple[Fault, ...]:
    """Return what the packet engine does about *asked*.

    Routes stay as they are: packets for a link that is down are lost until it is mended, as
    before a routing protocol or a subnet manager has noticed.

    Raises:
        SpecError: a part is not there; the message names it.
    """
    found: list[Fault] = []
    for number, fault in enumerate(asked):
        with at(f"faults.{number}"):
            found += _faults(fault, wiring)
    return tuple(found)


def _faults(asked: LinkFault, wiring: Wiring) -> list[Fault]:
    links = _links(asked, wiring).tolist()
    found: list[Fault] = []
    for turn in range(asked.times or 1):
        late_s = turn * (asked.every_s or 0.0)
        found += [_begun(asked, link, late_s) for link in links]
        if asked.until_s is not None:
            when_ps = round((asked.until_s + late_s) * _PS)
            found += [_mended(asked, link, when_ps, wiring) for link in links]
    return found


def _begun(asked: LinkFault, link: int, late_s: float) -> Fault:
    when_ps = round((asked.at_s + late_s) * _PS)
    match asked.kind:
        case "slow":
            return Fault(when_ps=when_ps, kind="rate", link=link, rate_bps=asked.rate_bps or 0.0)
        case "loss":
            return Fault(
                when_ps=when_ps,
                kind="loss",
                link=link,
                loss=asked.loss or 0.0,
                burst_packets=asked.burst_packets or 1.0,
                least_bytes=round(asked.least_bytes or 0),
            )
        case "corrupt":
            return Fault(when_ps=when_ps, kind="corrupt", link=link, loss=asked.bit_errors or 0.0)
        case _:
            return Fault(when_ps=when_ps, kind=asked.kind, link=link)


def _mended(asked: LinkFault, link: int, when_ps: int, wiring: Wiring) -> Fault:
    if asked.kind == "slow":
        rate_bps = float(wiring.link_rate_bps[link])
        return Fault(when_ps=when_ps, kind="rate", link=link, rate_bps=rate_bps)
    return Fault(when_ps=when_ps, kind="up" if asked.kind == "down" else "loss", link=link)


def _links(asked: LinkFault, wiring: Wiring) -> NDArray[np.int64]:
    """Return the links that are meant: into a part that pauses, else as the direction says."""
    ends = asked.part.split("-") if asked.part not in wiring.name else [asked.part]
    if len(ends) > 2:
        message = f"{asked.part!r} names {len(ends)} parts; name one, or two joined by '-'"
        raise SpecError(message)
    vertices = [_vertex(end, wiring) for end in ends]
    source, target = wiring.link_source, wiring.link_target
    if len(vertices) == 1:
        into, out = target == vertices[0], source == vertices[0]
    else:
        into = (source == vertices[1]) & (target == vertices[0])
        out = (source == vertices[0]) & (target == vertices[1])
    direction = "to" if asked.kind == "pause" else asked.direction
    links = np.flatnonzero({"to": into, "from": out, "both": into | out}[direction])
    if not len(links):
        message = f"no cable joins {' and '.join(ends)}; name two neighbours"
        raise SpecError(message)
    return links


def _vertex(name: str, wiring: Wiring) -> int:
    if name in wiring.name:
        return wiring.name.index(name)
    kind = name.partition(":")[0]
    known = list(dict.fromkeys(other.partition(":")[0] for other in wiring.name))
    if kind not in known:
        message = f"{name!r} is not there; {did_you_mean(kind, known)}"
        raise SpecError(message)
    count = sum(other.startswith(f"{kind}:") for other in wiring.name)
    message = f"{name!r} is not there; write {kind}:0 to {kind}:{count - 1}, two joined by '-'"
    raise SpecError(message)
