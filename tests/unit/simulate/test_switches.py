"""What a scenario says of switches, paths, congestion control and traces reaches the packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.spec.scenario import Scenario

CATALOG = load_catalog()
NO_CONTROL = nl.Choices(congestion_control="none")


def _scenario(
    traffic: list[dict[str, object]],
    *,
    technology: str = "rocev2-400g",
    gpus: int = 32,
    tiers: int = 2,
    packets: dict[str, object],
) -> Scenario:
    topology = {"kind": "fat-tree", "tiers": tiers, "hosts_per_leaf": 8}
    cluster = {"gpus": gpus, "fabric": {"technology": technology, "topology": topology}}
    return nl.load({"cluster": cluster, "traffic": traffic, "packets": packets})


def _incasts() -> list[dict[str, object]]:
    """Return two of 4 x 4 MB into one GPU, of priorities 3 and 1."""
    common = {"kind": "incast", "target": 0, "fan_in": 4, "size": "4MB"}
    return [common | {"first": 8, "priority": 3}, common | {"first": 16, "priority": 1}]


ALONE: list[dict[str, object]] = [{"kind": "one-to-one", "source": 0, "target": 31, "size": "1MB"}]


def test_priorities_are_strict_or_share_by_weight() -> None:
    # 4 x 4 MB take 327 us of 400 Gb/s with their headers: alone where priority is strict, and
    # with three bytes in four where weights are 3 to 1.
    turns = [{"priority": 3, "weight": "12KB"}, {"priority": 1, "weight": "4KB"}]
    strict, shared = (
        nl.simulate(
            _scenario(_incasts(), packets={"switches": wish}), CATALOG, choices=NO_CONTROL
        ).by_job()
        for wish in ({}, {"weights": turns})
    )
    assert strict[0]["finish_s"] == pytest.approx(327e-6, rel=0.04)
    assert shared[0]["finish_s"] == pytest.approx(327e-6 * 4 / 3, rel=0.04)
    assert strict[1]["finish_s"] == pytest.approx(shared[1]["finish_s"], rel=0.01)


def test_a_smaller_buffer_pauses_and_one_that_cannot_hold_its_headroom_is_refused() -> None:
    def pauses(wish: dict[str, str]) -> int:
        scenario = _scenario(_incasts(), packets={"switches": wish})
        found = nl.simulate(scenario, CATALOG, choices=NO_CONTROL).first.delivery
        assert found.counters["drops"] == 0
        return found.counters["pauses"]

    assert pauses({"buffer": "12MB"}) > pauses({}) == 0
    with pytest.raises(InfeasibleError, match="headroom and reserve of its ports take"):
        pauses({"buffer": "1MB"})


def test_without_headroom_packets_are_dropped() -> None:
    wish = {"buffer": "2MB", "headroom": "0B"}
    found = nl.simulate(
        _scenario(_incasts(), packets={"switches": wish}), CATALOG, choices=NO_CONTROL
    )
    assert found.first.delivery.counters["drops"] > 0


@pytest.mark.parametrize("wish", [{"queue": "5KB"}, {"buffer": "50KB"}, {"alpha": 1e-5}])
def test_queues_that_no_packet_fits_in_are_refused(wish: dict[str, object]) -> None:
    # Packets of TCP have 9,018 bytes; an eighth of 50 KB, or 1e-5 of 128 MB, is less. Shorter ones
    # would pass.
    packets: dict[str, object] = {"switches": wish}
    with pytest.raises(InfeasibleError, match="bytes in a queue, and packets have 9018"):
        nl.simulate(_scenario(ALONE, technology="tcp-400g", packets=packets), CATALOG)
    short: list[dict[str, object]] = [ALONE[0] | {"size": "1KB"}]
    found = nl.simulate(_scenario(short, technology="tcp-400g", packets=packets), CATALOG)
    assert not found.partial


def test_cutting_through_spares_a_packet_at_each_switch() -> None:
    # Three switches, 4,178 bytes at 400 Gb/s each: 3 x 83.56 ns.
    one = nl.Choices(qps=1)
    stored, cut = (
        nl.simulate(
            _scenario(ALONE, packets={"switches": {"cut_through": early}}), CATALOG, choices=one
        ).first.delivery.tables["arrivals"]["arrive_ps"][0]
        for early in (False, True)
    )
    assert int(stored) - int(cut) == pytest.approx(3 * 83_560, abs=3)


def test_switches_that_hash_alike_use_fewer_links_above() -> None:
    # A leaf chooses among 8 spines and a spine among 8 or a multiple of 8 cores: when both hash
    # alike, a flow that was put on spine k of 8 can only go on to every eighth of its uplinks.
    def used(*, alike: bool) -> int:
        scenario = _scenario(
            [{"kind": "permutation", "size": "16KB"}],
            gpus=2048,
            tiers=3,
            packets={"switches": {"hash_alike": alike}},
        )
        found = nl.simulate(scenario, CATALOG, choices=nl.Choices(qps=4))
        return int(np.count_nonzero(found.utilisation()[found.grid.tiers() == "spine->core"]))

    assert used(alike=True) < used(alike=False) / 4


@pytest.mark.parametrize(
    ("technology", "packets", "message"),
    [
        ("infiniband-ndr", {"switches": {"buffer": "1MB"}}, "buffer: flow control credits does"),
        ("infiniband-ndr", {"switches": {"weights": [{"priority": 3, "weight": "1KB"}]}}, "weight"),
        ("tcp-400g", {"switches": {"headroom": "1KB"}}, "headroom: flow control lossy does not"),
        ("rocev2-400g", {"switches": {"queue": "1KB"}}, "queue: flow control pfc does not use"),
        ("rocev2-400g", {"switches": {"flowlet_gap": "1us"}}, "ecmp has no flowlets"),
        (
            "infiniband-ndr",
            {"switches": {"hash_alike": True}},
            "hash_alike: adaptive does not hash",
        ),
        ("infiniband-edr", {"switches": {"hash_alike": True}}, "hash_alike: d-mod-k does not hash"),
        ("uet-400g", {"switches": {"alpha": 1, "queue": "1MB"}}, "alpha: a queue of fixed size"),
        ("rocev2-400g", {"restore": "1ms"}, "restore: it follows a watchdog, and there is none"),
        ("rocev2-400g", {"paths": 64}, "paths: senders do not spray"),
        ("uet-400g", {"paths": 65}, "65 is no power of two"),
        ("rocev2-400g", {"parameters": {"gian": 0.1}}, "dcqcn has no parameter 'gian'"),
        ("rocev2-400g", {"parameters": {"alpha_period_ps": 0}}, "alpha_period_ps: 0.* no period"),
    ],
)
def test_what_the_technology_does_not_use_is_refused(
    technology: str, packets: dict[str, object], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        nl.simulate(_scenario(ALONE, technology=technology, packets=packets), CATALOG)


def test_a_share_of_the_buffer_takes_the_place_of_a_fixed_queue() -> None:
    # UET's switches trim beyond 100 packets, 420 KB. With alpha 1 of 4 MB a queue may hold 2 MB.
    def longest(wish: dict[str, object]) -> int:
        scenario = _scenario(_incasts()[:1], technology="uet-400g", packets={"switches": wish})
        found = nl.simulate(scenario, CATALOG, choices=NO_CONTROL)
        return int(found.first.delivery.tables["samples"]["waiting_bytes"].astype(int).max())

    # Headers of 64 bytes wait beside the data, twice as much at most.
    assert longest({}) == pytest.approx(420_000, rel=0.02)
    assert longest({"alpha": 1, "buffer": "4MB"}) == pytest.approx(2e6, rel=0.03)


def test_parameters_of_congestion_control_and_paths_take_effect() -> None:
    def span_s(technology: str, traffic: list[dict[str, object]], **packets: object) -> float:
        asked = _scenario(traffic, technology=technology, packets=packets)
        return nl.simulate(asked, CATALOG).first.span_s

    soon = {"increase_period_ps": 2_000_000}  # back to the line's rate within a few steps of 2 us
    incasts = _incasts()
    assert span_s("rocev2-100g", incasts, parameters=soon) < 0.9 * span_s("rocev2-100g", incasts)
    # Flows of one path meet on uplinks; sprayed ones do not.
    shuffle: list[dict[str, object]] = [{"kind": "permutation", "size": "4MB"}]
    assert span_s("uet-400g", shuffle, paths=1) > 1.3 * span_s("uet-400g", shuffle)


def test_a_trace_names_transfer_and_connection_of_each_departure() -> None:
    delivery = nl.simulate(_scenario(ALONE, packets={"trace": 50}), CATALOG).first.delivery
    trace = delivery.tables["trace"]
    assert set(trace["transfer"].tolist()) == {0}
    assert set(trace["connection"].tolist()) == {0, 1, 2, 3}
    assert set(trace["form"].tolist()) <= {"data", "ack"}
    assert len(trace["when_ps"]) == 50


def test_the_command_writes_a_trace_where_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["simulate", "--trace", "5", "--out", str(out), "--until", "20us"]) == 0
    assert (out / "trace.arrow").stat().st_size > 0
    assert main(["simulate", "--trace", "5"]) == 2
    assert "give --out as well" in capsys.readouterr().err
    assert main(["simulate", "--trace", "5", "--out", str(out), "--engine", "flow"]) == 2
    assert "flows have no packets" in capsys.readouterr().err


def test_flows_say_that_they_see_nothing_of_packets() -> None:
    asked = _scenario(ALONE, packets={"switches": {"buffer": "1MB"}})
    notes = nl.simulate(asked, CATALOG, engine="flow").notes
    assert any("under 'packets'" in note for note in notes)


def test_marks_that_no_queue_is_long_enough_for_are_told_of() -> None:
    # DCQCN's marks begin at 100 KB x 400/25 Gb/s = 1.6 MB, and UET's switches trim beyond 420 KB.
    asked = _scenario(ALONE, technology="uet-400g", packets={})

    def notes(scheme: str, ecn: str = "") -> tuple[str, ...]:
        choices = nl.Choices(congestion_control=scheme, ecn=ecn)
        return nl.simulate(asked, CATALOG, choices=choices).notes

    assert any("no packet is ever marked: queues hold 420KB" in note for note in notes("dcqcn"))
    assert notes("dcqcn", "100KB-200KB-20%") == notes("nscc") == ()
