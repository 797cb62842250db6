"""Clusters calibrated on one node count, judged on the others; no row is judged that was fitted."""

from __future__ import annotations

from functools import cache

import pytest

from netloom.parts.load import load_catalog
from netloom.validation.collectives.calibrated import OtherCounts, other_counts
from netloom.validation.collectives.tables import shipped_table

GOAL_PCT = 10.0
# Missed: what was reached, which may not grow; docs/runs/calibrate.md names causes.
MISSED = {
    # On 540 nodes this version's trees reach 18 GB/s, and 29 with the next version.
    ("ALCF Polaris NCCL 2.18", 8): 15.5,
    # All 540 nodes contend, which is taken for the share of an all-to-all.
    ("ALCF Polaris NCCL 2.18", 540): 14.6,
}


@cache
def results() -> dict[tuple[str, int], OtherCounts]:
    found = other_counts(shipped_table().rows, load_catalog())
    return {(one.cluster, one.num_nodes): one for one in found}


def test_the_clusters_with_several_node_counts_are_judged() -> None:
    assert set(results()) == {
        *(("ALCF Polaris NCCL 2.18", num_nodes) for num_nodes in (2, 8, 128, 540)),
        *(("ALCF Polaris NCCL 2.21", num_nodes) for num_nodes in (2, 8, 256, 540)),
        *(("xxrjun example-cluster01", num_nodes) for num_nodes in (2, 10)),
        *(("CoreWeave GB200", num_racks) for num_racks in (2, 20)),
    }


@pytest.mark.parametrize(
    ("cluster", "num_nodes"),
    [
        ("ALCF Polaris NCCL 2.18", 2),
        ("ALCF Polaris NCCL 2.18", 8),
        ("ALCF Polaris NCCL 2.18", 128),
        ("ALCF Polaris NCCL 2.18", 540),
        ("ALCF Polaris NCCL 2.21", 2),
        ("ALCF Polaris NCCL 2.21", 8),
        ("ALCF Polaris NCCL 2.21", 256),
        ("ALCF Polaris NCCL 2.21", 540),
        ("xxrjun example-cluster01", 2),
        ("xxrjun example-cluster01", 10),
        ("CoreWeave GB200", 2),
        ("CoreWeave GB200", 20),
    ],
)
def test_other_node_counts_come_out_within_the_bound(cluster: str, num_nodes: int) -> None:
    found = results()[cluster, num_nodes]
    assert num_nodes not in found.others
    assert found.after_pct <= MISSED.get((cluster, num_nodes), GOAL_PCT)


def test_no_goal_is_held_to_less_than_it_reaches() -> None:
    for key, bound_pct in MISSED.items():
        assert GOAL_PCT < results()[key].after_pct <= bound_pct < results()[key].after_pct + 0.5


def test_every_collective_of_the_ten_h100_nodes_is_within_the_goal() -> None:
    for num_nodes in (2, 10):
        by_collective = results()["xxrjun example-cluster01", num_nodes].by_collective
        assert {kind for kind, (pct, _) in by_collective.items() if pct > GOAL_PCT} == set()
