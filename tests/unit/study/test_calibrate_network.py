"""Constants of one's own network: what rows decide, and what they do not."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.parts.load import load_catalog
from netloom.parts.parts import HopTime, MeasuredCosts
from netloom.study.calibrate.benchmark_network import benchmark_network
from netloom.study.calibrate.fitting import TimedCollective, bisected, rising, solved
from netloom.study.calibrate.network import fit_network
from netloom.study.calibrate.series import without_repeats
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.fabric.network import Network

CATALOG = load_catalog()
KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
ALL_SIZES = [2.0**power for power in range(10, 34)]
KINDS = tuple(kind for kind in CollectiveKind if kind is not CollectiveKind.BROADCAST)
# A machine unlike any that ships: slow hops that jump at 16 KiB, a lame path to the NIC.
TRUE_HOPS = ((KIB, 30e-6), (16 * KIB, 90e-6), (256 * KIB, 180e-6), (4 * MIB, 0.0))
TRUE = MeasuredCosts.model_construct(
    ring_hops=tuple(
        HopTime.model_construct(size_bytes=size, time_s=time_s) for size, time_s in TRUE_HOPS
    ),
    all_to_all_share=0.4,
    partner_s=9e-6,
    message_share=0.6,
)
TRUE_SHARE = 0.55


def shipped(num_nodes: int) -> Network:
    return benchmark_network(
        CATALOG.nodes["polaris"], CATALOG.technologies["slingshot-11"], num_nodes, CATALOG
    )


def as_it_is(network: Network) -> Network:
    technology = network.technology.model_copy(update={"collectives": TRUE})
    node = network.node.model_copy(update={"nic_share": TRUE_SHARE})
    return replace(network, technology=technology, node=node)


def measured(
    num_nodes: int = 8,
    *,
    kinds: Iterable[CollectiveKind] = KINDS,
    sizes: Iterable[float] = ALL_SIZES,
) -> list[TimedCollective]:
    """Return what nccl-tests would show on the machine of TRUE."""
    network = shipped(num_nodes)
    group = Group(size=4 * num_nodes, per_node=4)
    asked = [
        Collective(kind=kind, size_bytes=size, group=group) for kind in kinds for size in sizes
    ]
    rows = [
        TimedCollective(machine="own", collective=one, network=network, time_s=1.0) for one in asked
    ]
    return [replace(row, time_s=row.predicted_s(as_it_is(network))) for row in rows]


def errors(rows: list[TimedCollective], num_nodes: int) -> list[float]:
    """Return errors of 1 MiB and more where no tree runs, whose hops are the shipped ones here."""
    fit = fit_network(rows, num_nodes=num_nodes)
    kinds = [kind for kind in KINDS if kind is not CollectiveKind.ALL_REDUCE]
    judged = measured(num_nodes, kinds=kinds, sizes=[size for size in ALL_SIZES if size >= MIB])
    return [abs(row.predicted_s(fit.on(row.network)) / row.time_s - 1) for row in judged]


def test_what_was_put_in_comes_out() -> None:
    found = {one.key: one for one in fit_network(measured(), num_nodes=8).constants}
    assert found["nic_share"].value == pytest.approx(TRUE_SHARE, rel=0.01)
    assert found["nic_share"].shipped == CATALOG.nodes["polaris"].nic_share
    assert found["collectives.all_to_all_share"].value == pytest.approx(0.4, rel=0.02)
    assert found["collectives.message_share"].value == pytest.approx(0.6, rel=0.02)
    assert found["collectives.partner"].value == pytest.approx(9e-6, rel=0.3)


def test_other_node_counts_follow_from_one() -> None:
    assert median(errors(measured(8), 32)) < 0.02
    assert max(errors(measured(8), 32)) < 0.3


def test_large_messages_alone_decide_no_start_up() -> None:
    found = fit_network(measured(sizes=[GIB, 2 * GIB, 4 * GIB, 8 * GIB]), num_nodes=8).constants
    assert {one.key for one in found} == {
        "nic_share",
        "collectives.all_to_all_share",
        "collectives.message_share",
    }


def test_small_messages_alone_decide_no_share() -> None:
    found = fit_network(measured(sizes=[KIB, 4 * KIB, 16 * KIB, MIB]), num_nodes=8).constants
    assert not {one.key for one in found if "share" in one.key}


def test_a_rate_that_still_rises_decides_no_share() -> None:
    """Its messages are large, but each doubling still brings more than 8 %."""
    rows = measured(kinds=[CollectiveKind.ALL_GATHER], sizes=[2.0**power for power in (26, 27, 28)])
    slow = [replace(row, time_s=row.time_s + 0.05) for row in rows]
    assert not [one for one in fit_network(slow, num_nodes=8).constants if one.key == "nic_share"]


def test_two_nodes_decide_the_hops_of_two_nodes_and_not_of_more() -> None:
    def keys(num_nodes: int) -> set[str]:
        found = fit_network(measured(2), num_nodes=num_nodes)
        return {one.key for one in found.constants}

    assert "collectives.ring_hops" in keys(2)
    assert "collectives.ring_hops" not in keys(8)


def test_rows_inside_a_node_change_nothing() -> None:
    rows = measured()
    inside = [
        replace(row, collective=replace(row.collective, group=Group(size=4, per_node=4)))
        for row in measured()
    ]
    assert fit_network([*rows, *inside], num_nodes=8) == fit_network(rows, num_nodes=8)


def test_repeats_count_as_their_median() -> None:
    row = measured(kinds=[CollectiveKind.ALL_GATHER], sizes=[MIB])[0]
    repeats = [replace(row, time_s=time_s) for time_s in (1.0, 5.0, 2.0)]
    assert [one.time_s for one in without_repeats(repeats)] == [2.0]


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_rising_rises_keeps_the_sum_and_leaves_alone_what_rises(values: list[float]) -> None:
    found = rising(values)
    assert all(high - low > -1e-6 for low, high in pairwise(found))
    assert sum(found) == pytest.approx(sum(values), abs=1e-3)
    assert rising(sorted(values)) == sorted(values)


def test_bisected_finds_the_share_or_says_that_none_decides() -> None:
    assert bisected(lambda share: 1 / share, 4.0, least=0.01, most=1.0) == pytest.approx(0.25)
    assert bisected(lambda share: 1 / share, 0.5, least=0.01, most=1.0) == 1.0
    assert bisected(lambda _share: 1.0, 0.9, least=0.01, most=1.0) is None
    assert bisected(lambda share: 1 / share, 1e6, least=0.01, most=1.0) is None


def test_solved_is_one_division_and_none_without_effect() -> None:
    assert solved(10.0, 110.0, 111.0, 120.0, inverse=False) == pytest.approx(20.0)
    assert solved(10.0, 110.0, 110.0, 120.0, inverse=False) is None
