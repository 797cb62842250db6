"""The wirings of several sites as one: an edge switch at each, and lines between these.

Inside a site everything is as it was: its switches, cables and ways. What leaves it goes up to the
site's top switches and its edge, over the line to the next site, and down from the edge there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import InfeasibleError
from netloom.fabric.wiring.paths import num_hops
from netloom.fabric.wiring.wiring import PacketTopology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["JoinedSites", "SiteLine", "join_sites"]

_FAR: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLine:
    """A line between the edges of two sites.

    Attributes:
        ends: The numbers of the sites.
        rate_bps: Of each of its waves, which are cables side by side.
        delay_ps: Of each wave, one way.
    """

    ends: tuple[int, int]
    rate_bps: tuple[float, ...]
    delay_ps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedSites:
    """Sites joined by lines.

    Attributes:
        wiring: All of it: endpoints site by site, then the switches of each site, then the edges.
        edges: The edge switch of each site.
        waves: Of each line the links from its first to its second end; those back are link ^ 1.
    """

    wiring: PacketTopology
    edges: tuple[int, ...]
    waves: tuple[tuple[int, ...], ...]


def join_sites(
    sites: Sequence[PacketTopology],
    names: Sequence[str],
    lines: Sequence[SiteLine],
    *,
    edge_forward_ps: int,
) -> JoinedSites:
    """Return *sites* joined by *lines*.

    Args:
        sites: The wiring of each.
        names: Of each site; those of its vertices follow a slash.
        lines: At least one between each site and the rest.
        edge_forward_ps: What an edge switch adds to each packet.

    Raises:
        InfeasibleError: no line leads from one site to another.
    """
    plan = _Plan(tuple(sites), tuple(lines))
    cables = [_edge_cables(plan, number) for number in range(len(sites))]
    waves = _line_cables(plan)
    links = _links(plan, cables, waves)
    choices, offsets, sets = _routes(plan, links, cables, waves)
    first_wave = plan.num_links + sum(2 * len(one.rate_bps) for one in cables)
    wave_links, at = [], first_wave
    for line in lines:
        wave_links.append(tuple(range(at, at + 2 * len(line.rate_bps), 2)))
        at += 2 * len(line.rate_bps)
    own = [
        f"{name}/{vertex}" for name, one in zip(names, sites, strict=True) for vertex in one.name
    ]
    order = np.argsort(np.concatenate(plan.new_vertex), kind="stable")
    return JoinedSites(
        wiring=PacketTopology(
            num_endpoints=plan.num_endpoints,
            name=(*(own[at] for at in order.tolist()), *(f"{name}/edge" for name in names)),
            **links,
            forward_ps=np.concatenate(
                [
                    np.concatenate([one.forward_ps for one in sites])[order],
                    np.full(len(sites), edge_forward_ps, dtype=np.int64),
                ]
            ),
            goal=np.concatenate(
                [one.goal + base for one, base in zip(sites, plan.first_goal, strict=True)]
            ).astype(np.int32),
            choices=choices,
            offsets=offsets,
            links=sets,
        ),
        edges=tuple(plan.edge_of(number) for number in range(len(sites))),
        waves=tuple(wave_links),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Cables:
    """Cables side by side in the joined numbers."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    rate_bps: NDArray[np.float64]
    delay_ps: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Sites and lines, and how vertices, links and goals are numbered."""

    sites: tuple[PacketTopology, ...]
    lines: tuple[SiteLine, ...]

    @property
    def num_endpoints(self) -> int:
        return sum(one.num_endpoints for one in self.sites)

    @property
    def num_links(self) -> int:
        """Links inside all sites."""
        return sum(one.num_links for one in self.sites)

    @property
    def num_vertices(self) -> int:
        return sum(one.num_vertices for one in self.sites) + len(self.sites)

    @property
    def num_goals(self) -> int:
        return sum(one.choices.shape[1] for one in self.sites)

    @property
    def first_goal(self) -> list[int]:
        counts = [one.choices.shape[1] for one in self.sites]
        return [sum(counts[:number]) for number in range(len(counts))]

    @property
    def first_link(self) -> list[int]:
        counts = [one.num_links for one in self.sites]
        return [sum(counts[:number]) for number in range(len(counts))]

    @property
    def new_vertex(self) -> list[NDArray[np.int64]]:
        """The joined number of each vertex of each site."""
        found, end, switch = [], 0, self.num_endpoints
        for one in self.sites:
            others = one.num_vertices - one.num_endpoints
            found.append(
                np.concatenate(
                    [end + np.arange(one.num_endpoints), switch + np.arange(others)]
                ).astype(np.int64)
            )
            end, switch = end + one.num_endpoints, switch + others
        return found

    def edge_of(self, number: int) -> int:
        return self.num_vertices - len(self.sites) + number


def _tops(site: PacketTopology) -> NDArray[np.int64]:
    """Return the switches that are farthest from endpoints, scale-up networks apart."""
    outside = ~site.link_scale_up.astype(bool)
    far = _distances(site, np.arange(site.num_endpoints), usable=np.ones_like(outside))
    is_switch = np.zeros(site.num_vertices, dtype=bool)
    is_switch[site.link_source[outside]] = True
    is_switch[: site.num_endpoints] = False
    is_switch[site.link_target[~outside & (site.link_source < site.num_endpoints)]] = False  # NICs
    reached = np.where(is_switch & (far < _FAR), far, -1)
    return np.flatnonzero((reached == reached.max()) & is_switch)


def _distances(
    site: PacketTopology, begin: NDArray[np.int64], *, usable: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return in how many links each vertex leads to one of *begin*; endpoints forward nothing."""
    far = np.full(site.num_vertices, _FAR, dtype=np.int64)
    far[begin] = 0
    passes = np.ones(site.num_vertices, dtype=bool)
    passes[: site.num_endpoints] = False
    passes[begin] = True
    for step in range(1, site.num_vertices + 1):
        leads = usable & passes[site.link_target] & (far[site.link_target] == step - 1)
        new = site.link_source[leads]
        new = new[far[new] == _FAR]
        if not len(new):
            return far
        far[new] = step
    return far


