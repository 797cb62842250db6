"""Counters that rise on one port: which part they convict, which only tell of congestion."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from netloom.fabric.build import build
from netloom.ops.locate.locate import locate_window
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.observation import Observation, whole
from netloom.ops.plant import plant_of
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.ops.locate.locate import LocatedWindow

METRICS = ("link_downs", "integrity_errors", "buffer_overruns", "send_discards")


@functools.cache
def network() -> DesignedNetwork:
    asked = {"technology": "infiniband-ndr", "topology": {"kind": "fat-tree"}}
    made = network_of(Cluster.model_validate({"nodes": 16, "fabric": asked}), load_catalog())
    fabric = build(made.design, made.node, made.scale_up)
    return DesignedNetwork(
        fabric=fabric, plant=plant_of(fabric), rate_bps=lambda cable: cable.rate_bps
    )


CABLE = network().by_device["leaf:1"][-1]
LOWER, UPPER = network().ends[CABLE.number]


def seen(counts: Mapping[tuple[str, str], Sequence[float]]) -> LocatedWindow:
    """Return what looks ten seconds apart show: all ports up and at rest but for *counts*."""
    told = {(end, metric): (0.0,) for end in network().at for metric in METRICS}
    num = max(len(values) for values in counts.values())
    values = told | {key: tuple(some) for key, some in counts.items()}
    return locate_window(
        network(),
        window_of(
            whole(
                "x",
                10.0 * look,
                [
                    *(Observation(10.0 * look, end, "link_up", 1.0) for end in network().at),
                    *(
                        Observation(10.0 * look, part, metric, some[min(look, len(some) - 1)])
                        for (part, metric), some in values.items()
                    ),
                ],
                cursor="",
            )
            for look in range(num)
        ),
    )


def findings(counts: Mapping[tuple[str, str], Sequence[float]]) -> list[tuple[int, str]]:
    return [(one.part.index, one.kind) for one in seen(counts).findings]


@pytest.mark.parametrize(
    ("metric", "kind"), [("link_downs", "flapping"), ("integrity_errors", "symbol errors")]
)
@pytest.mark.parametrize("end", [LOWER, UPPER])
def test_two_at_one_end_convict_the_cable_and_one_does_not(
    metric: str, kind: str, end: str
) -> None:
    assert findings({(end, metric): (0, 2)}) == [(CABLE.number, kind)]
    assert findings({(end, metric): (0, 1, 2)}) == [(CABLE.number, kind)]
    assert findings({(end, metric): (0, 1)}) == []


@pytest.mark.parametrize("metric", METRICS)
def test_what_was_counted_before_the_first_look_says_nothing(metric: str) -> None:
    now = seen({(UPPER, metric): (15, 15, 15)})
    assert (now.findings, now.congestion) == ((), ())


@pytest.mark.parametrize("metric", METRICS)
def test_a_counter_that_was_cleared_says_nothing(metric: str) -> None:
    now = seen({(UPPER, metric): (15, 0, 0)})
    assert (now.findings, now.congestion) == ((), ())


def test_a_cable_went_down_with_the_device_at_its_other_end_that_restarted() -> None:
    counts = {(UPPER, "link_downs"): (4, 6), (LOWER, "link_downs"): (9, 0)}
    assert findings(counts) == []


def test_errors_of_a_cable_that_was_plugged_in_are_no_second_finding() -> None:
    counts = {(UPPER, "link_downs"): (0, 3), (UPPER, "integrity_errors"): (0, 5)}
    assert findings(counts) == [(CABLE.number, "flapping")]


def test_symbol_errors_and_passed_thresholds_of_both_ends_are_one_finding() -> None:
    counts = {(end, "integrity_errors"): (0, 3) for end in (LOWER, UPPER)}
    counts[UPPER, "symbol_errors"] = (0, 5000)
    (one,) = seen(counts).findings
    assert (one.part.index, one.kind) == (CABLE.number, "symbol errors")
    assert one.evidence[0].count("more physical errors than its threshold allows, 3 times") == 2


@pytest.mark.parametrize(
    ("metric", "end", "sender"),
    [
        ("send_discards", LOWER, "leaf:1"),
        ("send_discards", UPPER, "spine"),
        ("buffer_overruns", LOWER, "spine"),
        ("buffer_overruns", UPPER, "leaf:1"),
    ],
)
def test_packets_without_room_are_congestion_and_no_broken_part(
    metric: str, end: str, sender: str
) -> None:
    now = seen({(end, metric): (3, 15)})
    assert now.findings == ()
    (one,) = now.congestion
    assert str(one.part).startswith(f"cable:{CABLE.number} ({sender}")
    assert "12" in one.evidence[0]


def test_what_waits_at_a_cable_that_is_down_is_no_congestion() -> None:
    counts = {(LOWER, "send_discards"): (0, 900)}
    down = {(end, "link_up"): (1.0, 0.0) for end in (LOWER, UPPER)}
    now = seen({**counts, **down})
    assert [one.kind for one in now.findings] == ["missing cable"]
    assert now.congestion == ()


def test_dropped_management_packets_say_nothing() -> None:
    now = seen({(UPPER, "management_drops"): (0, 60_000)})
    assert (now.findings, now.congestion) == ((), ())
