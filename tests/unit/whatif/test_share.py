"""Several jobs on one fabric, placements and luck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.engines.flow.contention import RoutedContention
from netloom.engines.flow.hops import gpu_hops
from netloom.engines.flow.phases import at_once
from netloom.engines.flow.run import run_flows
from netloom.engines.flow.settings import FlowSettings
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.build import build
from netloom.fabric.wire.framing import efficiency
from netloom.spec.load import load, parse
from netloom.spec.scenario import NodePlacement, Scenario
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of
from netloom.study.predict.hash_variance import HashVariance, check_draws, luck
from netloom.study.whatif.place import free_nodes, place_on
from netloom.study.whatif.share import _mean, share
from netloom.study.whatif.tenancy import chosen_nodes
from netloom.workload.collective import Group

if TYPE_CHECKING:
    from pathlib import Path

JOB = "{model: llama-2-70b, training: {global_batch: 256}, parallel: {tensor: 8, zero: 3}}"
CLUSTER = (
    "cluster: {nodes: 128, fabric: {technology: TECHNOLOGY, "
    "topology: {kind: rail-fat-tree, oversubscription: 4}}}"
)


def jobs(*tenants: str, technology: str = "infiniband-ndr") -> Scenario:
    listed = "".join(f"\n  - {{{tenant}, job: {JOB}}}" for tenant in tenants)
    text = f"{CLUSTER}\njobs:{listed}\n".replace("TECHNOLOGY", technology)
    return parse(text, name="x.yaml")


def one_job(technology: str = "rocev2-400g", *, hosts_per_leaf: int | None = None) -> Scenario:
    text = f"{CLUSTER}\njob: {JOB}\n".replace("TECHNOLOGY", technology)
    if hosts_per_leaf:
        text = text.replace("on: 4}", f"on: 4, hosts_per_leaf: {hosts_per_leaf}}}")
    return parse(text, name="x.yaml")


SCATTERED = f"{CLUSTER}\njobs: [{{nodes: 8, job: {JOB[:-1]}, placement: {{kind: scattered}}}}}}]\n"
RANDOM = "nodes: 64, placement: {kind: random, seed: %d}"


def test_a_job_alone_is_not_slowed() -> None:
    lot = share(jobs(RANDOM % 1)).lots[0]
    assert lot.slowdown == 1
    assert lot.worst_s == lot.alone_s


def test_jobs_under_one_leaf_do_not_meet() -> None:
    # Leaves hold 51 nodes of a rail: nodes 0 to 47 never leave theirs.
    found = share(jobs("nodes: 32", "nodes: 16"))
    assert [lot.slowdown for lot in found.lots] == [1, 1]
    assert [lot.worst_s / lot.alone_s for lot in found.lots] == [1, 1]


def test_jobs_in_each_others_way_are_slowed_between_alone_and_worst() -> None:
    found = share(jobs(RANDOM % 1, RANDOM % 2))
    for lot in found.lots:
        assert 1.01 < lot.slowdown <= lot.worst_s / lot.alone_s


def test_a_job_is_slowed_only_while_the_other_is_there() -> None:
    """Job 1 runs 1,000 steps; job 2 comes at 100 s and takes part for 10 of its own."""
    found = share(jobs(f"steps: 1000, {RANDOM % 1}", f"steps: 10, arrival: 100s, {RANDOM % 2}"))
    first, second = found.lots
    both_s = second.step_s * 10
    slowed_s = found.spans[1].steps_s[0]
    # Steps that job 1 got done beside job 2; all others took it as long as alone.
    beside = both_s / slowed_s
    assert second.finish_s == pytest.approx(100 + both_s)
    assert first.finish_s == pytest.approx((1000 - beside) * first.alone_s + both_s)
    assert [sorted(span.steps_s) for span in found.spans] == [[0], [0, 1], [0]]


def test_a_wanted_link_is_shared_in_proportion_for_the_time_they_meet() -> None:
    # Half of the time the other wants 0.9 of the link beside my 0.6: 1.5 times too much.
    mine, other = np.array([0.6, 0.2]), np.array([0.9, 0.0])
    assert _mean(mine, [[(0.5, None), (0.5, other)]]) == pytest.approx(0.5 * 1 + 0.5 * 1.5)


def test_many_jobs_are_drawn_about_as_they_would_be_counted() -> None:
    mine, other = np.array([0.5]), np.array([0.25])
    # 12 others, each there a quarter of the time: max(1, 0.5 + n/4), n binomial.
    states = [[(0.75, None), (0.25, other)]] * 12
    binomial = [
        (np.prod([(12 - i) / (i + 1) for i in range(n)]) * 0.25**n * 0.75 ** (12 - n))
        for n in range(13)
    ]
    exact = sum(p * max(1.0, 0.5 + n / 4) for n, p in enumerate(binomial))
    assert _mean(mine, states) == pytest.approx(exact, rel=0.05)


def test_more_nodes_than_there_are_names_the_job() -> None:
    with pytest.raises(InfeasibleError, match=r"jobs.1: 100 nodes are asked for, but 0 are free"):
        share(jobs("nodes: 128", "nodes: 100"))


def test_a_job_is_placed_once() -> None:
    text = SCATTERED.replace("TECHNOLOGY", "infiniband-ndr")
    with pytest.raises(SpecError, match=r"'job\.placement' has no say here"):
        parse(text, name="x.yaml")


def test_models_of_jobs_are_found_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    job = JOB.replace("llama-2-70b", "mine.json")
    file.write_text(f"{CLUSTER}\njobs: [{{nodes: 2, job: {job}}}]\n".replace("TECHNOLOGY", "x"))
    tenants = load(file).jobs
    assert tenants is not None
    assert tenants[0].job.model == str(tmp_path / "mine.json")


def test_a_scenario_without_jobs_is_told_how() -> None:
    with pytest.raises(SpecError, match="jobs: this scenario has none; add some"):
        share(one_job())


@pytest.mark.parametrize(
    ("kind", "nodes"),
    [
        ("packed", [1, 2, 3]),
        ("scattered", [1, 3, 6]),  # of six free ones, the 0th, 2nd and 4th
        ("rail-aware", [4, 5, 6]),  # the leaf of 4 to 7 has three free, the other two fewer
    ],
)
def test_nodes_are_chosen_as_the_kind_says(kind: str, nodes: list[int]) -> None:
    free = np.array([1, 2, 3, 5, 6, 8]) if kind != "rail-aware" else np.array([1, 2, 4, 5, 6, 8])
    how = NodePlacement.model_validate({"kind": kind})
    assert chosen_nodes(free, 3, how, leaf_nodes=4).tolist() == nodes


def test_random_nodes_are_the_seeds() -> None:
    free = np.arange(50)
    drawn = [
        chosen_nodes(
            free, 9, NodePlacement.model_validate({"kind": "random", "seed": s}), leaf_nodes=4
        ).tolist()
        for s in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 9


def test_a_list_of_nodes_is_read_and_its_mistakes_named() -> None:
    assert free_nodes(32, listed="0-3, 7,5").tolist() == [0, 1, 2, 3, 5, 7]
    assert len(free_nodes(100, occupied=0.4, seed=1)) == 60
    for text in ("a", "3-", "4-2", "0-32", ""):
        if text:
            with pytest.raises(SpecError, match="--free"):
                free_nodes(32, listed=text)
    with pytest.raises(SpecError, match="--occupied"):
        free_nodes(32, occupied=1.0)


def test_the_search_is_never_worse_than_simple_placements_nor_better_than_the_bound() -> None:
    scenario = one_job(hosts_per_leaf=102)  # leaves as full as they can be
    found = place_on(scenario, free_nodes(128, occupied=0.4, seed=3), num_nodes=64, tries=20)
    steps = {one.how: one.step_s for one in found.candidates}
    assert found.best.step_s == min(steps.values())
    assert found.bound_s <= found.best.step_s < steps["random"]
    assert found.proven


def test_a_search_that_cannot_be_proven_says_how_far_it_may_be() -> None:
    """Every second node of each leaf, in an order that all hops cross: the start is bad."""
    scenario = one_job("tcp-400g")
    free = free_nodes(128, listed="0-15,60-75")
    found = place_on(scenario, free, num_nodes=32, tries=5)
    assert found.to_json()["gap"] >= 0
    assert len(set(found.best.nodes)) == 32


def test_too_few_free_nodes_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="64 nodes are asked for, but 16 are free"):
        place_on(one_job(), np.arange(16), num_nodes=64)


def test_luck_is_the_distribution_of_single_draws() -> None:
    scenario = one_job().model_copy(
        update={"job": one_job().job.model_copy(update={"placement": _scattered()})}
    )
    found = luck(scenario, catalog_of(scenario), seeds=range(6))
    assert len(set(found.steps_s)) > 1
    told = found.to_json()
    assert told["mean_s"] == pytest.approx(np.mean(found.steps_s))
    assert told["p5_s"] == pytest.approx(np.percentile(found.steps_s, 5))
    assert told["p95_s"] == pytest.approx(np.percentile(found.steps_s, 95))
    assert told["low_s"] < told["mean_s"] < told["high_s"]


def _scattered() -> object:
    return one_job().job.placement.model_copy(update={"kind": "scattered"})


def test_one_draw_has_no_interval() -> None:
    told = HashVariance(technology="x", seeds=(0,), steps_s=(2.0,)).to_json()
    assert told["low_s"] is None
    assert told["p5_s"] == told["p95_s"] == 2.0


def test_draws_need_an_engine_that_draws() -> None:
    with pytest.raises(SpecError, match="use --engine flow"):
        check_draws(3, "analytic")
    with pytest.raises(SpecError, match="--seeds: 0 is not a number of draws"):
        check_draws(0, "flow")


def test_rings_that_want_one_link_end_when_the_events_say() -> None:
    """Two jobs that always send against the simulation of one step of both, sprayed."""
    scenario = one_job("infiniband-ndr")
    network = network_of(scenario.cluster, catalog_of(scenario))
    fabric = build(network.design, network.node, network.scale_up)
    nodes = np.random.default_rng(4).permutation(128)
    group, pace, size_bytes = Group(size=512, per_node=8), 0.9, 10**7
    wanted, hops = np.zeros(fabric.num_links), []
    for mine in (nodes[:64], nodes[64:]):
        routed = RoutedContention(0, fabric, mine)
        routed.slowdown(network, group, "ring", pace=pace)
        wanted += routed.presses()[0].share
        hops += [hop[:2] for hop in gpu_hops(network, group, "ring", nodes=mine)]
    ends = [np.concatenate(column) for column in zip(*hops, strict=True)]
    technology = network.technology
    wire = efficiency(technology.payload_bytes, technology.header_bytes)
    settings = FlowSettings(
        balance="spray",
        wire_share=wire,
        path_share=technology.path_efficiency,
        nic_share=pace / wire,
    )
    found = run_flows(fabric, at_once(*ends, size_bytes=size_bytes), settings)
    nic_s = size_bytes * 8 / (network.nic_rate_bps * pace)
    assert wanted.max() > 1.5
    assert found.simulated_ps * 1e-12 == pytest.approx(wanted.max() * nic_s, rel=1e-6)