def _edge_cables(plan: _Plan, number: int) -> _Cables:
    """Return the cables from a site's top switches to its edge, no slower than all its lines."""
    site = plan.sites[number]
    tops = _tops(site)
    all_bps = sum(sum(line.rate_bps) for line in plan.lines if number in line.ends)
    outside = ~site.link_scale_up.astype(bool)
    rate_bps = max(all_bps / len(tops), float(site.link_rate_bps[outside].max()))
    delay_ps = int(site.link_delay_ps[outside].max())
    return _Cables(
        lower=plan.new_vertex[number][tops],
        upper=np.full(len(tops), plan.edge_of(number), dtype=np.int64),
        rate_bps=np.full(len(tops), np.rint(rate_bps)),
        delay_ps=np.full(len(tops), delay_ps, dtype=np.int64),
    )


def _line_cables(plan: _Plan) -> _Cables:
    ends = [(line.ends, len(line.rate_bps)) for line in plan.lines]
    return _Cables(
        lower=np.array([plan.edge_of(a) for (a, _), n in ends for _ in range(n)], dtype=np.int64),
        upper=np.array([plan.edge_of(b) for (_, b), n in ends for _ in range(n)], dtype=np.int64),
        rate_bps=np.rint([rate for line in plan.lines for rate in line.rate_bps]),
        delay_ps=np.array([ps for line in plan.lines for ps in line.delay_ps], dtype=np.int64),
    )


def _links(plan: _Plan, edges: Sequence[_Cables], waves: _Cables) -> dict[str, NDArray[Any]]:
    added = [*edges, waves]
    lower, upper, rate_bps, delay_ps = (
        np.concatenate([getattr(one, name) for one in added])
        for name in ("lower", "upper", "rate_bps", "delay_ps")
    )
    inside = list(zip(plan.sites, plan.new_vertex, strict=True))
    source, target = (
        np.concatenate([new[getattr(one, name)] for one, new in inside])
        for name in ("link_source", "link_target")
    )
    pairs = np.stack([lower, upper], axis=1)
    return {
        "link_source": np.concatenate([source, pairs.reshape(-1)]).astype(np.int32),
        "link_target": np.concatenate([target, pairs[:, ::-1].reshape(-1)]).astype(np.int32),
        "link_rate_bps": np.concatenate(
            [*(one.link_rate_bps for one in plan.sites), np.repeat(rate_bps, 2)]
        ),
        "link_delay_ps": np.concatenate(
            [*(one.link_delay_ps for one in plan.sites), np.repeat(delay_ps, 2)]
        ).astype(np.int64),
        "link_scale_up": np.concatenate(
            [*(one.link_scale_up for one in plan.sites), np.zeros(2 * len(lower), dtype=np.bool_)]
        ),
    }


class _NextLinkSets:
    """Sets of next links, numbered as they come; set 0 is empty."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        self.sizes: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
        self.count = 1

    def add(self, links: NDArray[np.int64]) -> int:
        """Return the number of a new set."""
        self.parts.append(np.sort(links))
        self.sizes.append(np.array([len(links)]))
        self.count += 1
        return self.count - 1

    def take(self, site: PacketTopology, first_link: int) -> int:
        """Add all sets of a site; return the number of its first."""
        self.parts.append(site.links.astype(np.int64) + first_link)
        self.sizes.append(np.diff(site.offsets).astype(np.int64))
        self.count += len(site.offsets) - 1
        return self.count - (len(site.offsets) - 1)

    def table(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return where each set begins, and all links."""
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self.sizes))])
        return offsets.astype(np.int64), np.concatenate(self.parts).astype(np.int32)


