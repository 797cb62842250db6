from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.cli.main import main
from netloom.spec.scenario import Scenario
from netloom.study.goodput.failures import interruption_rates, mean_time_between_s
from netloom.study.goodput.spares import enough_share, spares_needed
from netloom.study.goodput.uptime import Uptime, goodput
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of

HOUR_S = 3600.0


def scenario(*, nodes: int, topology: dict[str, object], **reliability: object) -> Scenario:
    training = {"global_batch": 1024}
    return Scenario.model_validate(
        {
            "cluster": {"nodes": nodes, "node": "dgx-h100", "fabric": {"topology": topology}},
            "job": {"model": "llama-2-7b", "training": training, "reliability": reliability},
        }
    )


def run(nodes: int, topology: dict[str, object], **reliability: object) -> Uptime:
    return goodput(scenario(nodes=nodes, topology=topology, **reliability))


FAT_TREE: dict[str, object] = {"kind": "rail-fat-tree"}
DUAL: dict[str, object] = {"kind": "multi-plane", "planes": 2}


@pytest.mark.validation
def test_a_dual_homed_node_loses_a_sixteenth_with_one_link() -> None:
    """HPN (SIGCOMM 2024), section 9.3: 8 NICs x 2 links, one lost: -6.25 %, and no halt."""
    single, dual = run(32, FAT_TREE), run(32, DUAL)
    assert dual.domains[0].node_share == 0.0625
    assert dual.domains[0].nodes_stopped == 0
    assert single.domains[0].nodes_stopped == 1


@pytest.mark.validation
@pytest.mark.parametrize(("gpus", "hours"), [(16_384, 1.80), (131_072, 0.23)])
def test_meta_projects_hours_between_failures(gpus: int, hours: float) -> None:
    """6.5 failures per 1,000 node-days: arXiv:2410.21680."""
    asked = scenario(nodes=gpus // 8, topology=FAT_TREE)
    design = network_of(asked.cluster, catalog_of(asked)).design
    rates = interruption_rates(design, num_hosts=1, record="meta-rsc-1")
    assert mean_time_between_s(rates) / HOUR_S == pytest.approx(hours, abs=0.005)


def test_a_leaf_of_a_rail_takes_one_nic_of_each_of_its_nodes() -> None:
    """A 64-port leaf has 32 hosts below; each loses 1 of 8 NICs, and with it the job."""
    leaf = run(64, FAT_TREE).domains[1]
    assert (leaf.nodes_hit, leaf.nodes_stopped, leaf.node_share) == (32, 32, 0.125)


def test_a_spine_takes_an_even_share_of_a_leafs_uplinks() -> None:
    """64 nodes: 16 leaves of 32 uplinks over 8 spines: 4 of 32 cables each."""
    found = run(64, FAT_TREE)
    spine = found.domains[2]
    assert spine.uplink_share == 1 / found.network.design.tiers[1].num_switches


def test_hpn_counts_leaves_where_nics_hang_on_one() -> None:
    parts = {
        rate.part: rate.count for rate in run(64, FAT_TREE, record="alibaba-hpn").goodput.rates
    }
    assert parts["leaf"] == 16
    assert parts["NIC link"] == 512
    dual = {rate.part: rate.count for rate in run(64, DUAL, record="alibaba-hpn").goodput.rates}
    assert dual["leaf"] == dual["NIC link"] == 0


@pytest.mark.parametrize("spares", [None, 0, 2, 20])
def test_what_is_kept_and_what_is_lost_add_up_to_all_the_time(spares: int | None) -> None:
    kept = run(256, FAT_TREE, spares=spares).goodput
    assert kept.share + sum(kept.losses().values()) == pytest.approx(1, abs=1e-12)
    assert min(kept.losses().values()) >= 0


def test_without_spares_the_job_waits_for_every_repair() -> None:
    """With r nodes away on average none is away exp(-r) of the time."""
    kept = run(256, FAT_TREE, spares=0).goodput
    assert kept.staffed_share == pytest.approx(math.exp(-kept.nodes_away))


@given(st.floats(0.01, 2000.0))
def test_one_spare_fewer_than_needed_is_not_enough(away: float) -> None:
    needed = spares_needed(away)
    assert enough_share(needed, away) >= 0.99
    assert needed == 0 or enough_share(needed - 1, away) < 0.99


def test_every_improvement_helps_and_the_best_comes_first() -> None:
    found = run(256, FAT_TREE, spares=2)
    gains = [one.gain for one in found.improvements]
    assert gains == sorted(gains, reverse=True)
    assert min(gains) > 0


def test_the_command_prints_what_its_json_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["goodput", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["result"]
    assert main(["goodput"]) == 0
    assert f"{told['goodput']:.1%} of the time" in capsys.readouterr().out
    assert told["goodput"] + sum(told["lost"].values()) == pytest.approx(1)
