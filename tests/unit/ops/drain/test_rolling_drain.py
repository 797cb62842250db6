"""A rolling drain takes every switch once, and says what each step costs."""

from __future__ import annotations

import functools
import itertools
import json
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.app.heal.target import target_of
from netloom.app.roll import roll
from netloom.cli.main import main
from netloom.cli.output import to_plain
from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.ops.drain.order import batches_of
from netloom.ops.drain.rolling import RollingDrain, rolling_drain
from netloom.ops.heal.effect import trial_of
from netloom.spec.heal import HealPolicy, parse_policy
from netloom.spec.load import parse

if TYPE_CHECKING:
    from pathlib import Path

# 32 nodes with 8 ports on leaves of 64 ports: 8 leaves with 32 uplinks each, so 4 spines.
SCENARIO = """
cluster:
  nodes: 32
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: %s, tiers: 2}}
"""
JOB = "job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 256}}\n"
QUARTER = parse_policy("heal: {by_itself: [drain], most_capacity_away: 25%}", name="policy")


@functools.cache
def scenario(kind: str = "fat-tree", *, with_job: bool = False) -> nl.Scenario:
    return parse(SCENARIO % kind + JOB * with_job, name="scenario")


@functools.cache
def plan(*, with_job: bool = False) -> RollingDrain:
    return roll(scenario(with_job=with_job), policy=QUARTER)


def test_one_of_four_spines_gone_leaves_three_quarters_of_the_bandwidth() -> None:
    spines = plan().steps[:4]
    assert [str(step.parts[0]) for step in spines] == ["spine:0", "spine:1", "spine:2", "spine:3"]
    for step in spines:
        assert step.effect.away_after.share == pytest.approx(1 / 4)
        assert step.flow_slowdown == pytest.approx(4 / 3 - 1, abs=2e-3)
        assert step.verdict == "run" if step.effect.slowdown <= 0.05 else "ask"


def test_two_spines_at_once_leave_half_of_it_and_policy_refuses_that() -> None:
    steps = roll(scenario(), policy=QUARTER, at_once=2).steps
    sizes = [len(step.parts) for step in steps[:3]]
    assert sizes == [1, 2, 1]  # the canary goes alone
    assert steps[1].flow_slowdown == pytest.approx(1.0, abs=2e-3)
    assert steps[1].verdict == "refuse"
    assert "50.0% of the capacity between switches would be away" in steps[1].reasons[0]


def test_what_is_away_already_counts() -> None:
    first = roll(scenario(), policy=QUARTER, away=("spine:3",)).steps[0]
    assert first.effect.away_before.share == pytest.approx(1 / 4)
    assert first.effect.away_after.share == pytest.approx(1 / 2)
    # 2 of 4 where 3 of 4 were left: half as long again.
    assert first.flow_slowdown == pytest.approx(1 / 2, abs=2e-3)
    assert first.verdict == "refuse"


def test_a_leaf_takes_its_nodes_and_the_job_stops_there() -> None:
    leaves = plan(with_job=True).steps[4:]
    assert [step.nodes for step in leaves] == [tuple(range(4 * n, 4 * n + 4)) for n in range(8)]
    assert all(step.stops_job and math.isinf(step.slowdown) for step in leaves)
    assert all("jobs leave 4 nodes first, more than 1" in step.reasons for step in leaves)


def test_times_add_up() -> None:
    done = roll(scenario(with_job=True), policy=QUARTER, takes_s=600.0, soak_s=100.0)
    assert done.takes_s == 12 * 600.0 + 100.0
    stopped_s = 8 * 600.0
    slowed_s = sum(600.0 * (1 - 1 / (1 + step.slowdown)) for step in done.steps[:4])
    assert done.lost_s == pytest.approx(stopped_s + slowed_s)


def test_rails_of_the_same_nodes_are_one_step() -> None:
    fabric = target_of(scenario("rail-fat-tree")).fabric
    batches = batches_of(fabric)
    assert [len(parts) for parts, _ in batches] == [1, 1, 1, 1, 8]
    assert batches[-1][1] == tuple(range(32))


def test_equal_steps_are_tried_once_where_there_are_many() -> None:
    target = target_of(scenario())
    trial = trial_of(target.fabric, target.technology, (), ())
    done = rolling_drain(trial, QUARTER, reason="upgrade", takes_s=1.0, soak_s=0.0, max_tried=1)
    liked = [step.like and str(step.like) for step in done.steps]
    assert liked == [None, *["spine:0"] * 3, None, *["leaf:0"] * 7]
    assert {round(step.flow_slowdown, 6) for step in done.steps[:4]} == {
        round(done.steps[0].flow_slowdown, 6)
    }


@given(at_once=st.integers(1, 9))
@settings(max_examples=9, deadline=None)
def test_every_switch_is_drained_once(at_once: int) -> None:
    fabric = target_of(scenario()).fabric
    drained = list(
        itertools.chain.from_iterable(parts for parts, _ in batches_of(fabric, at_once=at_once))
    )
    switches = [
        vertex_name(fabric, vertex)
        for vertex in range(fabric.num_vertices)
        if fabric.vertex_kind[vertex] == VertexKind.SWITCH
    ]
    assert sorted(map(str, drained)) == sorted(switches)


def test_the_default_policy_lets_nothing_run_by_itself() -> None:
    done = roll(scenario(), policy=HealPolicy())
    assert {step.verdict for step in done.steps} == {"refuse"}  # a quarter is more than a tenth


@pytest.mark.parametrize("at_once", [0, -1, 1001])
def test_a_number_out_of_range_is_refused(at_once: int) -> None:
    with pytest.raises(SpecError, match="--at-once"):
        roll(scenario(), at_once=at_once)


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="spine:9"):
        roll(scenario(), away=("spine:9",))


def test_the_command_and_the_call_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO % "fat-tree", encoding="ascii")
    assert main(["roll", str(path), "--for", "reboot", "--takes", "10min", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["result"]
    assert told == to_plain(nl.roll(scenario(), reason="reboot", takes_s=600.0).to_json())
    assert told["canary"] == "spine:0"
    assert main(["roll", str(path), "--soak", "soon"]) == 2
    assert "--soak" in capsys.readouterr().err
    assert main(["roll", str(path)]) == 1
    assert "12 steps" in capsys.readouterr().out
