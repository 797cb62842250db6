"""``nl.span``: placements, curves, refusals."""

from __future__ import annotations

import itertools
import json
import re
import time
from functools import partial
from typing import TYPE_CHECKING

import jsonschema
import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.errors import SpecError
from netloom.spec.example import example_text
from netloom.spec.load import parse
from netloom.validation.span.suite import NUM_SEEDS, validate_span

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.study.span.spanning import Spanning

EXAMPLE = example_text("llama-3.1-405b-two-sites")


@pytest.fixture(scope="module")
def found() -> Spanning:
    return nl.span(nl.example("llama-3.1-405b-two-sites"))


def test_the_parts_of_the_latency_add_up_to_it(found: Spanning) -> None:
    # 500 km x 4.9 us, 6 amplifiers of 0.15 us, 4 us of optics at each end, 2 us of FlexE.
    explained = found.why("latency_s")
    assert explained.value == pytest.approx(2450e-6 + 0.9e-6 + 8e-6 + 2e-6)
    assert sum(float(part.value) for part in explained.parts) == pytest.approx(explained.value)


def test_efficiency_is_one_site_over_several(found: Spanning) -> None:
    assert found.best.efficiency == pytest.approx(found.case.one_site_s / found.best.step_time_s)
    assert found.case.one_site_s == nl.predict(found.scenario).step.duration_s
    assert found.best.placement == "data"
    assert found.best.bytes_over_cut == pytest.approx(2 * 405e9)


def test_a_pipeline_across_the_cut_is_told_first_and_by_the_event_schedule(
    found: Spanning,
) -> None:
    # 16 stages cut in the middle, 16 micro-batches: (16 - 8 + 2) delays.
    lost_ms = 10 * 1e3 * found.latency_s
    assert f"{lost_ms:.3g} ms here for 16 micro-batches" in found.pipeline_warning
    assert f"(two delays are {2e3 * found.latency_s:.3g} ms)" in found.pipeline_warning


def test_a_pipeline_that_drains_twice_waits_for_the_line_after_each_batch(found: Spanning) -> None:
    # Two batches of 8 micro-batches, 16 stages cut in the middle: 2 x (8 - 8 + 2) delays.
    scenario = found.scenario
    software = scenario.job.software.model_copy(update={"accumulation": 2})
    job = scenario.job.model_copy(update={"software": software})
    drained = nl.span(scenario.model_copy(update={"job": job}))
    lost_ms = 4 * 1e3 * drained.latency_s
    assert f"{lost_ms:.3g} ms here for 16 micro-batches" in drained.pipeline_warning
    row = next(one for one in drained.placements if one.placement == "pipeline")
    assert row.more_in_flight == 0  # 8 micro-batches are on the 8 stages before the cut
    assert row.exposed_s >= 4 * drained.latency_s


def test_efficiency_falls_with_distance_and_needed_bandwidth_does_not(found: Spanning) -> None:
    for kind in ("data", "pipeline", "local"):
        shares = [
            point.efficiency
            for point in found.curve
            if point.placement == kind and not point.follows_delay
        ]
        assert len(shares) == 100
        assert shares == sorted(shares, reverse=True)
    rates = [point.rate_bps for point in found.needed if point.rate_bps is not None]
    assert all(b >= a * (1 - 1e-6) for a, b in itertools.pairwise(rates))


def test_a_hundred_distances_of_five_placements_take_less_than_a_second(found: Spanning) -> None:
    assert len(found.curve) == 500
    began = time.process_time()
    nl.span(found.scenario)
    assert time.process_time() - began < 2.0  # the step at one site included


def test_twice_the_distance_is_asked_for_by_an_option() -> None:
    far = nl.span(nl.example("llama-3.1-405b-two-sites"), length_m=1_000e3)
    assert far.spans[0].latency.fibre_s == pytest.approx(4.9e-3)


