"""What-ifs against what Alibaba published of HPN's failures (SIGCOMM 2024, section 9.3).

The paper compares a 256-GPU job on dual-ToR hosts, whose NICs have a port on each of two leaves,
with one on single-ToR hosts: losing a link costs the first 6.25 % and halts the second.
"""

from __future__ import annotations

import numpy as np
import pytest

from netloom.fabric.graph import LinkState, VertexKind
from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.whatif.changes import applied, changes_of
from netloom.study.whatif.failure import BaselineJob, bench_of

pytestmark = pytest.mark.validation


def job(topology: str) -> BaselineJob:
    # The batch and the parallelism of the published job are not known; these are assumed.
    scenario = parse(
        f"""
cluster: {{nodes: 32, fabric: {{technology: spectrum-x-400g, topology: {topology}}}}}
job:
  model: llama-2-7b
  training: {{sequence: 2048, global_batch: 512}}
  parallel: {{tensor: 8}}
""",
        name="hpn.yaml",
    )
    return bench_of(scenario, catalog_of(scenario))


def host_rate_bps(bench: BaselineJob, *lost: str) -> float:
    fabric = applied(bench.fabric, changes_of(fail=lost))
    sends = (fabric.vertex_kind[fabric.link_source] == VertexKind.NIC) & (
        fabric.vertex_kind[fabric.link_target] == VertexKind.SWITCH
    )
    sends &= (fabric.vertex_node[fabric.link_source] == 0) & (fabric.link_state == LinkState.UP)
    return float(fabric.link_rate_bps[sends].sum())


def test_a_lost_link_takes_a_sixteenth_of_a_dual_plane_host_and_the_job_goes_on() -> None:
    """6.25 % of the host's bandwidth, exactly.

    Of the job's speed HPN lost as much. netloom says 13.4 % for the job assumed here, whose rings
    stay on the NIC that lost a port: that number is not met, and not checked beyond its limits.
    At most all exposed communication takes twice as long.
    """
    bench = job("{kind: multi-plane, planes: 2}")
    assert host_rate_bps(bench, "nic:0") / host_rate_bps(bench) == 1 - 0.0625
    before, after = bench.healthy()[0], bench.after(changes_of(fail=["nic:0"]))
    assert after.step_s is not None
    lost = 1 - before.duration_s / after.step_s
    exposed_share = sum(before.step.exposed_s.values()) / before.duration_s
    assert 0 < lost < exposed_share


def test_a_lost_link_halts_a_single_plane_job() -> None:
    after = job("{kind: rail-fat-tree}").after(changes_of(fail=["nic:0"]))
    assert after.step_s is None
    assert after.cut_off == (0,)


def test_two_planes_survive_any_one_leaf_and_one_plane_survives_none() -> None:
    """The point of HPN's dual planes: no leaf is a single point of failure."""
    for topology, survives in (
        ("{kind: multi-plane, planes: 2}", True),
        ("{kind: rail-fat-tree}", False),
    ):
        bench = job(topology)
        num_leaves = bench.network.design.tiers[0].num_switches
        for leaf in np.unique([0, num_leaves // 2, num_leaves - 1]).tolist():
            after = bench.after(changes_of(fail=[f"leaf:{leaf}"]))
            assert (after.step_s is not None) is survives
