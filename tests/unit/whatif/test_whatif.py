"""What failures do to a step."""

from __future__ import annotations

import numpy as np
import pytest

from netloom.errors import InfeasibleError, SpecError
from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.prediction import predict
from netloom.study.whatif.changes import Change, changes_of
from netloom.study.whatif.failure import BaselineJob, bench_of, whatif
from netloom.study.whatif.rank import effect_of, rank

TEXT = """
cluster: {{nodes: {nodes}, fabric: {{technology: {technology}, topology: {topology}}}}}
job:
  model: {model}
  training: {{sequence: 4096, global_batch: 768}}
  parallel: {{tensor: 8, zero: 3}}
  placement: {placement}
"""
TAPERED = "{kind: rail-fat-tree, oversubscription: 6, hosts_per_leaf: 109}"
PLANES = "{kind: multi-plane, planes: 2}"


def bench(
    technology: str = "spectrum-x-400g",
    *,
    topology: str = TAPERED,
    nodes: int = 128,
    placement: str = "{kind: scattered}",
    model: str = "llama-2-70b",
) -> BaselineJob:
    text = TEXT.format(
        technology=technology, topology=topology, nodes=nodes, placement=placement, model=model
    )
    scenario = parse(text, name="x.yaml")
    return bench_of(scenario, catalog_of(scenario))


def test_nothing_broken_is_what_the_flow_engine_predicts() -> None:
    found = bench()
    alone = predict(found.scenario, engine=engine_named("flow")).step
    assert found.healthy()[0].duration_s == alone.duration_s


def test_a_lost_spine_takes_its_share_of_the_uplinks() -> None:
    """19 spines carry what the fullest leaf sends up; without one, 18 do."""
    found = bench()
    num_spines = found.network.design.tiers[-1].num_switches
    before = found.healthy()[0].presses[0].share.max()
    after = found.after([Change(act="fail", part="spine:0")]).runs[0].presses[0].share.max()
    assert num_spines == 19
    assert after == pytest.approx(before * 19 / 18, rel=1e-9)


def test_a_drained_spine_does_what_a_failed_one_does() -> None:
    found = bench()
    ways = [found.after([Change(act=act, part="spine:0")]) for act in ("fail", "drain")]
    assert ways[0].step_s == ways[1].step_s


def test_on_one_plane_a_lost_leaf_stops_the_job_and_names_who_is_cut_off() -> None:
    found = bench()
    after = found.after([Change(act="fail", part="leaf:0")])
    # Leaf 0 has the first NIC of the first 109 nodes.
    assert after.step_s is None
    assert after.cut_off == tuple(range(0, 109 * 8, 8))
    assert "109 GPUs in 109 nodes have no way" in after.stopped
    assert "node:0" in after.stopped


def test_a_job_of_one_node_goes_on_without_its_nics_and_its_leaf() -> None:
    """Its GPUs talk over the scale-up alone, so that a step takes as long as before."""
    found = bench(nodes=1, topology="{kind: rail-fat-tree}", model="llama-2-13b")
    before_s = found.healthy()[0].duration_s
    for part in ("nic:0", "leaf:0"):
        after = found.after([Change(act="fail", part=part)])
        assert after.stopped == ""
        assert after.step_s == before_s


def test_rails_that_fall_apart_go_on_without_one_another() -> None:
    """All nodes of a rail share a leaf, so the rings need no spine."""
    found = bench(topology="{kind: rail-fat-tree, hosts_per_leaf: 16}", nodes=16)
    names = [f"spine:{n}" for n in range(found.network.design.tiers[-1].num_switches)]
    after = found.after(changes_of(fail=names))
    assert len(names) >= 1
    assert after.step_s == found.healthy()[0].duration_s


def test_pods_that_fall_apart_stop_the_job() -> None:
    """Of 24 nodes, 8 under each leaf of a rail, no ring closes without spines."""
    found = bench(topology="{kind: rail-fat-tree, hosts_per_leaf: 8}", nodes=24)
    names = [f"spine:{n}" for n in range(found.network.design.tiers[-1].num_switches)]
    after = found.after(changes_of(fail=names))
    assert after.step_s is None
    assert after.cut_off
    assert "have no way to the others" in after.stopped


def test_on_two_planes_a_lost_leaf_leaves_its_nics_half_their_rate() -> None:
    found = bench(topology=PLANES, nodes=32)
    after = found.after([Change(act="fail", part="leaf:0")])
    assert not after.cut_off
    assert after.runs[0].presses[0].slowdown == pytest.approx(2, rel=1e-9)


