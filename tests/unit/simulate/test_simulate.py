"""Simulations from scenario to results, with both engines."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

import netloom as nl
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog
from netloom.spec.example import example
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.run import case_of, run_case

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.run import EngineName

CATALOG = load_catalog()
TWO_TIERS = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}


def _scenario(
    *traffic: dict[str, object], technology: str = "rocev2-400g", gpus: int = 64
) -> Scenario:
    fabric = {"technology": technology, "topology": TWO_TIERS}
    return nl.load({"cluster": {"gpus": gpus, "fabric": fabric}, "traffic": list(traffic)})


@pytest.mark.parametrize("technology", ["rocev2-400g", "spectrum-x-400g", "uet-400g"])
@pytest.mark.parametrize("size", ["1B", "4096B", "10000B", "2MB"])
@pytest.mark.parametrize("qps", [1, 4])
def test_a_flow_alone_takes_what_the_closed_form_says_to_the_picosecond(
    technology: str, size: str, qps: int
) -> None:
    flow = {"kind": "one-to-one", "source": 0, "target": 63, "size": size}
    choices = Choices(congestion_control="none", qps=qps)
    run = nl.simulate(_scenario(flow, technology=technology), CATALOG, choices=choices).first
    taken_ps = int(run.delivery.finish_ps[0] - run.delivery.start_ps[0])
    assert taken_ps == run.ideal_ps[0]


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8191])
def test_several_connections_carry_the_bytes_of_their_transfer_and_no_more(size: int) -> None:
    flow = {"kind": "one-to-one", "source": 0, "target": 63, "size": f"{size}B"}
    run = nl.simulate(_scenario(flow), CATALOG, choices=Choices(qps=4)).first
    assert run.delivery.counters["delivered_bytes"] == size
    assert run.delivery.counters["data_packets"] == min(size, 4)


def test_credits_and_cut_through_come_within_a_ten_thousandth() -> None:
    # Flow-control packets of 8 bytes cross the data now and then; the closed form has none.
    flow = {"kind": "one-to-one", "source": 0, "target": 63, "size": "2MB"}
    run = nl.simulate(_scenario(flow, technology="infiniband-ndr"), CATALOG).first
    assert run.slowdown[0] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_equal_seeds_give_equal_results_and_others_do_not(engine: str) -> None:
    case = case_of(_scenario({"kind": "permutation", "size": "100KB"}), CATALOG, engine=engine)  # type: ignore[arg-type]
    one, again, other = (run_case(case, seeds=[seed]).first for seed in (1, 1, 2))
    assert (one.delivery.finish_ps == again.delivery.finish_ps).all()
    assert (one.transfers.target != other.transfers.target).any()


def test_seeds_in_threads_are_those_one_after_another() -> None:
    case = case_of(_scenario({"kind": "permutation", "size": "100KB"}), CATALOG)
    together = run_case(case, seeds=range(3), num_workers=3)
    apart = run_case(case, seeds=range(3))
    for one, other in zip(together.runs, apart.runs, strict=True):
        assert (one.delivery.finish_ps == other.delivery.finish_ps).all()
    low, mean, high = together.over_seeds()["fct_s_mean"].values()
    assert None not in (low, mean, high)
    assert sorted([low or 0, mean or 0, high or 0]) == [low, mean, high]


def test_means_over_seeds_leave_out_what_was_cut_off() -> None:
    case = case_of(_scenario({"kind": "permutation", "size": "20MB"}), CATALOG)
    asked: list[int] = []

    def stops_the_third(simulated_ps: int, _events: int) -> bool:
        if not asked or simulated_ps < asked[-1]:
            asked.append(simulated_ps)  # the clock begins again: another seed
        asked[-1] = simulated_ps
        return len(asked) == 3

    cut = run_case(case, seeds=range(3), on_progress=stops_the_third)
    whole = run_case(case, seeds=range(2))
    assert [run.cut_off for run in cut.runs] == [False, False, True]
    assert cut.over_seeds() == whole.over_seeds()
    assert cut.by_size() == whole.by_size()
    assert "1 of 3 seeds were cut off" in cut.notes[-1]
    none = run_case(case, seeds=range(2), on_progress=lambda _ps, _events: True)
    assert set(none.over_seeds()["span_s"].values()) == {None}


def test_the_engines_agree_on_an_incast() -> None:
    scenario = _scenario({"kind": "incast", "target": 0, "first": 16, "fan_in": 8, "size": "4MB"})
    spans = [
        nl.simulate(scenario, CATALOG, engine=engine).first.span_s for engine in ("packet", "flow")
    ]
    assert spans[0] == pytest.approx(spans[1], rel=0.02)


def test_a_ring_all_reduce_of_gpus_of_one_node_stays_on_the_scale_up_network() -> None:
    ring = {"kind": "collective", "operation": "all-reduce", "size": "8MB", "count": 8}
    found = nl.simulate(_scenario(ring), CATALOG)
    tiers = found.grid.tiers()
    carried = found.first.delivery.link_bytes
    assert not carried[np.char.find(tiers, "leaf") >= 0].any()
    assert carried[tiers == "gpu->scale-up"].sum() == 14 * 8e6  # 2 (n - 1) vectors, no headers


@pytest.mark.parametrize("technology", ["rocev2-400g", "infiniband-ndr", "tcp-400g"])
def test_the_engines_agree_on_a_ring_inside_a_node(technology: str) -> None:
    # 14 steps of 8 MB over the scale-up network; packets are stored once more on the way.
    ring = {"kind": "collective", "operation": "all-reduce", "size": "64MB", "count": 8}
    spans = [
        nl.simulate(_scenario(ring, technology=technology), CATALOG, engine=engine).first.span_s
        for engine in ("packet", "flow")
    ]
    assert spans[0] == pytest.approx(spans[1], rel=0.005)


def test_pieces_of_traffic_are_told_apart() -> None:
    found = nl.simulate(
        _scenario(
            {"kind": "incast", "target": 0, "first": 16, "fan_in": 4, "size": "1MB"},
            {
                "kind": "one-to-one",
                "source": 40,
                "target": 50,
                "size": "1MB",
                "start": "1ms",
                "name": "late",
            },
        ),
        CATALOG,
    )
    jobs = found.to_json()["jobs"]
    assert [job["job"] for job in jobs] == ["1 incast", "late"]
    assert jobs[1]["finish_s"] > 1e-3
    assert jobs[1]["slowdown"]["max"] == pytest.approx(1, abs=0.01)


def test_the_time_of_several_seeds_is_what_passed_and_not_their_sum() -> None:
    # The clock ticks when it is read: at the beginning and the end of each run and of all of them.
    case = case_of(_scenario({"kind": "permutation", "size": "1KB"}), CATALOG)
    ticks = itertools.count()
    found = run_case(case, seeds=range(2), clock=lambda: float(next(ticks)))
    assert [run.wall_s for run in found.runs] == [1, 1]
    assert found.to_json()["wall_s"] == 5


def test_the_json_has_what_scripts_look_for() -> None:
    found = nl.simulate(_scenario({"kind": "permutation", "size": "100KB"}), CATALOG).to_json()
    for key in (
        *("link_traversals", "events", "wall_s", "simulated_s", "peak_rss_bytes", "flows"),
        *("flows_finished", "pauses", "marks", "drops", "fct_s", "slowdown", "busiest_links"),
        *("partial", "slowdown_by_size", "jobs", "runs"),
    ):
        assert key in found, key
    assert found["flows"] == found["flows_finished"] == 64
    assert set(found["fct_s"]) == {"min", "mean", "p50", "p90", "p95", "p99", "p999", "max"}


def test_a_run_that_is_stopped_is_partial() -> None:
    scenario = _scenario({"kind": "incast", "target": 0, "first": 16, "size": "64MB"})
    until = nl.simulate(scenario, CATALOG, until_s=1e-3)
    assert until.partial
    assert until.first.delivery.simulated_ps <= 1_100_000_000
    calls = itertools.count()
    stopped = nl.simulate(scenario, CATALOG, on_progress=lambda _ps, _count: next(calls) >= 0)
    assert stopped.partial
    assert len(stopped.first.done) < len(stopped.first.transfers)


def test_tables_have_a_row_for_each_flow_and_link() -> None:
    found = nl.simulate(_scenario({"kind": "permutation", "size": "100KB"}), CATALOG)
    tables = found.tables()
    assert len(tables["flows"]) == 64
    assert len(tables["links"]) == len(found.grid.link_source)
    counted = {row["counter"]: row["count"] for row in tables["counters"].rows()}
    assert counted == dict(found.first.delivery.counters)


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ({"kind": "incast", "target": 64, "size": "1MB"}, "there is no endpoint 64"),
        ({"kind": "incast", "fan_in": 64, "size": "1MB"}, "a fan-in of 64, but 63 endpoints"),
        ({"kind": "permutation", "count": 65, "size": "1MB"}, "65 endpoints from 0"),
        ({"kind": "storage", "servers": 64, "size": "1MB"}, "leave no client"),
        (
            {"kind": "collective", "operation": "all-reduce", "group": 5, "size": "1MB"},
            "do not fall into groups of 5",
        ),
        ({"kind": "poisson", "duration": "1ms", "distribution": "no.cdf"}, "cannot be read"),
        ({"kind": "flows", "file": "no.csv"}, "cannot be read"),
        ({"kind": "one-to-one", "source": 3, "target": 3, "size": "1MB"}, "3 sends to itself"),
    ],
)
def test_impossible_traffic_is_refused_before_anything_runs(
    traffic: dict[str, object], message: str
) -> None:
    with pytest.raises(SpecError, match=r"^traffic\.0: .*" + message):
        case_of(_scenario(traffic), CATALOG)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,99,5", r"flows.csv:3: there is no endpoint 99; they are 0 to 63"),
        ("7,7,5", r"flows.csv:3: 7 sends to itself"),
        ("0,1,many", r"flows.csv:3: source and target are endpoints"),
    ],
)
def test_a_wrong_line_of_a_flow_file_is_named(row: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "flows.csv"
    file.write_text(f"source,target,size_bytes\n0,1,5\n{row}\n")
    with pytest.raises(SpecError, match=message):
        nl.simulate(_scenario({"kind": "flows", "file": str(file)}), CATALOG)


@pytest.mark.parametrize("column", ["start_us", "priority"])
def test_a_column_of_flows_that_nobody_reads_is_refused(tmp_path: Path, column: str) -> None:
    file = tmp_path / "flows.csv"
    file.write_text("source, target, size_bytes, start_s\n0, 1, 5, 1e-6\n")
    cluster = {"gpus": 16, "fabric": {"technology": "rocev2-400g"}}
    scenario = nl.load({"cluster": cluster, "traffic": [{"kind": "flows", "file": str(file)}]})
    assert nl.simulate(scenario, CATALOG).first.delivery.start_ps.tolist() == [1_000_000]
    file.write_text(f"source,target,size_bytes,{column}\n0,1,5,5\n")
    with pytest.raises(SpecError, match=f"nothing is done about the column '{column}'"):
        nl.simulate(scenario, CATALOG)


@pytest.mark.parametrize(
    ("node", "technology", "link_gbps"),
    [
        ("dgx-h100", "rocev2-400g", 400.0),
        # PCIe hands on 63 GB/s of payload, which with 82 bytes beside 4096 are 514 Gb/s.
        ("dgx-h100", "rocev2-800g", 63 * 8 * 4178 / 4096),
        ("dgx-1v", "rocev2-400g", 15.75 * 8),  # two GPUs share a NIC, and read by PCIe
        ("dgx-1v", "rocev2-100g", 50.0),
    ],
)
def test_a_load_is_of_what_a_gpu_can_send(node: str, technology: str, link_gbps: float) -> None:
    asked = {"kind": "poisson", "distribution": "fb-hadoop", "load": "50%", "duration": "20ms"}
    cluster = {"nodes": 4, "node": node, "fabric": {"technology": technology}}
    case = case_of(nl.load({"cluster": cluster, "traffic": [asked]}), CATALOG)
    bits = 8 * int(case.traffic(0).size_bytes.sum())
    assert bits / 20e-3 / 32 == pytest.approx(0.5e9 * link_gbps, rel=0.05)


@pytest.mark.parametrize(
    ("technology", "choices", "told"),
    [
        # A permutation of 4 MB took 42 times as long as alone, and nothing said why.
        ("spectrum-x-400g", Choices(congestion_control="hpcc"), True),
        ("rocev2-400g", Choices(congestion_control="hpcc", load_balancing="spray"), True),
        ("rocev2-400g", Choices(congestion_control="hpcc"), False),
        ("spectrum-x-400g", Choices(congestion_control="hpcc-pint"), False),
    ],
)
def test_telemetry_of_many_paths_is_told(technology: str, choices: Choices, *, told: bool) -> None:
    flow = {"kind": "one-to-one", "source": 0, "target": 8, "size": "1KB"}
    cluster = {"gpus": 16, "fabric": {"technology": technology}}
    scenario = nl.load({"cluster": cluster, "traffic": [flow]})
    notes = nl.simulate(scenario, CATALOG, choices=choices).notes
    assert any("hpcc compares" in note for note in notes) == told


def test_unknown_schemes_and_engines_are_refused() -> None:
    scenario = _scenario({"kind": "permutation", "size": "1MB"})
    with pytest.raises(
        SpecError, match="congestion_control: 'dcqc' is not known; did you mean 'dcqcn'"
    ):
        nl.simulate(scenario, CATALOG, choices=Choices(congestion_control="dcqc"))
    with pytest.raises(SpecError, match="ecn: '5' is not Kmin-Kmax-Pmax"):
        nl.simulate(scenario, CATALOG, choices=Choices(ecn="5"))
    with pytest.raises(SpecError, match="flows have none"):
        nl.simulate(scenario, CATALOG, engine="flow", choices=Choices(congestion_control="hpcc"))
    with pytest.raises(SpecError, match="engine: 'packets' is not known; did you mean 'packet'"):
        nl.simulate(scenario, CATALOG, engine="packets")


@pytest.mark.parametrize("spray", ["spray", "bitmap", "retiring", "reps"])
def test_rocev1_shows_switches_nothing_to_spray_with(spray: str) -> None:
    scenario = _scenario({"kind": "permutation", "size": "1MB"})
    fabric = scenario.cluster.fabric.model_copy(update={"technology": "rocev1-100g"})
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    asked = scenario.model_copy(update={"cluster": cluster})
    with pytest.raises(SpecError, match="changes the source port, and these packets have none"):
        nl.simulate(asked, CATALOG, choices=Choices(load_balancing=spray))


def test_rails_that_do_not_meet_are_named_before_the_run() -> None:
    scenario = nl.load(
        {
            "cluster": {"gpus": 64, "fabric": {"topology": {"kind": "rail-only"}}},
            "traffic": [{"kind": "one-to-one", "source": 0, "target": 9, "size": "1MB"}],
        }
    )
    with pytest.raises(InfeasibleError, match="gpu:0 to gpu:9: no way"):
        nl.simulate(scenario, CATALOG)


def test_a_step_that_is_too_large_for_packets_says_so() -> None:
    with pytest.raises(InfeasibleError, match=r"job: a step of 16,384 GPUs is up to .* messages"):
        nl.simulate(example(), CATALOG)


def test_a_scenario_without_a_job_says_so_to_other_commands() -> None:
    with pytest.raises(SpecError, match="job: this scenario has none, only 'traffic'"):
        nl.predict(example("incast-rocev2"))


def test_an_innocent_flow_waits_behind_pauses_but_not_behind_another_lane() -> None:
    """The point of the shipped examples, held to."""
    alone, beside, lane = (
        nl.simulate(example(name), CATALOG, choices=Choices(congestion_control=cc)).by_job()[1]
        for name, cc in (
            ("victim-rocev2", "dcqcn"),
            ("victim-rocev2", "none"),
            ("victim-infiniband", ""),
        )
    )
    assert beside["slowdown"]["max"] > 3
    assert alone["slowdown"]["max"] < 1.05
    assert lane["slowdown"]["max"] < 1.05


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_stopped_run_uses_no_link_more_than_it_could_carry(engine: EngineName) -> None:
    # Eight senders fill the last link from the start; at 100 us none of 4 MB has ended
    # (8 x 4 MB at 400 Gb/s take 640 us), and that link has carried all the while.
    incast = {"kind": "incast", "target": 0, "first": 16, "fan_in": 8, "size": "4MB"}
    found = nl.simulate(_scenario(incast), CATALOG, engine=engine, seeds=(0, 1), until_s=100e-6)
    numbers = found.to_json()
    assert numbers["flows_finished"] == 0
    assert numbers["span_s"] == pytest.approx(100e-6)
    assert 0.9 < numbers["busiest_links"][0]["utilisation"] <= 1
    assert found.over_seeds()["fct_s_mean"] == {"low": None, "mean": None, "high": None}
    if engine == "packet":
        assert 0.85 * 400e9 < numbers["goodput_bps"] < 400e9
