"""What nccl-tests should show, and which cause is named where it shows less."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.engines.analytic import AnalyticEngine
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.study.expect.curve import TestRun, expected
from netloom.study.expect.diagnosis import MeasuredPoint, diagnose
from netloom.study.expect.expectation import MeasuredTest, expect_collectives, expect_tests
from netloom.study.expect.facts import SetupFacts
from netloom.study.expect.signatures import SIGNATURES
from netloom.study.expect.sizes import sizes_of
from netloom.study.expect.spread import factor_of, spread_of
from netloom.study.networks import network_of
from netloom.validated.collectives import (
    CollectiveGroup,
    CollectivePoint,
    collective_groups,
    nearest_groups,
)
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.expect.diagnosis import Diagnosis
    from netloom.study.expect.signature import Signature

CATALOG = load_catalog()
SIZES = tuple(2.0**power for power in range(10, 34))
POINT = CollectivePoint(
    collective="all_reduce",
    node="dgx-h100",
    scale_up="nvswitch3",
    family="InfiniBand",
    num_nodes=2,
    size_bytes=2.0**30,
)


def cluster(nodes: int, node: str = "dgx-h100", technology: str = "infiniband-ndr") -> nl.Scenario:
    fabric = {"technology": technology}
    return nl.load({"cluster": {"nodes": nodes, "node": node, "fabric": fabric}})


def run_on(nodes: int, kind: CollectiveKind = CollectiveKind.ALL_REDUCE) -> TestRun:
    network = network_of(cluster(nodes).cluster, CATALOG)
    return TestRun(kind=kind, group=Group(size=8 * nodes, per_node=8), network=network)


def test_no_interval_reaches_beyond_what_the_nics_can_carry() -> None:
    # All of the data enters each node once: 8 NICs of 50 GB/s, and nccl-tests counts a byte twice.
    points = expected(run_on(128), SIZES)
    assert max(point.high_gbps for point in points) <= 2 * 8 * 50
    assert all(point.low_gbps < point.bus_gbps <= point.high_gbps for point in points)


def test_the_nearest_measured_is_of_the_same_band_and_no_rack() -> None:
    groups = [
        between_nodes(2**24, 2**28),
        between_nodes(2**28, 2**30),
        replace(between_nodes(2**26, 2**27), scale_up="nvl72", max_nodes=20),
    ]
    far = replace(POINT, num_nodes=128, size_bytes=2.0**26)
    assert nearest_groups(far, groups) == groups[:1]
    assert nearest_groups(replace(far, size_bytes=2.0**28), groups) == groups[1:2]


def test_the_latency_of_a_ring_is_its_base_and_its_counted_hops() -> None:
    # An all-gather of 8 ranks in a node: 7 hops over NVLink, and NCCL's base.
    (point,) = expected(run_on(1, CollectiveKind.ALL_GATHER), (2.0**30,))
    (steps,) = [one for one in every(point.why) if one.name == "latency of the steps"]
    base, hops = steps.parts
    assert steps.value == pytest.approx(float(base.value) + float(hops.value))
    assert hops.how.startswith("7 x ")
    assert hops.value == pytest.approx(7 * float(hops.parts[0].value))


def every(why: nl.Why) -> list[nl.Why]:
    return [why, *(one for part in why.parts for one in every(part))]


def between_nodes(min_bytes: float, max_bytes: float) -> CollectiveGroup:
    return replace(
        collective_groups()[0],
        collective="all_reduce",
        scale_up="nvswitch3",
        family="InfiniBand",
        min_nodes=2,
        max_nodes=10,
        min_bytes=float(min_bytes),
        max_bytes=float(max_bytes),
    )


def diagnosed(
    run: TestRun,
    gbps: Sequence[float],
    facts: SetupFacts | None = None,
    *,
    noise: float = 0.0,
) -> Diagnosis:
    """Return the diagnosis of a made-up curve, each size off by a few percent."""
    off = np.random.default_rng(7).normal(0.0, noise, len(SIZES))
    measured = [
        MeasuredPoint(size_bytes=size, time_s=1.0, bus_gbps=rate * math.exp(part))
        for size, rate, part in zip(SIZES, gbps, off, strict=True)
    ]
    return diagnose(run, expected(run, SIZES), measured, catalog=CATALOG, facts=facts)


def designed(run: TestRun) -> list[float]:
    return [one.bus_gbps for one in expected(run, SIZES)]


def test_a_curve_is_what_the_analytic_engine_says() -> None:
    found = expect_collectives(
        cluster(2), CATALOG, kinds=[CollectiveKind.ALL_REDUCE], sizes=[2.0**20, 2.0**30]
    )
    point = found.curves[0].points[1]
    asked = Collective(
        kind=CollectiveKind.ALL_REDUCE, size_bytes=2.0**30, group=Group(size=16, per_node=8)
    )
    outcome = AnalyticEngine().run(asked, found.network)
    assert point.time_s == outcome.duration_s
    assert point.algorithm_gbps == pytest.approx(2.0**30 / outcome.duration_s / 1e9)
    assert point.bus_gbps == pytest.approx(2 * 15 / 16 * point.algorithm_gbps)
    assert (point.algorithm, point.inside) == (outcome.algorithm, outcome.validity.inside)


def group(error_pct: float, *, machine: str = "one", rows: int = 5) -> CollectiveGroup:
    return CollectiveGroup(
        collective="all_reduce",
        machine=machine,
        node="h100",
        scale_up="nvswitch3",
        technology="infiniband-ndr",
        family="InfiniBand",
        min_nodes=2,
        max_nodes=2,
        min_bytes=2.0**30,
        max_bytes=math.inf,
        rows=rows,
        median_error_pct=error_pct,
        far_rows=0,
        bound_pct=8.0,
        quantiles_pct=(error_pct,),
    )


def test_half_of_normal_errors_are_within_the_median_error_of_the_groups_near() -> None:
    spread = spread_of(POINT, (group(6.0), group(6.0, machine="two")))
    assert 0.6745 * spread == pytest.approx(math.log(1.06))
    assert factor_of(spread) == pytest.approx(1.06 ** (1.6449 / 0.6745))


def test_outside_what_was_validated_the_interval_is_as_wide_as_the_bound_at_least() -> None:
    alone = spread_of(POINT, (group(2.0),))  # of one machine only
    assert 0.6745 * alone == pytest.approx(math.log(1.08))
    elsewhere = replace(POINT, family="RoCE")  # nothing near, and 124 % off where it is nearest
    nothing_near = spread_of(elsewhere, (group(124.0),))
    assert 0.6745 * nothing_near == pytest.approx(math.log(2.24))
    assert 0.6745 * spread_of(POINT, ()) == pytest.approx(math.log(1.3))


@pytest.mark.parametrize("nodes", [1, 2, 16])
def test_a_network_as_designed_is_as_expected(nodes: int) -> None:
    run = run_on(nodes)
    assert diagnosed(run, designed(run), noise=0.03).verdict == "as expected"


@settings(max_examples=10, deadline=None)
@given(faster=st.floats(1.0, 50.0))
def test_what_is_faster_than_expected_is_never_blamed(faster: float) -> None:
    run = run_on(2)
    found = diagnosed(run, [faster * rate for rate in designed(run)])
    assert (found.verdict, found.below) == ("as expected", ())


# Where each cause shows best. Those that take a part of the rate alone (PXN, a rail, slow PCIe) are
# not told from one another.
SHOWN = [
    ("sockets", 2, CollectiveKind.ALL_REDUCE),
    ("gpudirect-off", 2, CollectiveKind.ALL_REDUCE),
    ("fewer-nics", 2, CollectiveKind.ALL_REDUCE),
    ("nvls-off", 1, CollectiveKind.ALL_REDUCE),
    ("tree", 1, CollectiveKind.ALL_REDUCE),
    ("nvlink-off", 1, CollectiveKind.ALL_REDUCE),
    ("slow-start", 1, CollectiveKind.ALL_REDUCE),
]


@pytest.mark.parametrize(("name", "nodes", "kind"), SHOWN, ids=[one[0] for one in SHOWN])
def test_a_cause_is_named_by_its_own_curve(name: str, nodes: int, kind: CollectiveKind) -> None:
    run = run_on(nodes, kind)
    signature = next(one for one in SIGNATURES if one.name == name)
    variant = signature.variants(run, CATALOG)[-1 if name in {"fewer-nics", "slow-start"} else 0]
    found = diagnosed(run, variant.bus_gbps(SIZES), noise=0.02)
    assert found.named is not None
    assert (found.named.name, found.named.how) == (name, variant.name)
    assert found.named.error_pct is not None
    assert found.named.error_pct < 5
    assert found.ratio_designed is not None
    assert found.ratio_designed > 100
    assert found.worth_gbps is not None
    assert found.measured_gbps is not None
    assert found.worth_gbps > found.measured_gbps


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda one: one.name)
def test_every_cause_has_a_remedy_and_is_slower_than_the_design(signature: Signature) -> None:
    assert signature.remedy
    assert not signature.remedy.endswith(".")
    seen = 0
    for nodes in (1, 2, 16):
        for kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL):
            run = run_on(nodes, kind)
            for variant in signature.variants(run, CATALOG):
                seen += 1
                most = max(variant.bus_gbps(SIZES))
                assert most <= 1.001 * max(designed(run)), (nodes, kind, variant.name)
    assert seen


def test_what_nothing_explains_is_unknown() -> None:
    run = run_on(1)
    odd = [rate / (15 if index % 8 < 4 else 1.5) for index, rate in enumerate(designed(run))]
    found = diagnosed(run, odd)
    assert found.verdict == "cause unknown"
    assert found.named is None
    assert sum(one.probability for one in found.causes) == pytest.approx(1, abs=0.05)


def test_the_log_overrides_the_curve() -> None:
    run = run_on(2)
    half = [rate / 2 for rate in designed(run)]
    stated = SetupFacts(way="ib", network="IB", gpudirect=False)
    found = diagnosed(run, half, stated)
    assert found.named is not None
    assert (found.named.name, found.named.probability) == ("gpudirect-off", 1.0)
    assert found.named.says == "the log has connections without GPUDirect RDMA"
    ruled_out = diagnosed(run, half, SetupFacts(way="ib", network="IB", gpudirect=True))
    assert {"gpudirect-off", "sockets"}.isdisjoint(one.name for one in ruled_out.causes)


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (SetupFacts(way="sockets", network="Socket"), "sockets"),
        (SetupFacts(way="ib", network="IB", num_nics=2), "fewer-nics"),
        (SetupFacts(way="ib", network="IB", num_nics=7), "rail-down"),
        (SetupFacts(nvls=False), "nvls-off"),
        (SetupFacts(variables={"NCCL_NVLS_ENABLE": "0"}), "nvls-off"),
        (SetupFacts(variables={"NCCL_ALGO": "Tree"}), "tree"),
        (SetupFacts(algorithms=frozenset({"tree"})), "tree"),
        (SetupFacts(variables={"NCCL_P2P_DISABLE": "1"}), "nvlink-off"),
    ],
    ids=(
        "sockets",
        "two of eight",
        "seven of eight",
        "no multicast",
        "NVLS variable",
        "ALGO variable",
        "ran trees",
        "P2P variable",
    ),
)
def test_a_log_states_a_cause(facts: SetupFacts, name: str) -> None:
    run = run_on(2)
    found = diagnosed(run, [rate / 3 for rate in designed(run)], facts)
    assert found.named is not None
    assert found.named.name == name
    assert found.named.says


def test_a_log_says_nothing_of_a_cluster_that_is_as_expected() -> None:
    run = run_on(2)
    assert diagnosed(run, designed(run), SetupFacts(nvls=False)).verdict == "as expected"


def test_dips_are_shown_and_not_judged() -> None:
    run = run_on(1)
    points = expected(run, SIZES)
    measured = [
        MeasuredPoint(
            size_bytes=one.size_bytes,
            time_s=1.0,
            bus_gbps=one.bus_gbps / (30 if index < 10 else 1),
            dip=index < 10,
        )
        for index, one in enumerate(points)
    ]
    found = diagnose(run, points, measured, catalog=CATALOG)
    assert (found.verdict, found.below) == ("as expected", ())


def test_a_rack_counts_as_one_node_whatever_its_trays() -> None:
    scenario = cluster(2, "gb200-nvl72")
    test = MeasuredTest(
        log="a.log",
        kind=CollectiveKind.ALL_REDUCE,
        num_ranks=72,
        num_nodes=18,
        times=((2.0**30, 2e-3, False),),
    )
    assert expect_tests(scenario, CATALOG, [test]).curves[0].run.group.num_nodes == 1


@pytest.mark.parametrize(
    ("ranks", "nodes", "words"),
    [
        (24, 3, "takes 3 nodes, the cluster has 2"),
        (32, 2, "32 ranks on 2 x dgx-h100 of 8 GPUs"),
        (1, 1, "a single rank moves nothing"),
    ],
)
def test_a_test_that_the_cluster_cannot_run_is_refused(ranks: int, nodes: int, words: str) -> None:
    times = ((2.0**20, 1e-3, False),)
    test = MeasuredTest(
        log="a", kind=CollectiveKind.ALL_REDUCE, num_ranks=ranks, num_nodes=nodes, times=times
    )
    with pytest.raises(SpecError, match=words):
        expect_tests(cluster(2), CATALOG, [test])


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8", (8,)),
        ("64K,1M", (65536, 1048576)),
        ("1MiB", (1048576,)),
        ("1.5G", (1.5 * 2**30,)),
        ("1K:8K", (1024, 2048, 4096, 8192)),
        ("1M,1M", (1048576,)),
    ],
)
def test_sizes_are_read_as_nccl_tests_writes_them(text: str, sizes: tuple[float, ...]) -> None:
    assert sizes_of([text]) == sizes


@pytest.mark.parametrize("text", ["5x", "0", "-1K", "1e9", "8G:1M", "1:2:3", "99T"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match=r"--sizes: .*; write"):
        sizes_of([text])


def test_a_cluster_alone_is_a_scenario_that_other_commands_refuse_in_words() -> None:
    with pytest.raises(SpecError, match="job: this scenario has none, only 'cluster'; add a job"):
        nl.predict(cluster(2))
