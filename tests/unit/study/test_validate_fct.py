"""Completion times against published ones: the fat tree, its traffic, how errors are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.cli.about.validate import validate
from netloom.cli.options import PageOutput
from netloom.engines.packet import Progress
from netloom.errors import SpecError
from netloom.fabric.wiring.paths import first_ways
from netloom.validation.fct import suite as validate_fct
from netloom.validation.fct.cases import FctCase, long_cases, shipped_cases
from netloom.validation.fct.hpcc import (
    Finished,
    TreeCase,
    _under_way,
    fat_tree,
    run_tree,
    settings_of,
)
from netloom.validation.fct.rows import (
    CurveKey,
    FctRow,
    case_row,
    curve_rows,
    curves_of,
    pairs_in_order,
)
from netloom.validation.fct.suite import curves_min, read_points, shipped_points
from netloom.workload.sizes import distribution

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = CurveKey(workload="wb", load_pct=50, fct_percentile=50, scheme="DCTCP")
HEADER = "workload,load_pct,fct_percentile,scheme,flow_size_cdf_percentile,slowdown\n"


def finished(slowdown: np.ndarray, percentile: np.ndarray) -> Finished:
    return Finished(percentile=percentile, slowdown=slowdown, counters={})


def test_the_tree_is_the_authors_and_its_longest_round_trip_as_they_print_it() -> None:
    tree = fat_tree()
    assert (tree.num_endpoints, len(tree.name), len(tree.link_source)) == (320, 376, 960)
    assert tree.link_rate_bps[0] == 100e9
    assert tree.link_rate_bps[640] == 400e9
    ends = np.array([0, 0, 0]), np.array([1, 16, 319])
    ways = first_ways(tree, *ends)
    assert ways.num_hops.tolist() == [2, 4, 6]
    # Six links of 1 us both ways; 1000 bytes are 80 ns at 100 Gb/s, 20 ns at 400.
    rtt_ps = 2 * ways.delay_ps + 1000 * ways.ps_per_byte
    assert rtt_ps[2] == pytest.approx(12_240_000)


def test_each_scheme_has_its_headers_and_acknowledgements() -> None:
    # Ethernet 14, IPv4 20, UDP 8, sequence 6 are 48; telemetry of five hops 42, PINT 1, a time 8.
    schemes = ("HPCC-INT", "HPCC-PINT", "DCQCN+w", "TIMELY+w", "DCTCP")
    frames = {scheme: settings_of(scheme).transport for scheme in schemes}
    sizes = {scheme: (frame.header_bytes, frame.ack_bytes) for scheme, frame in frames.items()}
    assert sizes == {
        "HPCC-INT": (90, 88),
        "HPCC-PINT": (49, 60),
        "DCQCN+w": (48, 60),
        "TIMELY+w": (56, 60),
        "DCTCP": (48, 60),
    }


def test_an_unknown_scheme_is_refused_with_the_likely_one() -> None:
    with pytest.raises(SpecError, match=r"HPCC-INT"):
        settings_of("HPCC-IN")


def test_what_is_left_of_flows_under_way_has_the_mean_of_the_equilibrium() -> None:
    sizes = distribution("web-search")
    rng = np.random.default_rng(3)
    rest = np.concatenate(
        [_under_way(0.5, sizes, settings_of("DCTCP").transport, rng) for _ in range(60)]
    )
    # Mean residual of a renewal process: E[S^2] / (2 E[S]).
    drawn = sizes.draw(400_000, rng).astype(float)
    assert rest.mean() == pytest.approx((drawn**2).mean() / (2 * drawn.mean()), rel=0.03)
    # rho = 0.5 x 1.108 = 0.554; 320 x 0.5 x (1 + 2 rho / (1 - rho)) = 557 flows.
    assert len(rest) / 60 == pytest.approx(557, rel=0.02)


def test_equal_seeds_give_equal_runs() -> None:
    case = TreeCase(workload="fb", load_pct=20, scheme="HPCC-PINT", stop_ps=700_000_000)
    one, other = (run_tree(case, seed=4) for _ in range(2))
    assert np.array_equal(one.slowdown, other.slowdown)
    assert len(one.slowdown) > 0
    assert one.slowdown.min() >= 1


def test_shipped_points_cover_five_schemes_at_two_loads() -> None:
    curves = curves_of(shipped_points())
    assert len(curves) == 30
    key = CurveKey(workload="wb", load_pct=50, fct_percentile=95, scheme="HPCC-INT")
    assert curves[key][50] == 3.29


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("xx,50,50,DCTCP,5,1.2", "workload: 'xx' is unknown; choose wb, fb"),
        ("wb,50,50,BBR,5,1.2", "scheme: 'BBR' is unknown; choose HPCC-INT"),
        ("wb,95,50,DCTCP,5,1.2", "load_pct: '95' is not a number from 1 to 80"),
        ("wb,50,50,DCTCP,0,1.2", "flow_size_cdf_percentile: '0' is not a number from 1 to 100"),
        ("wb,50,50,DCTCP,5,fast", "slowdown: 'fast' is not a number"),
        ("wb,50,50,DCTCP,5", "slowdown: None is not a number"),
        ("wb,30.5,50,DCTCP,5,1.2", "load_pct: '30.5' is no whole number; give one from 1 to 80"),
        ("wb,50,95.5,DCTCP,5,1.2", "fct_percentile: '95.5' is no whole number"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(tmp_path: Path, row: str, says: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(HEADER + row + "\n", encoding="utf-8")
    with pytest.raises(SpecError) as error:
        read_points(file)
    assert "mine.csv:2: " in str(error.value)
    assert says in str(error.value)


def test_names_are_known_in_any_capitals_and_workloads_by_their_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(HEADER + "WB,50,50,dctcp,5,1.2\nfb-hadoop,50,50,hpcc-int-95,5,1.2\n")
    found = [(point.workload, point.scheme) for point in read_points(file)]
    assert found == [("wb", "DCTCP"), ("fb", "HPCC-INT-95")]


def test_how_long_curves_take_is_told_before_and_grows_with_load_and_schemes() -> None:
    # The shipped table: ten runs of 40 million packets, 3.2 us each, are 21 minutes.
    assert curves_min(shipped_points()) == pytest.approx(21, abs=1)
    some = [point for point in shipped_points() if point.scheme == "DCTCP"]
    assert curves_min(some) == pytest.approx(21 / 5, abs=0.2)


def test_points_within_one_percent_of_sizes_are_averaged(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(HEADER + "wb,50,50,DCTCP,4.8,1.2\nwb,50,50,DCTCP,5.3,1.4\n")
    (curve,) = curves_of(read_points(file)).values()
    assert curve == {5: pytest.approx(1.3)}


def test_a_missing_column_and_an_empty_table_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("workload,load_pct\nwb,50\n", encoding="utf-8")
    with pytest.raises(SpecError, match="has no column 'fct_percentile'"):
        read_points(file)
    file.write_text(HEADER, encoding="utf-8")
    with pytest.raises(SpecError, match="has no rows"):
        read_points(file)


@given(factor=st.floats(0.5, 2.0), percentile=st.sampled_from([50, 95]))
def test_a_run_that_is_off_by_a_factor_is_off_by_it_in_every_tenth(
    factor: float, percentile: int
) -> None:
    # Slowdowns spread evenly about the curve, with the published value as their percentile.
    key = CurveKey(workload="wb", load_pct=50, fct_percentile=percentile, scheme="DCTCP")
    published = {x: 1 + x / 25 for x in range(1, 101)}
    size = np.repeat(np.arange(100) + 0.5, 200)
    spread = np.tile((np.arange(200) + 1) / (2 * percentile), 100)
    run = finished(spread * factor * (1 + (size + 0.5) / 25), size)
    rows = list(curve_rows(key, published, run))
    assert len(rows) == 10
    for row in rows:
        # A step of the spread is 1/200 of its range: one percent at the 50th.
        assert row.error_pct == pytest.approx(100 * (factor - 1), abs=1.1 * factor)
        assert row.inside


def test_flows_that_were_not_seen_to_end_make_a_row_that_says_nothing() -> None:
    run = finished(np.full(200, np.inf), np.full(200, 4.5))
    (row,) = curve_rows(KEY, {5: 1.2}, run)
    assert (row.predicted, row.inside, row.within) == (None, False, False)
    few = finished(np.full(20, 1.2), np.full(20, 4.5))
    (row,) = curve_rows(KEY, {5: 1.2}, few)
    assert not row.inside
    assert "20 flows" in row.reason


def test_a_curve_takes_the_authors_place_in_each_percent() -> None:
    # fct_analysis.py: of n sorted values the one at int(n p).
    run = finished(np.array([3.0, 1.0, 2.0, 9.0]), np.array([0.1, 0.2, 0.3, 99.9]))
    curve = run.curve(0.5)
    assert curve[0] == 2.0
    assert curve[99] == 9.0
    assert np.isnan(curve[50])


def case(compare: str, published: float) -> FctCase:
    (first,) = shipped_cases()[:1]
    values = {name: getattr(first, name) for name in first.__slots__}
    return FctCase(**{**values, "compare": compare, "published": published, "tolerance_pct": 5.0})


@pytest.mark.parametrize(
    ("compare", "number", "error_pct", "within"),
    [
        ("near", 110.0, 10.0, False),
        ("near", 96.0, -4.0, True),
        ("most", 50.0, 0.0, True),
        ("most", 110.0, 10.0, False),
        ("least", 150.0, 0.0, True),
        ("least", 90.0, -10.0, False),
    ],
)
def test_a_number_may_be_met_or_be_a_limit(
    compare: str,
    number: float,
    error_pct: float,
    within: bool,  # noqa: FBT001
) -> None:
    row = case_row(case(compare, 100.0), number)
    assert row.error_pct == pytest.approx(error_pct)
    assert row.within is within


def test_schemes_that_publication_does_not_tell_apart_are_no_pair() -> None:
    def row(measured: float, predicted: float) -> FctRow:
        found = case_row(case("near", measured), predicted)
        return FctRow(
            **{**{name: getattr(found, name) for name in found.__slots__}, "tolerance_pct": 10.0}
        )

    assert pairs_in_order([row(1.0, 1.1), row(2.0, 1.9)]) == [True]
    assert pairs_in_order([row(1.0, 2.1), row(2.0, 1.9)]) == [False]
    assert pairs_in_order([row(1.0, 2.1), row(1.05, 1.9)]) == []


def test_one_job_that_fails_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> Finished:
        message = "no"
        raise SpecError(message)

    monkeypatch.setattr(validate_fct, "run_tree", fails)
    with pytest.raises(SpecError, match="no"):
        validate_fct.validate_fct(shipped_points(), num_workers=2)


def test_a_case_tells_how_far_it_has_come_and_no_more_than_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def runs(_: FctCase, *, seed: int, on_progress: Callable[[Progress], bool]) -> float:
        # 100 us were published; the run takes 150.
        for at_us in (30, 60, 90, 120, 150):
            done = Progress(
                simulated_ps=at_us * 1_000_000,
                events=0,
                link_traversals=0,
                delivered_bytes=0,
                num_unfinished=1,
            )
            assert on_progress(done)
        return 150.0 * seed

    told: list[int] = []
    monkeypatch.setattr(validate_fct, "run_case", runs)
    validate_fct.validate_fct((), [case("near", 100.0)], on_progress=told.append)
    assert told == [30, 30, 30, 9, 0, 1]


def test_long_cases_are_told_beforehand_and_run_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(validate_fct, "run_case", lambda case, **_: case.published)
    assert validate("fct", long=True) == 0
    said = capsys.readouterr()
    assert f"{len(long_cases())} runs, " in said.err
    assert "minutes of a core" in said.err
    assert f"fct: {len(long_cases())} rows" in said.out
    assert all(case.core_min > 1 for case in long_cases())
    assert not {case.case for case in long_cases()} & {case.case for case in shipped_cases()}


@pytest.mark.parametrize("suite", [None, "steps"])
def test_only_completion_times_have_long_cases(suite: str | None) -> None:
    with pytest.raises(SpecError, match="netloom validate fct --long"):
        validate(suite, long=True)


def as_published(case: TreeCase, **_: object) -> Finished:
    """A run in which 300 flows in each percent of sizes spread about the published median."""
    curves = curves_of(shipped_points())
    size = np.repeat(np.arange(100) + 0.5, 300)
    # Half lie under the curve of the 50th percentile, 95 % under that of the 95th.
    share = np.tile((np.arange(300) + 0.5) / 300, 100)
    low, high = (
        np.interp(size, np.array(sorted(curve)) - 0.5, [curve[x] for x in sorted(curve)])
        for curve in (
            curves[CurveKey(workload="wb", load_pct=50, fct_percentile=p, scheme=case.scheme)]
            for p in (50, 95)
        )
    )
    slowdown = np.where(share < 0.5, 1 + (low - 1) * share / 0.5, low)
    slowdown = np.where(share >= 0.5, low + (high - low) * (share - 0.5) / 0.45, slowdown)
    return finished(slowdown, size)


def test_runs_like_the_published_ones_keep_every_bound(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(validate_fct, "run_tree", as_published)
    file = tmp_path / "half.csv"
    file.write_text(
        HEADER
        + "".join(
            f"wb,50,{p.fct_percentile},{p.scheme},{p.size_percentile},{p.slowdown}\n"
            for p in shipped_points()
            if p.load_pct == 50 and p.fct_percentile != 99
        ),
        encoding="utf-8",
    )
    report = tmp_path / "page.html"
    assert validate("fct", data=file, output=PageOutput(report=report)) == 0
    printed = capsys.readouterr().out
    assert "100 of them judged, 100 within what is aimed at" in printed
    assert "within its bounds" in printed
    page = report.read_text(encoding="utf-8")
    assert "WebSearch 50 %: slowdown, percentile 95" in page
    assert "TIMELY+w, simulated" in page


def test_the_command_names_the_suites_that_there_are() -> None:
    with pytest.raises(SpecError, match="memory, span, chips, tune, fct"):
        validate("fcts")
