"""A topology for a job under a budget, and the fat tree of equal cost."""

from __future__ import annotations

import pytest

import netloom as nl
from netloom.errors import InfeasibleError
from netloom.spec.load import parse
from netloom.study.plan.machines import PlanLimits
from netloom.study.plan.topologies.failures import CABLE_PER_MONTH, SWITCH_PER_MONTH, PartLoss
from netloom.study.plan.topologies.proposals import proposals
from netloom.study.plan.topologies.search import SAME_COST, TopologySearch

SCENARIO = nl.example("gpt3-175b-1k")


@pytest.fixture(scope="module")
def found() -> TopologySearch:
    return nl.plan(SCENARIO, topologies="search")


def test_every_family_is_proposed() -> None:
    families = {one.family for one in proposals()}
    assert families == {"fat-tree", "rail", "rail-only", "multi-plane", "tapered", "hybrid"}
    assert len({one.name for one in proposals()}) == len(tuple(proposals()))


def test_what_is_proposed_is_simulated_or_left_out_with_a_reason(found: TopologySearch) -> None:
    names = {one.name for one in found.designs} | set(found.left_out)
    assert names == {one.name for one in proposals()}
    assert all(found.left_out.values())


def test_one_network_under_two_names_is_shown_once() -> None:
    """64 nodes hang on one leaf of 128 ports a rail: nothing is left that a taper could thin."""
    scenario = parse(
        """
        cluster: {gpus: 512, fabric: {technology: rocev2-400g}}
        job:
          model: llama-3-70b
          training: {sequence: 8192, global_batch: 512}
          parallel: {tensor: 8, pipeline: 4}
        """,
        name="small.yaml",
    )
    found = nl.plan(scenario, topologies="search")
    names = [one.name for one in found.designs]
    assert "rail-only" in names
    assert "rail-only 2:1 at leaves" not in names
    assert found.left_out["rail-only 2:1 at leaves"] == "at this size the same network as rail-only"


def test_designs_stand_in_the_order_of_their_cost_a_token(found: TopologySearch) -> None:
    costs = [one.usd_per_trillion_tokens or 0.0 for one in found.designs]
    assert costs == sorted(costs)


def test_a_fat_tree_of_equal_cost_costs_no_more_and_is_the_least_tapered(
    found: TopologySearch,
) -> None:
    for one, tree in zip(found.designs, found.fat_trees, strict=True):
        assert tree is None or tree.network_usd <= SAME_COST * one.network_usd
    plain = next(one for one in found.designs if one.name == "fat-tree 1:1")
    assert found.fat_trees[found.designs.index(plain)] is plain


def test_a_leaf_that_fails_stops_the_job_unless_there_are_planes(found: TopologySearch) -> None:
    by_name = {one.name: one for one in found.designs}
    leaf = by_name["rail-fat-tree"].loss("leaf")
    assert leaf is not None
    assert leaf.stops
    for name in ("2 planes", "rail-only in 2 planes"):
        if name in by_name:
            spared = by_name[name].loss("leaf")
            assert spared is not None
            assert not spared.stops


def test_failures_cost_their_rate_times_what_one_costs() -> None:
    # 1,000 cables at 0.057 % a month, repaired in 3 days: 0.057 are down, each costs 1 %.
    loss = PartLoss(
        kind="fabric cable",
        part="cable:0",
        count=1000,
        step_s=1.01,
        lost_share=0.01,
        per_month=1000 * CABLE_PER_MONTH,
    )
    assert loss.expected_lost_share(3.0) == pytest.approx(0.57 * 3 / 30 * 0.01)
    assert SWITCH_PER_MONTH < CABLE_PER_MONTH


def test_a_budget_leaves_out_what_is_dearer(found: TopologySearch) -> None:
    dearest = max(found.designs, key=lambda one: one.machine.capex_usd or 0.0)
    budget = (dearest.machine.capex_usd or 0.0) - 1.0
    kept = nl.plan(SCENARIO, topologies="search", limits=PlanLimits(budget_usd=budget))
    assert dearest.name in kept.left_out
    assert "over the" in kept.left_out[dearest.name]
    assert all((one.machine.capex_usd or 0.0) <= budget for one in kept.designs)


def test_a_budget_that_nothing_keeps_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="no topology is within the limits"):
        nl.plan(SCENARIO, topologies="search", limits=PlanLimits(budget_usd=1.0))


def test_the_json_has_designs_and_their_fat_trees(found: TopologySearch) -> None:
    first = found.to_json()["designs"][0]
    assert {"step_time_s", "network_capex_usd", "failures", "fat_tree_of_equal_cost"} <= set(first)
