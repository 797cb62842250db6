"""Faults of a scenario on the links of its wiring."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.faults import PacketFault
from netloom.errors import SpecError, at
from netloom.spec.problems import did_you_mean
from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.spec.faults import LinkFault

__all__ = ["faults_of"]

_PS: Final = 1e12
_NEVER_PS: Final = 2**63 - 1
_MAX_SPELLS: Final = 1_000_000  # some seconds and a GB before the run begins
# What of a link each kind of fault changes; what of two changes the same they say together.
_CHANGES: Final = {
    "down": "cut",
    "slow": "rate",
    "loss": "loss",
    "corrupt": "loss",
    "pause": "pause",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spell:
    """A time for which a link has a fault.

    Attributes:
        number: Of the fault in the scenario.
        end_ps: When it is repaired, or ``_NEVER_PS``.
    """

    number: int
    fault: LinkFault
    link: int
    begin_ps: int
    end_ps: int


def faults_of(asked: Sequence[LinkFault], wiring: PacketTopology) -> tuple[PacketFault, ...]:
    """Return what the packet engine does about *asked*, in the order of time.

    Routes stay as they are: packets for a link that is down are lost until it is repaired, as
    before a routing protocol or a subnet manager has noticed. A link that several faults cut is
    down until the last of them is repaired, and one that several slow down has the lowest rate.

    Raises:
        SpecError: a part is not there, or loses packets in two ways at a time, or no link of it is
            as fast as it is to be slow; the message names it.
    """
    spells: dict[tuple[str, int], list[_Spell]] = {}
    for number, fault in enumerate(asked):
        with at(f"faults.{number}"):
            for spell in _spells(number, fault, wiring):
                spells.setdefault((_CHANGES[fault.kind], spell.link), []).append(spell)
    found = [one for (what, _), some in spells.items() for one in _together(what, some, wiring)]
    return tuple(sorted(found, key=lambda fault: fault.when_ps))


def _spells(number: int, asked: LinkFault, wiring: PacketTopology) -> list[_Spell]:
    links = _links(asked, wiring)
    if asked.kind == "slow":
        own_bps = wiring.link_rate_bps[links]
        links = links[own_bps > (asked.rate_bps or 0.0)]
        if not len(links):
            most = format_quantity(float(own_bps.max()), RATE)
            raise SpecError(
                key="rate",
                what=f"no link of {asked.part} is faster, {most} at most",
                remedy="give a lower one",
            )
    if (count := len(links) * (asked.times or 1)) > _MAX_SPELLS:
        raise SpecError(
            key="times",
            what=f"{asked.times:,} on {len(links):,} links are {count:,} faults",
            remedy=f"give {_MAX_SPELLS // len(links):,} at most, or a part with fewer links",
        )
    found: list[_Spell] = []
    for turn in range(asked.times or 1):
        late_s = turn * (asked.every_s or 0.0)
        begin_ps = round((asked.at_s + late_s) * _PS)
        repaired = asked.until_s is not None
        end_ps = round(((asked.until_s or 0.0) + late_s) * _PS) if repaired else _NEVER_PS
        found += [
            _Spell(number=number, fault=asked, link=link, begin_ps=begin_ps, end_ps=end_ps)
            for link in links.tolist()
        ]
    return found


def _together(what: str, spells: Sequence[_Spell], wiring: PacketTopology) -> Iterator[PacketFault]:
    """Yield what becomes of one link by all *spells* that change the same of it."""
    link = spells[0].link
    if what == "pause":  # it has no end
        when_ps = min(spell.begin_ps for spell in spells)
        yield PacketFault(when_ps=when_ps, kind="pause", link=link)
    elif what == "cut":
        was_cut = False
        for when_ps, active in _states(spells):
            if bool(active) != was_cut:
                was_cut = bool(active)
                yield PacketFault(when_ps=when_ps, kind="down" if was_cut else "up", link=link)
    elif what == "rate":
        own_bps = float(wiring.link_rate_bps[link])
        for when_ps, active in _states(spells):
            rate_bps = min((spell.fault.rate_bps or own_bps for spell in active), default=own_bps)
            yield PacketFault(when_ps=when_ps, kind="rate", link=link, rate_bps=rate_bps)
    else:
        for when_ps, active in _states(spells):
            _check_one(active, wiring)
            yield _loss(active[0].fault if active else None, link, when_ps)


def _states(spells: Sequence[_Spell]) -> Iterator[tuple[int, list[_Spell]]]:
    """Yield each time at which some spell begins or ends, and those that last on from then."""
    turns = [(spell.begin_ps, number, False) for number, spell in enumerate(spells)]
    turns += [(spell.end_ps, number, True) for number, spell in enumerate(spells)]
    active: dict[int, _Spell] = {}
    for when_ps, some in groupby(sorted(turns), key=itemgetter(0)):
        if when_ps == _NEVER_PS:
            return
        for _, number, ends in some:
            if ends:
                del active[number]
            else:
                active[number] = spells[number]
        yield when_ps, list(active.values())


def _check_one(active: Sequence[_Spell], wiring: PacketTopology) -> None:
    """Raise where a link would lose packets in several ways at a time: the core knows one."""
    if len(active) > 1:
        one, other = sorted(spell.number for spell in active)[:2]
        link = active[0].link
        ends = (wiring.link_source[link], wiring.link_target[link])
        names = "->".join(wiring.name[end] for end in ends)
        raise SpecError(
            key=f"faults.{other}",
            what=f"{names} loses packets by faults.{one} at the same time",
            remedy="let one end before the other begins, or make them one",
        )


def _loss(asked: LinkFault | None, link: int, when_ps: int) -> PacketFault:
    """Return what a link loses from now on; None: nothing."""
    if asked is None:
        return PacketFault(when_ps=when_ps, kind="loss", link=link)
    if asked.kind == "corrupt":
        return PacketFault(when_ps=when_ps, kind="corrupt", link=link, loss=asked.bit_errors or 0.0)
    return PacketFault(
        when_ps=when_ps,
        kind="loss",
        link=link,
        loss=asked.loss or 0.0,
        burst_packets=asked.burst_packets or 1.0,
        least_bytes=round(asked.least_bytes or 0),
    )


def _links(asked: LinkFault, wiring: PacketTopology) -> NDArray[np.int64]:
    """Return the links that are meant: into a part that pauses, else as the direction says."""
    ends = asked.part.split("-") if asked.part not in wiring.name else [asked.part]
    if len(ends) > 2:
        raise SpecError(
            what=f"{asked.part!r} names {len(ends)} parts", remedy="name one, or two joined by '-'"
        )
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
        raise SpecError(what=f"no cable joins {' and '.join(ends)}", remedy="name two neighbours")
    return links


def _vertex(name: str, wiring: PacketTopology) -> int:
    if name in wiring.name:
        return wiring.name.index(name)
    kind = name.partition(":")[0]
    known = list(dict.fromkeys(other.partition(":")[0] for other in wiring.name))
    if kind not in known:
        raise SpecError(what=f"{name!r} is not there", remedy=did_you_mean(kind, known))
    count = sum(other.startswith(f"{kind}:") for other in wiring.name)
    raise SpecError(
        what=f"{name!r} is not there",
        remedy=f"write {kind}:0 to {kind}:{count - 1}, two joined by '-'",
    )
