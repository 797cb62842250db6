"""Chip architectures: the register, the reference network, the ranking and its answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import netloom as nl
from netloom.errors import CatalogError, SpecError
from netloom.fabric.wire.link_retry import replay_bytes, residual_loss, retry_s, retry_share
from netloom.fabric.wire.reduction import concurrent_groups, reduction_bytes, reduction_tiers
from netloom.parts.load import load_catalog
from netloom.study.compare.chips.design import base_design
from netloom.study.compare.chips.entry import CHIPS
from netloom.study.compare.chips.evaluate import on_job
from netloom.study.compare.chips.knobs import KNOBS, turn
from netloom.study.compare.chips.ranking import BASELINE, ChipComparison
from netloom.study.compare.chips.reference import REFERENCE, ReferenceTraffic
from netloom.study.compare.chips.runs import ChipBench

SCENARIO = nl.example("gpt3-175b-1k").model_copy(
    update={
        "cluster": nl.example().cluster.model_copy(update={"nodes": 128, "gpus": None}),
    }
)
FEW = ("roce-ecmp", "spray-in-order", "scheduled-cells", "link-level-retry")


@pytest.fixture(scope="module")
def compared() -> ChipComparison:
    return nl.compare(SCENARIO, chips=FEW)


def bench(name: str) -> ChipBench:
    chip = CHIPS.get(name)
    design = chip.design(base_design(chip.family, SCENARIO, load_catalog()), load_catalog())
    network = on_job(design, SCENARIO, load_catalog()).network
    return ChipBench.of(design, network, SCENARIO.cluster.fabric.floor)


def test_every_chip_names_its_sources_and_what_runs_for_it() -> None:
    for chip in CHIPS.entries():
        assert chip.sources, chip.name
        assert chip.mapping.endswith("."), chip.name
        assert chip.changes.endswith("."), chip.name
        assert all(figure.source.citation for figure in chip.figures), chip.name


def test_the_mechanisms_asked_for_are_all_there() -> None:
    asked = {
        *("spray-in-order", "flowlets", "adaptive-routing", "scheduled-cells", "uet-trimming"),
        *("uet-rccc", "eqds", "ndp", "homa", "dcpim", "link-level-retry", "credit-flow-control"),
        *("in-network-reduction", "int-hpcc", "csig", "voq-buffers", "cut-through", "radix-512"),
        *("multi-plane-mrc", "co-packaged-optics", "linear-optics", "ethernet-scale-up"),
        *("ualink-scale-up", "nvlink-scale-up", BASELINE),
    }
    assert asked <= set(CHIPS.names())


def test_a_chip_without_a_source_is_refused() -> None:
    with pytest.raises(TypeError, match="names no source"):
        replace(CHIPS.get(BASELINE), sources=())


def test_the_reference_network_is_non_blocking_and_has_one_way_over_each_spine() -> None:
    wiring = bench(BASELINE).runner.wiring
    leaf = REFERENCE.num_hosts
    down = wiring.link_rate_bps[(wiring.link_source == leaf) & (wiring.link_target < leaf)]
    up = wiring.link_rate_bps[(wiring.link_source == leaf) & (wiring.link_target > leaf)]
    assert down.sum() == up.sum() == REFERENCE.hosts_per_leaf * 400e9
    ways = np.diff(wiring.offsets)[wiring.choices[leaf, wiring.goal[REFERENCE.num_hosts - 1]]]
    assert ways == REFERENCE.hosts_per_leaf


def test_planes_split_a_nic_and_keep_its_rate() -> None:
    wiring = bench("radix-512").runner.wiring
    ports = wiring.link_rate_bps[wiring.link_source == 0]
    assert ports.tolist() == [200e9, 200e9]


def test_a_permutation_meets_its_ports_and_no_two_flows_share_one() -> None:
    flows = REFERENCE.permutation(ReferenceTraffic(), 1)
    assert sorted(flows.source) == sorted(flows.target) == list(range(REFERENCE.num_hosts))


def test_the_innocent_flow_shares_no_host_with_the_incast() -> None:
    flows = REFERENCE.incast(ReferenceTraffic(fan_in=47), 0)
    assert len(flows) == 48
    assert len(set(flows.source[:-1])) == 47
    assert not {int(flows.source[-1]), int(flows.target[-1])} & {*flows.source[:-1].tolist(), 0}


def test_spraying_gets_more_of_the_paths_than_hashing(compared: ChipComparison) -> None:
    hashed, sprayed = (compared.chip(name).runs for name in ("roce-ecmp", "spray-in-order"))
    assert hashed.path_share < 0.75
    assert sprayed.path_share > 0.9


def test_a_scheduled_fabric_does_not_hurt_the_innocent_flow(compared: ChipComparison) -> None:
    assert compared.chip("scheduled-cells").runs.victim_slowdown == pytest.approx(1.0, abs=0.02)
    assert compared.chip("roce-ecmp").runs.victim_slowdown > 1.5


def test_spread_paths_are_what_the_step_counts_with(compared: ChipComparison) -> None:
    sprayed, hashed = compared.chip("spray-in-order"), compared.chip("roce-ecmp")
    assert sprayed.candidate.technology.path_efficiency == sprayed.runs.path_share
    assert hashed.candidate.technology.path_efficiency == 1.0
    assert sprayed.step_s < hashed.step_s


def test_chips_are_ranked_by_step_and_then_by_tail(compared: ChipComparison) -> None:
    steps = [one.step_s for one in compared.ranked]
    assert all(after > before / 1.01 for before, after in pairwise(steps))
    assert compared.ranked[-1].step_s == max(steps)


def test_link_retry_changes_nothing_where_links_lose_next_to_nothing(
    compared: ChipComparison,
) -> None:
    retried, plain = compared.chip("link-level-retry"), compared.chip("roce-ecmp")
    assert retried.step_s == pytest.approx(plain.step_s, rel=1e-4)
    assert retried.runs == plain.runs


def test_link_retry_restores_the_step_where_links_lose_packets() -> None:
    def step_s(name: str, loss: float | None) -> float:
        fabric = SCENARIO.cluster.fabric.model_copy(update={"loss": loss})
        cluster = SCENARIO.cluster.model_copy(update={"fabric": fabric})
        lossy = SCENARIO.model_copy(update={"cluster": cluster})
        chip = CHIPS.get(name)
        design = chip.design(base_design(chip.family, lossy, load_catalog()), load_catalog())
        job = on_job(design, lossy, load_catalog())
        return float(nl.predict(job.scenario, job.catalog).step.duration_s)

    lossless = step_s("roce-ecmp", 1e-8)
    assert step_s("roce-ecmp", 1e-3) > 1.003 * lossless
    assert step_s("link-level-retry", 1e-3) == pytest.approx(lossless, rel=1e-4)


def test_switches_that_add_up_help_a_job_that_all_reduces_and_no_other() -> None:
    def step_s(name: str, zero: int) -> float:
        job = {
            "model": "llama-2-7b",
            "training": {"sequence": 4096, "global_batch": 1024},
            "parallel": {"tensor": 4, "zero": zero},
        }
        cluster = {"nodes": 64, "fabric": {"technology": "rocev2-400g"}}
        scenario = nl.Scenario.model_validate({"cluster": cluster, "job": job})
        chip = CHIPS.get(name)
        design = chip.design(base_design(chip.family, scenario, load_catalog()), load_catalog())
        on = on_job(design, scenario, load_catalog())
        return float(nl.predict(on.scenario, on.catalog).step.duration_s)

    assert step_s("in-network-reduction", 0) < 0.99 * step_s("roce-ecmp", 0)
    assert step_s("in-network-reduction", 1) == step_s("roce-ecmp", 1)


def test_the_why_of_a_tail_names_the_share_of_the_paths(compared: ChipComparison) -> None:
    why = compared.why("tail_s:spray-in-order")
    share = next(part for part in why.parts if part.name == "permutation: share of the paths")
    assert share.value == compared.chip("spray-in-order").runs.path_share
    with pytest.raises(SpecError, match="not compared here"):
        compared.why("tail_s:ndp")


def test_equal_seeds_give_equal_answers(compared: ChipComparison) -> None:
    again = nl.compare(SCENARIO, chips=("roce-ecmp",))
    assert again.chip("roce-ecmp").runs == compared.chip("roce-ecmp").runs


def test_an_unknown_chip_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SpecError, match="did you mean 'ndp'"):
        nl.compare(SCENARIO, chips=("npd",))


def test_a_rate_that_no_family_has_is_refused() -> None:
    fabric = SCENARIO.cluster.fabric.model_copy(update={"technology": "slingshot-11"})
    slow = SCENARIO.model_copy(
        update={"cluster": SCENARIO.cluster.model_copy(update={"fabric": fabric})}
    )
    with pytest.raises(CatalogError, match="there is no spectrum-x-200g"):
        base_design("spectrum-x", slow, load_catalog())


def test_a_link_that_retries_loses_what_is_lost_twice() -> None:
    assert residual_loss(1e-4) == pytest.approx(1e-8)
    # 400 Gb/s for 1 us is 50,000 bytes, and a packet of 4,178.
    kept = replay_bytes(rate_bps=400e9, link_rtt_s=1e-6, packet_bytes=4178)
    assert kept == pytest.approx(54_178)
    share = retry_share(1e-3, rate_bps=400e9, link_rtt_s=1e-6, packet_bytes=4178)
    assert share == pytest.approx(0.999 / (0.999 + 1e-3 * 54_178 / 4178))
    assert retry_s(rate_bps=400e9, link_rtt_s=1e-6, packet_bytes=4178) == pytest.approx(1.08356e-6)


def test_a_switch_that_adds_up_needs_a_round_trip_of_memory_for_each_group() -> None:
    # 400 Gb/s for 10 us is 500 KB: 16 MB hold 32 groups.
    assert reduction_bytes(rate_bps=400e9, tree_rtt_s=10e-6) == pytest.approx(500e3)
    assert concurrent_groups(16e6, rate_bps=400e9, tree_rtt_s=10e-6) == 32
    assert [reduction_tiers(n, radix=128) for n in (64, 65, 4096, 4097)] == [1, 2, 2, 3]


def test_more_memory_spares_the_innocent_flow(compared: ChipComparison) -> None:
    knob = next(one for one in KNOBS if one.name == "buffer")
    two = replace(knob, values=(40e6, 660e6))
    few, much = turn(two, SCENARIO, load_catalog(), compared.bench).points
    assert (much.victim_slowdown or 0) < (few.victim_slowdown or 0) / 2


def test_a_memory_that_headroom_fills_is_said_to_be_too_small(compared: ChipComparison) -> None:
    knob = next(one for one in KNOBS if one.name == "buffer")
    (point,) = turn(replace(knob, values=(1e6,)), SCENARIO, load_catalog(), compared.bench).points
    assert "headroom" in point.reason


def test_json_has_what_a_chip_is_ranked_by(compared: ChipComparison) -> None:
    first = compared.to_json()["chips"][0]
    keys = ("step_time_s", "tail_s", "buffer_bytes", "network_power_w", "network_capex_usd")
    assert all(isinstance(first[key], float) for key in keys)
    assert first["limit"]
