"""Components of a run: sets of transfers of which none can change what another does.

Two transfers are in one component where they share an endpoint, a cable (both directions: credits
and pauses go against the data), a switch whose buffer is shared, or a choice of links, and where
one waits for the other; directly or through others. All ways that a packet might take count, also
those that only a failed link would make it take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.packet.apart.joined import joined
from netloom.fabric.wiring.ports import most_ports
from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["Components", "components_of"]

_Joints = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Components:
    """The components of a run, counted in the order of their first transfers.

    Attributes:
        count: How many; 1 where transfers cannot be told apart, or there are none.
        transfer: Of each transfer.
        link: Of each link; 0 for those that nothing uses.
    """

    count: int
    transfer: NDArray[np.int64]
    link: NDArray[np.int64]


def components_of(
    wiring: PacketTopology, transfers: Transfers, settings: PacketSettings
) -> Components:
    """Return the components of *transfers* on *wiring*."""
    if not len(transfers) or _is_joined(wiring, settings):
        return Components(
            count=1,
            transfer=np.zeros(len(transfers), dtype=np.int64),
            link=np.zeros(wiring.num_links, dtype=np.int64),
        )
    places = _Places.of(wiring, transfers, settings)
    first = joined(places.count + len(transfers), *places.joints(transfers))
    own = first[places.count :]
    _, index, number = np.unique(own, return_index=True, return_inverse=True)
    rank = np.empty(len(index), dtype=np.int64)
    rank[np.argsort(index)] = np.arange(len(index))
    of_root = np.zeros(len(first), dtype=np.int64)
    of_root[own[index]] = rank
    cable = places.cable + np.arange(wiring.num_links) // 2
    return Components(
        count=len(index), transfer=rank[number.reshape(-1)], link=of_root[first[cable]]
    )


def _is_joined(wiring: PacketTopology, settings: PacketSettings) -> bool:
    """Return whether all transfers are one component, whatever is sent."""
    return (
        settings.flow_control == "scheduled"  # cells share all fabric links
        or settings.balance in {"cells", "flowlet"}  # one table of flowlets serves all switches
        or settings.timing is not None
        or bool(settings.vertices)  # an edge tells far sources and far switches
        or most_ports(wiring) > 1  # transfers take them in turn
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Places:
    """What transfers may share, by number: vertices, cables, then choices of links.

    Attributes:
        cable: The number of the first cable.
        count: Of all.
        one: Places that are joined because what is in the one may come to the other.
        other: The other of each two.
    """

    cable: int
    count: int
    one: NDArray[np.int64]
    other: NDArray[np.int64]

    @classmethod
    def of(cls, wiring: PacketTopology, transfers: Transfers, settings: PacketSettings) -> _Places:
        cable = wiring.num_vertices
        choice = cable + -(-wiring.num_links // 2)
        state, link, following = _walk(wiring, transfers)
        states, number = np.unique(state, return_inverse=True)
        number = choice + number.reshape(-1)
        # One that has no links is at its goal: what is there parts again.
        place = np.minimum(np.searchsorted(states, following), max(len(states) - 1, 0))
        goes = np.flatnonzero(states[place] == following) if len(states) else place
        used = np.zeros(wiring.num_links, dtype=np.bool_)
        used[link] = True
        joints = (
            (number, cable + link // 2),
            (number[goes], choice + place[goes]),
            _at_endpoints(wiring, cable),
            _at_switches(wiring, used, settings, cable),
        )
        one, other = (np.concatenate(ends) for ends in zip(*joints, strict=True))
        return cls(cable=cable, count=choice + len(states), one=one, other=other)

    def joints(self, transfers: Transfers) -> _Joints:
        """Return what is joined: places, transfers with their ends, and with what they wait for."""
        own = self.count + np.arange(len(transfers))
        sends = transfers.size_bytes > 0
        waits = np.repeat(own, np.diff(transfers.wait_offsets))
        one = (self.one, own[sends], own[sends], waits)
        other = (
            self.other,
            transfers.source[sends].astype(np.int64),
            transfers.target[sends].astype(np.int64),
            self.count + transfers.waits.astype(np.int64),
        )
        return np.concatenate(one), np.concatenate(other)


def _at_endpoints(wiring: PacketTopology, cable: int) -> _Joints:
    """Return endpoints with their cables, which carry nothing of others."""
    source = wiring.link_source.astype(np.int64)
    link = np.flatnonzero(source < wiring.num_endpoints)
    return source[link], cable + link // 2


def _at_switches(
    wiring: PacketTopology, used: NDArray[np.bool_], settings: PacketSettings, cable: int
) -> _Joints:
    """Return switches whose buffers are shared with the cables that are used."""
    if settings.flow_control == "credits" or settings.switch.ingress_bytes:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    link = np.flatnonzero(used & ~wiring.link_scale_up)
    ends = np.concatenate([wiring.link_source[link], wiring.link_target[link]]).astype(np.int64)
    cables = np.tile(cable + link // 2, 2)
    switch = ends >= wiring.num_endpoints
    return ends[switch], cables[switch]


def _walk(
    wiring: PacketTopology, transfers: Transfers
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return each choice of links once for each of its links, the link, and the choice behind it.

    A choice is of a vertex and a goal: all that is there with that goal is in one component. Behind
    a link to an endpoint there is none: -1.
    """
    num_goals = wiring.choices.shape[1]
    sends = transfers.size_bytes > 0
    source, target = transfers.source[sends], transfers.target[sends]
    ends = np.concatenate([source, target]).astype(np.int64)
    goal = wiring.goal[np.concatenate([target, source])].astype(np.int64)
    fresh = np.unique(ends * num_goals + goal)
    seen = np.zeros(wiring.choices.size, dtype=np.bool_)
    sets, found = wiring.choices.reshape(-1), [(fresh[:0],) * 3]
    while len(fresh):
        seen[fresh] = True
        begin, end = wiring.offsets[sets[fresh]], wiring.offsets[sets[fresh] + 1]
        state = np.repeat(fresh, end - begin)
        link = wiring.links[spans(begin, end)].astype(np.int64)
        vertex = wiring.link_target[link].astype(np.int64)
        following = np.where(
            vertex < wiring.num_endpoints, -1, vertex * num_goals + state % num_goals
        )
        found.append((state, link, following))
        fresh = np.unique(following[following >= 0])
        fresh = fresh[~seen[fresh]]
    state, link, following = (np.concatenate(column) for column in zip(*found, strict=True))
    return state, link, following