def test_two_nodes_left_on_different_planes_cannot_talk() -> None:
    # Ports 0 and 1 are GPU 0's on planes 0 and 1; ports 16 and 17 those of GPU 8, the same rail.
    found = bench(topology=PLANES, nodes=2)
    after = found.after(changes_of(fail=["nic:0", "nic:17"]))
    assert after.step_s is None
    assert "gpu:0 to gpu:8" in after.stopped


def test_a_nic_that_is_slower_by_a_factor_slows_its_rings_by_it() -> None:
    found = bench(nodes=16, placement="{kind: packed, displaced: 0%}")
    after = found.after(changes_of(slow=["nic:3=3"]))
    assert after.runs[0].presses[0].slowdown == pytest.approx(3, rel=1e-9)


def test_everybody_waits_for_a_slow_gpu() -> None:
    found = bench(nodes=16)
    before, after = found.healthy()[0], found.after(changes_of(slow=["gpu:5=1.5"])).runs[0]
    added_s = 0.5 * (before.step.compute_s + before.step.optimizer_s)
    assert after.duration_s == pytest.approx(before.duration_s + added_s, rel=1e-12)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"fail": ["leav:3"]}, "did you mean 'leaf:'"),
        ({"fail": ["leaf:300"]}, "write leaf:0 to leaf:15"),
        ({"slow": ["gpu:9999=2"]}, "gpu:9999"),
        ({"fail": ["scale-up:0"]}, "scale-up network of a node is not modelled; fail the GPU"),
        ({"slow": ["node:3=2"]}, "slow its NICs"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(asked: dict[str, list[str]], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        bench().after(changes_of(**asked))


@pytest.mark.parametrize("text", ["nic:3", "nic:3=fast", "nic:3=0.5", "nic:3=nan"])
def test_a_factor_is_a_number_of_one_or_more(text: str) -> None:
    with pytest.raises(SpecError, match="such as nic:12=2"):
        changes_of(slow=[text])


def test_more_ranks_than_gpus_is_refused_before_anything_runs() -> None:
    text = TEXT.format(
        technology="rocev2-400g", topology=TAPERED, nodes=2, placement="{}", model="llama-2-70b"
    )
    scenario = parse(text.replace("tensor: 8", "tensor: 8, data: 64"), name="x.yaml")
    with pytest.raises(SpecError, match=r"job.parallel: .* data: 64 makes 512 of 16 GPUs"):
        whatif(scenario, changes_of(fail=["leaf:0"]))


def test_nothing_to_do_is_refused() -> None:
    with pytest.raises(SpecError, match="nothing happens"):
        whatif(bench().scenario, ())


@pytest.mark.parametrize("which", ["spine", "links", "nic"])
def test_parts_that_look_alike_do_the_same_when_all_are_computed(which: str) -> None:
    found = bench(nodes=24, topology="{kind: rail-fat-tree, hosts_per_leaf: 8}")
    ranked = rank(found, which)
    told = {part: row.effect for row in ranked.rows for part in row.parts}
    some = np.random.default_rng(1).choice(sorted(told), size=12)
    for part in some.tolist():
        apart = effect_of(found, Change(act="fail", part=part))
        assert apart.num_gpus_cut_off == told[part].num_gpus_cut_off
        if apart.step_s is not None:
            assert told[part].step_s == pytest.approx(apart.step_s, rel=1e-6)


def test_the_worst_comes_first_and_every_part_once() -> None:
    ranked = rank(bench(), "all")
    lost = [row.lost_share for row in ranked.rows]
    assert lost == sorted(lost, reverse=True)
    parts = [part for row in ranked.rows for part in row.parts]
    design = ranked.bench.network.design
    # Switches, NIC ports, nodes, and all cables of the scale-out network.
    count = design.num_switches + design.num_ports + design.num_nodes + design.num_cables
    assert len(parts) == len(set(parts)) == count
    assert ranked.rows[0].effect.stopped
    assert sum(row.computed for row in ranked.rows) < count / 10


def test_hashed_flows_make_every_spine_a_case_of_its_own() -> None:
    ranked = rank(bench("rocev2-400g", nodes=128), "spine")
    assert sum(row.computed for row in ranked.rows) == sum(len(row.parts) for row in ranked.rows)


def test_a_rank_of_nothing_names_what_there_is() -> None:
    with pytest.raises(SpecError, match="did you mean 'spine'"):
        rank(bench(), "spines")


def test_the_why_of_a_stop_says_who_is_cut_off() -> None:
    found = whatif(bench().scenario, changes_of(fail=["nic:0"]))
    assert found.why().value == "the job stops"
    assert "node:0" in found.why().how
    assert found.to_json()["nodes_cut_off"] == [0]


def test_too_many_nodes_for_a_fabric_is_infeasible() -> None:
    with pytest.raises(InfeasibleError):
        bench(topology="{kind: rail-fat-tree, tiers: 1}", nodes=4096)