def test_local_updates_are_the_answer_only_where_asked_for() -> None:
    found = nl.span(nl.example("intellect-1-three-continents"))
    assert found.best.placement == "local"
    assert any("another algorithm" in doubt for doubt in found.validity.doubts)
    # A ring of three, 8 bits: 2 x 2/3 of 10.21 GB every 100 steps.
    assert found.best.bytes_over_cut == pytest.approx(4 / 3 * 10.21e9 / 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("nodes: 1024}\nspans", "nodes: 1000}\nspans"), r"sites: they have 2024 nodes together"),
        (("length: 500km", "length: 3000km"), r"800zr-plus reaches 1000 km.*'regenerators: 2'"),
        (("flow_control: relayed", "flow_control: pfc"), r"MB of headroom .* relayed"),
        (("flow_control: relayed", "flow_control: credits"), r"credits end at 131 m"),
        (("{kind: flexe}", "{kind: flexe, slots: 9999}"), r"9999 slots .* have 5120"),
        (("deadline: 8ms", "deadline: 1ms"), r"deadline: 1 ms, and propagation alone"),
        (("between: [north, south]", "between: [north, east]"), r"'east' is no site"),
        (("across: auto", "across: tensor"), r"tensor parallelism cannot cross a cut"),
        (("{kind: flexe}", "{kind: flex}"), r"'flex' is not known"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    change: tuple[str, str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert change[0] in EXAMPLE
    file = tmp_path / "sites.yaml"
    file.write_text(EXAMPLE.replace(*change))
    assert main(["span", str(file)]) == 2
    said = capsys.readouterr().err
    assert "sites.yaml:" in said
    assert re.search(message, " ".join(said.split()))


def test_one_plus_one_on_one_route_is_refused(tmp_path: Path) -> None:
    text = EXAMPLE.replace("kind: restored, within: 50ms, length: 700km", "kind: 1+1")
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(SpecError, match="on one route"):
        nl.span(nl.load(tmp_path / "a.yaml"))


def test_a_scenario_without_sites_says_what_to_write() -> None:
    with pytest.raises(SpecError, match=r"sites: 0 given; name two or more"):
        nl.span(nl.example("gpt3-175b-1k"))


def test_an_unshaped_class_has_no_bound_in_words() -> None:
    text = EXAMPLE.replace(", burst: 16MB", "").replace(", burst: 4MB", "")
    found = nl.span(parse(text, name="a.yaml"))
    assert [row.delay_bound_s for row in found.classes] == [None, None]
    assert all(row.reason.startswith("no bound") for row in found.classes)


def test_the_page_has_the_curves_and_a_picture_of_the_sites(tmp_path: Path) -> None:
    page = tmp_path / "span.html"
    assert main(["span", "--report", str(page)]) == 0
    text = page.read_text()
    assert "Sites and spans" in text
    assert "Efficiency over distance" in text
    assert text.count("<svg") >= 3


@pytest.mark.parametrize(
    "num_seeds", [3, pytest.param(NUM_SEEDS, marks=pytest.mark.long, id="as-shipped")]
)
def test_validate_span_prints_every_row_with_its_tag(
    num_seeds: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(validate_span, num_seeds=num_seeds)
    monkeypatch.setattr("netloom.validation.validate.validate_span", few)
    assert main(["validate", "span", "--rows", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(nl.schema("validate")).validate(printed)
    rows = {row["row_id"]: row for row in printed["result"]["per_row"]}
    assert {f"W{n}" for n in range(1, 34)} <= {name.split("-")[0] for name in rows}
    assert all(row["tag"] for row in rows.values())
    missed = {name for name, row in rows.items() if row["ok"] is False}
    assert missed == {"W17-p999-1e-02", "W26"}  # known gaps, each with its reason
    assert all(rows[name]["gap"] for name in missed)
    assert all(row["reason"] for row in rows.values() if row["predicted"] is None)
    simulated = {name for name, row in rows.items() if row["kind"] == "sim" and row["ok"]}
    for number in (5, 6, 7, 8, 16, 17, 18, 30, 31, 32, 33):
        assert any(name.split("-")[0] == f"W{number}" for name in simulated), number
