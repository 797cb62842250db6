"""Routes of a wiring against the definition: every shortest way, and nothing else."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.fabric.wiring.plain import CableList, wire_up

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology


@st.composite
def wirings(draw: st.DrawFn) -> PacketTopology:
    """Hosts on one or two switches each, switches joined at random, some cables down."""
    num_hosts, num_switches = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    switch = st.integers(num_hosts, num_hosts + num_switches - 1)
    ends = [
        (host, at)
        for host in range(num_hosts)
        for at in draw(st.lists(switch, min_size=1, max_size=2))
    ]
    ends += draw(st.lists(st.tuples(switch, switch).filter(lambda e: e[0] != e[1]), max_size=10))
    lower, upper = np.array(ends, dtype=np.int64).T
    up = np.array(draw(st.lists(st.booleans(), min_size=len(ends), max_size=len(ends))))
    up |= draw(st.booleans())  # often all of them
    return wire_up(
        CableList(
            lower=lower,
            upper=upper,
            rate_bps=np.full(len(ends), 1e9),
            delay_ps=np.where(up, 1, 0).astype(np.int64),  # tells the test which are up
            up=up,
        ),
        num_endpoints=num_hosts,
        name=tuple(str(number) for number in range(num_hosts + num_switches)),
        forward_ps=np.zeros(num_hosts + num_switches, dtype=np.int64),
    )


def _distances(wiring: PacketTopology, target: int) -> dict[int, int]:
    """Return the hops from each vertex to *target* over links that are up, hosts not crossed."""
    away, queue = {target: 0}, deque([target])
    while queue:
        here = queue.popleft()
        if here != target and here < wiring.num_endpoints:
            continue
        for link in range(wiring.num_links):
            source = int(wiring.link_source[link])
            if (
                wiring.link_target[link] == here
                and wiring.link_delay_ps[link]
                and source not in away
            ):
                away[source] = away[here] + 1
                queue.append(source)
    return away


@settings(max_examples=150)
@given(wirings())
def test_next_links_are_all_those_that_bring_the_endpoint_one_hop_nearer(
    wiring: PacketTopology,
) -> None:
    for target in range(wiring.num_endpoints):
        away = _distances(wiring, target)
        for vertex in range(wiring.num_vertices):
            if vertex == target:
                continue
            number = wiring.choices[vertex, wiring.goal[target]]
            found = wiring.links[wiring.offsets[number] : wiring.offsets[number + 1]].tolist()
            nearer = [
                link
                for link in range(wiring.num_links)
                if wiring.link_source[link] == vertex
                and wiring.link_delay_ps[link]
                and away.get(int(wiring.link_target[link]), 99) == away.get(vertex, 0) - 1
                and (
                    wiring.link_target[link] >= wiring.num_endpoints
                    or wiring.link_target[link] == target
                )
            ]
            direct = [link for link in nearer if wiring.link_target[link] == target]
            assert found == ([] if direct else nearer), (vertex, target)
