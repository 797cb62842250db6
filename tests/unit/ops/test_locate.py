from __future__ import annotations

import contextlib
import functools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.locate_bouncer import blame_by_regression
from bench.locate_grid import DRAWS, draw_fault, same_part
from bench.locate_scene import Scene, scene_of, watch
from bench.locate_voting import blame_by_votes
from netloom.cli.main import main
from netloom.errors import SpecError
from netloom.fabric.build import build
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import find_vertex, link_name, vertex_name
from netloom.fabric.part_id import PartId
from netloom.ops.locate import likelihood
from netloom.ops.locate.faults import FaultHypothesis, FaultKind, Scope
from netloom.ops.locate.findings import find, part_of
from netloom.ops.locate.read import observations_of, parse_observed
from netloom.ops.locate.search import suspect
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.observations import Observations


def fat_tree(nodes: int = 16) -> Fabric:
    asked = {"technology": "infiniband-ndr", "topology": {"kind": "fat-tree"}}
    cluster = Cluster.model_validate({"nodes": nodes, "fabric": asked})
    network = network_of(cluster, load_catalog())
    return build(network.design, network.node, network.scale_up)


@functools.cache
def small() -> Fabric:
    return fat_tree(2)


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return fat_tree()


@pytest.fixture(scope="module")
def scene(fabric: Fabric) -> Scene:
    return scene_of(fabric, np.random.default_rng(7))