def _routes(
    plan: _Plan,
    links: dict[str, NDArray[Any]],
    edges: Sequence[_Cables],
    waves: _Cables,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Return the next links from every vertex to every goal."""
    sets = _NextLinkSets()
    choices = np.zeros((plan.num_vertices, plan.num_goals), dtype=np.int32)
    first_cable = plan.num_links
    for number, site in enumerate(plan.sites):
        goals = slice(plan.first_goal[number], plan.first_goal[number] + site.choices.shape[1])
        new, base = plan.new_vertex[number], sets.take(site, plan.first_link[number])
        choices[new, goals] = base + site.choices
        away = np.ones(plan.num_goals, dtype=bool)
        away[goals] = False
        up = np.arange(first_cable, first_cable + 2 * len(edges[number].lower), 2)
        _lead_out(plan, number, choices, away, sets, up)
        _lead_in(plan, number, choices, sets, up)
        first_cable += len(up) * 2
    _lead_across(plan, choices, sets, first_cable, waves)
    del links
    return choices, *sets.table()


def _lead_out(
    plan: _Plan,
    number: int,
    choices: NDArray[np.int32],
    away: NDArray[np.bool_],
    sets: _NextLinkSets,
    up: NDArray[np.int64],
) -> None:
    """Lead what is for other sites to the edge of its own."""
    site, new = plan.sites[number], plan.new_vertex[number]
    tops = _tops(site)
    usable = np.zeros(site.num_links, dtype=bool)
    usable[site.links] = True  # what no route takes is down
    far = _distances(site, tops, usable=usable)
    for vertex in np.flatnonzero(far < _FAR).tolist():
        if far[vertex] == 0:
            found = up[tops == vertex]
        else:
            out = np.flatnonzero((site.link_source == vertex) & usable)
            found = out[far[site.link_target[out]] == far[vertex] - 1] + plan.first_link[number]
        choices[new[vertex], away] = sets.add(found)


def _lead_in(
    plan: _Plan, number: int, choices: NDArray[np.int32], sets: _NextLinkSets, up: NDArray[np.int64]
) -> None:
    """Lead what comes over a line from the edge to the top switches that are next to its goal."""
    site, tops = plan.sites[number], _tops(plan.sites[number])
    goals, first = np.unique(site.goal, return_index=True)
    top, goal = (pairs.reshape(-1) for pairs in np.meshgrid(tops, first, indexing="ij"))
    hops = num_hops(site, top, goal).reshape(len(tops), len(goals))
    known: dict[bytes, int] = {}
    for at, one in enumerate(goals.tolist()):
        nearest = (hops[:, at] == hops[:, at].min()) & (hops[:, at] < _FAR)
        key = nearest.tobytes()
        if key not in known:
            known[key] = sets.add(up[nearest] + 1)
        choices[plan.edge_of(number), plan.first_goal[number] + one] = known[key]


def _lead_across(
    plan: _Plan, choices: NDArray[np.int32], sets: _NextLinkSets, first_wave: int, waves: _Cables
) -> None:
    """Lead from edge to edge, over as few lines as can be and of these the shortest."""
    source = np.stack([waves.lower, waves.upper], axis=1).reshape(-1)
    target = np.stack([waves.upper, waves.lower], axis=1).reshape(-1)
    for to, site in enumerate(plan.sites):
        goals = slice(plan.first_goal[to], plan.first_goal[to] + site.choices.shape[1])
        left = _lines_left(plan, to)
        for number in range(len(plan.sites)):
            if number == to:
                continue
            nexts = [
                other
                for line in plan.lines
                if number in line.ends
                for other in line.ends
                if other != number
            ]
            best = min(nexts, key=lambda one: left[one], default=None)
            if best is None or left[best][0] >= _FAR:
                raise InfeasibleError(
                    what=f"no line leads from site {number} to site {to}", remedy="add a span"
                )
            over = (source == plan.edge_of(number)) & (target == plan.edge_of(best))
            choices[plan.edge_of(number), goals] = sets.add(np.flatnonzero(over) + first_wave)


def _lines_left(plan: _Plan, to: int) -> list[tuple[int, int]]:
    """Return from each site how many lines and picoseconds it is to another."""
    left = [(_FAR, 0)] * len(plan.sites)
    left[to] = (0, 0)
    for _ in plan.sites:
        for line in plan.lines:
            for a, b in (line.ends, line.ends[::-1]):
                left[a] = min(left[a], (left[b][0] + 1, left[b][1] + min(line.delay_ps)))
    return left
