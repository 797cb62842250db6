"""A broken part never helps where packets are sprayed."""

from __future__ import annotations

from functools import cache
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.whatif.changes import Change, parts_called
from netloom.study.whatif.failure import BaselineJob, bench_of

TOPOLOGIES = (
    "{kind: rail-fat-tree, hosts_per_leaf: 8}",
    "{kind: rail-fat-tree, hosts_per_leaf: 8, oversubscription: 3}",
    "{kind: fat-tree, tiers: 3, hosts_per_leaf: 8}",
    "{kind: multi-plane, planes: 2, hosts_per_leaf: 8}",
    "{kind: dragonfly-plus}",
)
NOISE = 1e-9


@cache
def bench(topology: str, placement: str) -> BaselineJob:
    scenario = parse(
        f"""
cluster: {{nodes: 24, fabric: {{technology: uet-400g, topology: {topology}}}}}
job:
  model: llama-2-70b
  training: {{global_batch: 192}}
  parallel: {{tensor: 8, zero: 3}}
  placement: {{kind: {placement}}}
""",
        name="x.yaml",
    )
    return bench_of(scenario, catalog_of(scenario))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(TOPOLOGIES),
    st.sampled_from(["packed", "scattered"]),
    st.sampled_from(["fail", "drain", "slow"]),
    st.data(),
)
def test_no_part_makes_a_step_shorter_by_breaking(
    topology: str, placement: str, act: Literal["fail", "drain", "slow"], data: st.DataObject
) -> None:
    one = bench(topology, placement)
    kinds = [tier.name for tier in one.fabric.design.tiers] + ["links"]
    part = data.draw(st.sampled_from(parts_called(one.fabric, data.draw(st.sampled_from(kinds)))))
    factor = 2.5 if act == "slow" else 1.0
    change = Change(act=act, part=part, factor=factor)
    after = one.after([change]).step_s
    before = one.healthy()[0].duration_s
    assert after is None or after >= before * (1 - NOISE)