@pytest.mark.parametrize("draw", DRAWS)
def test_every_kind_of_single_fault_is_found_first(fabric: Fabric, scene: Scene, draw: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(3):
        truth = draw_fault(fabric, rng, draw)
        found = suspect(fabric, watch(scene, (truth,), rng))
        assert found, truth
        assert same_part(found[0].fault, truth), (truth, found[0])


def test_a_healthy_window_raises_no_alarm(fabric: Fabric, scene: Scene) -> None:
    rng = np.random.default_rng(12)
    alarms = sum(bool(suspect(fabric, watch(scene, (), rng))) for _ in range(25))
    assert alarms == 0


def test_two_faults_are_told_apart(fabric: Fabric, scene: Scene) -> None:
    """Held to what bench/locate.py shows over hundreds: nearly all of both."""
    rng = np.random.default_rng(13)
    found = wanted = wrong = 0
    for _ in range(10):
        truth = (draw_fault(fabric, rng), draw_fault(fabric, rng))
        blamed = [one.fault for one in suspect(fabric, watch(scene, truth, rng))]
        wanted += len(truth)
        found += sum(any(same_part(one, true) for one in blamed) for true in truth)
        wrong += sum(not any(same_part(one, true) for true in truth) for one in blamed)
    assert found >= 0.95 * wanted
    assert wrong <= 0.05 * wanted


def test_a_loss_of_large_packets_is_told_from_a_plain_one(fabric: Fabric, scene: Scene) -> None:
    rng = np.random.default_rng(14)
    for kind in (FaultKind.LOSS, FaultKind.LARGE_LOSS):
        truth = replace(draw_fault(fabric, rng, "loss"), kind=kind, magnitude=1e-2)
        (found,) = suspect(fabric, watch(scene, (truth,), rng))
        assert found.fault.kind is kind


def test_a_host_that_drops_all_large_packets_has_a_loss_of_large_ones_not_a_black_hole() -> None:
    # As with a wrong MTU: of the flows into one NIC the large lose everything, the small nothing.
    tree = fat_tree(4)
    seen = watch(scene_of(tree, np.random.default_rng(7)), (), np.random.default_rng(8))
    nic = find_vertex(tree, "nic:5")
    link = int(np.flatnonzero(tree.link_target == nic)[-1])
    crossing = seen.paths.links == link
    into = np.isin(np.arange(len(seen)), seen.flow_of_crossing()[crossing])
    of_both = np.where(np.arange(len(seen)) % 2, seen.is_large, ~seen.is_large)
    probes = replace(
        seen,
        is_large=of_both,
        packets=np.full(len(seen), 50),
        lost=np.where(into & of_both, 50, 0),
        slowdown=np.full(len(seen), np.nan),
        delay_s=np.full(len(seen), np.nan),
        link_errors=np.full(tree.num_links, -1),
    )
    assert min(np.count_nonzero(into & of_both), np.count_nonzero(into & ~of_both)) >= 4
    (found,) = suspect(tree, probes)
    assert found.fault.kind is FaultKind.LARGE_LOSS
    assert found.fault.magnitude > 0.99


def test_probes_of_few_packets_convict_the_cable_and_not_its_switches() -> None:
    # Two hosts and two uplinks a leaf; every probe of 20 large packets over one uplink is lost
    # whole, a tenth of them all. A loss of 1e-3 on a switch at its end explains those as well, once
    # no flow may say too much, but not that its other flows lost nothing.
    asked = {"technology": "rocev2-400g", "topology": {"kind": "fat-tree", "hosts_per_leaf": 2}}
    network = network_of(Cluster.model_validate({"nodes": 2, "fabric": asked}), load_catalog())
    tree = build(network.design, network.node, network.scale_up)
    seen = watch(scene_of(tree, np.random.default_rng(7)), (), np.random.default_rng(8))
    leaf = find_vertex(tree, "leaf:1")
    uplink = int(np.flatnonzero(tree.link_source == leaf)[-1])
    crossing = np.isin(seen.paths.links // 2, uplink // 2)
    hit = np.isin(np.arange(len(seen)), seen.flow_of_crossing()[crossing]) & seen.is_large
    probes = replace(
        seen,
        packets=np.full(len(seen), 20),
        lost=np.where(hit, 20, 0),
        slowdown=np.full(len(seen), np.nan),
        delay_s=np.full(len(seen), np.nan),
        link_errors=np.full(tree.num_links, -1),
    )
    (found,) = suspect(tree, probes)
    assert (found.fault.scope, found.fault.index) == (Scope.CABLE, uplink // 2)
    assert found.confidence > 0.99


@pytest.mark.parametrize("lost_down", [0, 2])
def test_a_heavy_loss_in_one_direction_is_not_put_to_both_or_to_the_switch(lost_down: int) -> None:
    # Probes of 50 packets: those up one uplink lose 15, those down it none or, when sessions went
    # down and up again, two. Once no flow may say too much, a loss of 3e-6 on both ways explains
    # the same, and is not what was lost.
    asked = {"technology": "rocev2-400g", "topology": {"kind": "fat-tree", "hosts_per_leaf": 2}}
    network = network_of(Cluster.model_validate({"nodes": 2, "fabric": asked}), load_catalog())
    tree = build(network.design, network.node, network.scale_up)
    seen = watch(scene_of(tree, np.random.default_rng(7)), (), np.random.default_rng(8))
    uplink = int(np.flatnonzero(tree.link_source == find_vertex(tree, "leaf:1"))[-1])
    hit = np.isin(np.arange(len(seen)), seen.flow_of_crossing()[seen.paths.links == uplink])
    down = np.isin(np.arange(len(seen)), seen.flow_of_crossing()[seen.paths.links == uplink ^ 1])
    probes = replace(
        seen,
        packets=np.full(len(seen), 50),
        lost=np.where(hit, 15, np.where(down, lost_down, 0)),
        slowdown=np.full(len(seen), np.nan),
        delay_s=np.full(len(seen), np.nan),
        link_errors=np.full(tree.num_links, -1),
    )
    (found,) = suspect(tree, probes)
    assert (found.fault.scope, found.fault.index) == (Scope.LINK, uplink)
    assert found.fault.magnitude == pytest.approx(0.3, rel=0.01)


def test_a_one_way_loss_names_the_direction(fabric: Fabric, scene: Scene) -> None:
    rng = np.random.default_rng(15)
    truth = draw_fault(fabric, rng, "one-way")
    (found,) = suspect(fabric, watch(scene, (truth,), rng))
    assert (found.fault.scope, found.fault.index) == (Scope.LINK, truth.index)
    assert found.fault.magnitude == pytest.approx(truth.magnitude, rel=0.2)


def test_renaming_flows_changes_nothing(fabric: Fabric, scene: Scene) -> None:
    rng = np.random.default_rng(16)
    truth = draw_fault(fabric, rng, "loss")
    seen = watch(scene, (truth,), rng)
    order = rng.permutation(len(seen))
    paths = [seen.paths.path(int(flow)) for flow in order]
    mixed = replace(
        seen,
        paths=type(seen.paths)(
            offsets=np.cumsum([0, *map(len, paths)]), links=np.concatenate(paths)
        ),
        **{
            name: getattr(seen, name)[order]
            for name in ("packets", "lost", "is_large", "slowdown", "delay_s")
        },
    )
    one, other = suspect(fabric, seen), suspect(fabric, mixed)
    assert [s.fault.index for s in one] == [s.fault.index for s in other]
    assert one[0].score == pytest.approx(other[0].score)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(1e-5, 0.5))
def test_no_single_flow_says_more_than_its_oddity_allows(lost: int, more: int, rate: float) -> None:
    """Each say lies within the logarithm of the share of odd flows."""
    flows = np.array([float(lost)]), np.array([float(lost + more)]), np.array([1e-8])
    limit = -np.log(likelihood.ODDITY) + 1e-9
    assert abs(likelihood.lost(*flows, rate)[0]) <= limit
    assert abs(likelihood.dead(*flows, min(rate, 0.5))[0]) <= limit


def test_missing_observations_say_nothing() -> None:
    nothing = np.array([np.nan])
    one = np.ones(1)
    assert likelihood.slowed(nothing, one, 2.0)[0] == 0
    assert likelihood.delayed(nothing, 0 * one, 1e-4)[0] == 0
    assert likelihood.counted(-one, one, 1e-8, 1e-3)[0] == 0


def test_the_baselines_find_a_heavy_loss(fabric: Fabric, scene: Scene) -> None:
    rng = np.random.default_rng(17)
    truth = replace(draw_fault(fabric, rng, "loss"), magnitude=1e-2)
    seen = watch(scene, (truth,), rng)
    assert blame_by_votes(seen, fabric.num_links)[0] // 2 == truth.index
    assert blame_by_regression(seen, fabric.num_links)[0] // 2 == truth.index


def test_a_forwarding_plane_that_lost_paths_is_reported(fabric: Fabric, scene: Scene) -> None:
    seen = watch(scene, (), np.random.default_rng(18))
    leaf = find_vertex(fabric, "leaf:1")
    rib, fib = seen.rib_ways.copy(), seen.fib_ways.copy()
    rib[leaf], fib[leaf] = 8, 4
    (finding,) = find(fabric, replace(seen, rib_ways=rib, fib_ways=fib))
    assert (finding.part, finding.kind) == (PartId("leaf", 1), "forwarding lost paths")
    assert finding.predicted_gain == 0.5


def test_a_pause_storm_is_traced_to_the_nic_that_began_it(fabric: Fabric, scene: Scene) -> None:
    """The NIC pauses its leaf, the leaf its spines: only the NIC is paused by nobody."""
    seen = watch(scene, (), np.random.default_rng(19))
    into_nics = (fabric.vertex_kind[fabric.link_target] == VertexKind.NIC) & (
        fabric.vertex_kind[fabric.link_source] == VertexKind.SWITCH
    )
    link = int(np.flatnonzero(into_nics)[5])
    leaf, nic = int(fabric.link_source[link]), int(fabric.link_target[link])
    pauses = np.zeros(fabric.num_links)
    pauses[link] = 0.95
    from_spines = (fabric.link_target == leaf) & (fabric.vertex_tier[fabric.link_source] == 2)
    pauses[from_spines] = 0.4
    (finding,) = find(fabric, replace(seen, pause_share=pauses))
    assert str(finding.part) == vertex_name(fabric, nic)
    assert finding.kind == "pause storm"


def test_findings_say_who_is_hurt_and_what_mending_brings(fabric: Fabric, scene: Scene) -> None:
    rng = np.random.default_rng(20)
    truth = draw_fault(fabric, rng, "NIC")
    finding = find(fabric, watch(scene, (truth,), rng))[0]
    assert finding.part == part_of(fabric, truth)
    own_gpu = finding.part.index  # NIC n hangs on GPU n of a DGX
    assert own_gpu in finding.hurts
    assert 0.2 < finding.predicted_gain < 0.8


def path_of(seen: Observations, flow: int) -> list[int]:
    return [int(link) for link in seen.paths.path(flow)]


def observed(fabric: Fabric, truth: FaultHypothesis) -> str:
    """Return a file of what a loss looks like."""
    seen = watch(scene_of(fabric, np.random.default_rng(1)), (truth,), np.random.default_rng(2))
    flows = [
        {
            "source": vertex_name(fabric, int(fabric.link_source[seen.paths.path(flow)[0]])),
            "target": vertex_name(fabric, int(fabric.link_target[seen.paths.path(flow)[-1]])),
            "path": [f"{link_name(fabric, link)}#{link // 2}" for link in path_of(seen, flow)],
            "packets": int(seen.packets[flow]),
            "lost": int(seen.lost[flow]),
        }
        for flow in range(len(seen))
    ]
    return json.dumps({"flows": flows})


def test_the_command_reads_observations_and_names_the_part(
    fabric: Fabric, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "x.yaml"
    scenario.write_text(
        "cluster: {nodes: 16, fabric: {technology: infiniband-ndr, topology: {kind: fat-tree}}}\n"
        "job: {model: llama-2-7b, training: {global_batch: 128}}\n"
    )
    truth = draw_fault(fabric, np.random.default_rng(3), "loss")
    file = tmp_path / "seen.json"
    file.write_text(observed(fabric, truth))
    assert main(["locate", str(scenario), "--observations", str(file), "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["result"]["findings"]
    assert finding["part"] == str(part_of(fabric, truth))
    assert main(["locate", str(scenario), "--observations", str(file)]) == 0
    limit = ["--fail-if", "findings.count>0"]
    assert main(["locate", str(scenario), "--observations", str(file), *limit]) == 1
    assert str(part_of(fabric, truth)) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "seen.json: Invalid JSON"),
        ('{"flows": [{"source": "gpu:0", "target": "gpu:9", "packets": -1}]}', "flows.0.packets"),
        ('{"flows": [{"source": "gpu:0", "target": "gpu:9", "packets": 1, "lost": 2}]}', "flows.0"),
        ('{"flows": [{"source": "gpu:0", "target": "leaf:0", "packets": 1}]}', "is no GPU"),
        ('{"links": [{"link": "leaf:0"}]}', "links.0.link"),
        ('{"switches": [{"switch": "laef:0", "rib_ways": 1, "fib_ways": 1}]}', "leaf"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(fabric: Fabric, text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        observations_of(fabric, parse_observed(text, "seen.json"))


@settings(max_examples=200)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["flows", "links", "switches", "source"]), inner, max_size=3
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_is_read_or_refused(value: object) -> None:
    with contextlib.suppress(SpecError):
        observations_of(small(), parse_observed(json.dumps(value), "seen.json"))
