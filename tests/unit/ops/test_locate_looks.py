"""Looks that add up, and probes that are aimed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.ops.locate.looks.next_probes import information, next_probes
from netloom.ops.locate.looks.sequential import (
    LOSSES_NEEDED,
    AddedFlows,
    probes_per_link,
    smallest_loss,
)
from netloom.spec.observed import Observed, ObservedFlow, ObservedLink

PATH = ("gpu:0->nic:0", "nic:0->leaf:0#1", "leaf:0->nic:9#2", "nic:9->gpu:9")


def look(lost: int, *, path: tuple[str, ...] = PATH, packets: int = 100) -> Observed:
    flow = ObservedFlow(source="gpu:0", target="gpu:9", path=path, packets=packets, lost=lost)
    return Observed(flows=(flow,))


def test_looks_add_up_and_are_forgotten() -> None:
    added = AddedFlows(horizon_s=100.0)
    for second in range(10):
        added.add(look(second % 2), float(second))
    (flow,) = added.observed().flows
    # Sum over i of 100 exp(-i/100), i = 0 to 9.
    assert flow.packets == round(100 * sum(np.exp(-i / 100) for i in range(10)))
    assert flow.lost == 5
    added.add(look(0), 9.0 + 2000.0)
    (flow,) = added.observed().flows
    assert (flow.packets, flow.lost) == (100, 0)


def test_bursts_and_what_is_explained_are_not_added() -> None:
    added = AddedFlows()
    added.add(look(60), 0.0)  # a host that stalled
    added.add(look(1), 1.0, explained={"leaf:0->nic:9#2"})
    full = ObservedLink(link="leaf:0->nic:9#2", dropped_share=0.01)
    added.add(look(1).model_copy(update={"links": (full,)}), 2.0)
    assert added.observed().flows == ()


def test_a_cable_that_lost_nothing_for_long_is_over() -> None:
    added = AddedFlows()
    for second in range(20):
        added.add(look(1), float(second))
    assert not added.settle({"leaf:0->nic:9#2"}, 0.01)
    for second in range(20, 27):  # at one packet in a hundred a look should lose one: seven did not
        added.add(look(0), float(second))
        assert added.settle({"leaf:0->nic:9#2"}, 0.01) == (second == 26)
    assert added.observed().flows[0].lost == 0


def test_what_was_lost_in_a_look_or_two_is_a_burst() -> None:
    # Routes that change cost one packet each of many flows, and again when they change back.
    paths = [(*PATH[:2], f"leaf:0->nic:{number}#3") for number in (5, 6, 7, 8)]
    added = AddedFlows()
    for second, losing in enumerate([paths[:2], [], paths[2:3], paths[3:]]):
        assert added.is_burst({PATH[1]})
        added.add(Observed(flows=tuple(f for p in losing for f in look(1, path=p).flows)), second)
    assert not added.is_burst({PATH[1]})
    assert added.is_burst({paths[0][2]})


def test_a_flow_that_is_sent_no_more_does_not_keep_a_case_open() -> None:
    added = AddedFlows()
    added.add(Observed(flows=(*look(1).flows, *look(1, path=(*PATH[:2], "x->y")).flows)), 0.0)
    for second in range(1, 9):
        added.add(look(0), float(second))
    assert added.settle({"nic:0->leaf:0#1"}, 0.01)


def test_the_smallest_loss_follows_from_probes_a_second() -> None:
    flows = (*look(0).flows, *look(0, path=PATH[:2]).flows)
    assert probes_per_link(flows, {PATH[1], PATH[2]}) == 100
    assert smallest_loss(100.0, 60.0) == pytest.approx(LOSSES_NEEDED / 6000)
    assert smallest_loss(0.0, 60.0) is None
    # Poisson with that mean: three or more with a chance of 0.9.
    few = sum(
        np.exp(-LOSSES_NEEDED) * LOSSES_NEEDED**k / factorial
        for k, factorial in ((0, 1), (1, 1), (2, 2))
    )
    assert few == pytest.approx(0.1, abs=0.01)


@given(
    st.lists(st.floats(0.001, 1.0), min_size=1, max_size=6),
    st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7),
)
def test_no_probe_takes_more_than_there_is_to_know(
    chances: list[float], suffers: list[float]
) -> None:
    """Between nothing and log 2: an outcome with two sides tells at most one bit."""
    belief = np.array(chances) / (sum(chances) + 1)
    gain = information(belief, np.array(suffers[: len(chances) + 1]))
    assert -1e-9 <= gain <= np.log(2) + 1e-9


def test_a_probe_that_tells_suspects_apart_goes_first() -> None:
    """Of two suspects, equally likely: crossing both or neither tells nothing of which it is."""
    crosses = np.array([[True, True], [False, False], [True, False]])
    picked = next_probes([0.5, 0.5], crosses, [0.5, 0.5], count=2, packets=20)
    assert picked[0] == 2
    assert 1 not in picked


def test_a_link_that_one_flow_crosses_gets_probes_of_its_own() -> None:
    """A suspect of 5 % loss: six probes across it tell more than any elsewhere."""
    crosses = np.zeros((20, 1), dtype=bool)
    crosses[[3, 7, 11], 0] = True
    picked = next_probes([0.5], crosses, [0.05], count=6, packets=20)
    assert set(picked[:3]) == {3, 7, 11}
    assert len(picked) == 3  # the others tell nothing
