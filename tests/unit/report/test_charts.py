"""Charts as SVG: where things stand, how numbers are written, and what stands in for a picture."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from netloom.report.charts import (
    BYTES,
    COUNT,
    PERCENT,
    PLAIN,
    SECONDS,
    Band,
    BarPart,
    Bars,
    Block,
    Cell,
    ChartAxis,
    Heat,
    Plot,
    Series,
    Unit,
    UnitStep,
    draw,
)
from netloom.report.charts.scale import Scale, scale_of


def line(*points: tuple[float, float], name: str = "a", **more: object) -> Series:
    x, y = zip(*points, strict=True)
    return Series(name=name, x=x, y=y, **more)  # type: ignore[arg-type]


def plot(*series: Series, **axes: ChartAxis) -> Plot:
    return Plot(
        x=axes.get("x", ChartAxis(title="x")), y=axes.get("y", ChartAxis(title="y")), series=series
    )


def on(axis: ChartAxis, low: float, high: float) -> Scale:
    return Scale(axis=axis, low=low, high=high, start_px=0, end_px=100)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (80e6, BYTES, "80 MB"),
        (999.96e-6, SECONDS, "1 ms"),
        (0.0, SECONDS, "0 s"),
        (2e-13, SECONDS, "0.2 ps"),
        (7200.0, SECONDS, "7,200 s"),
        (3 * 3600.0, SECONDS, "3 h"),
        (41.234, PERCENT, "41.23 %"),
        (16_384, PLAIN, "16,384"),
        (-1500.0, BYTES, "-1.5 KB"),
    ],
)
def test_a_number_is_written_in_the_unit_that_keeps_it_short(
    value: float, unit: object, text: str
) -> None:
    assert unit.write(value) == text  # type: ignore[attr-defined]


def test_all_ticks_of_a_plain_axis_are_in_one_unit_which_its_title_names() -> None:
    # 80 MB in steps of 20: five ticks.
    scale = on(ChartAxis(title="waiting", unit=BYTES), 0, 80e6)
    assert scale.title == "waiting, MB"
    assert [label for _, label in scale.ticks(5)] == ["0", "20", "40", "60", "80"]


def test_ticks_of_a_logarithmic_axis_over_several_units_name_their_own() -> None:
    scale = on(ChartAxis(title="size", unit=BYTES, is_log=True), 1e3, 1e9)
    assert scale.title == "size"
    assert [label for _, label in scale.ticks(7)] == [
        *("1 KB", "10 KB", "100 KB"),
        *("1 MB", "10 MB", "100 MB", "1 GB"),
    ]


def test_within_a_decade_a_logarithmic_axis_has_round_steps() -> None:
    scale = on(ChartAxis(title="days", is_log=True), 4.1, 4.7)
    assert [label for _, label in scale.ticks(4)] == ["4.2", "4.4", "4.6"]
    # Half way in the logarithm: the root of 4.1 x 4.7.
    assert scale.at((4.1 * 4.7) ** 0.5) == pytest.approx(50)


def test_ticks_of_a_binary_axis_are_powers_of_two() -> None:
    kib = Unit((UnitStep(1, "B"), UnitStep(1024, "KiB"), UnitStep(2**20, "MiB")))
    scale = on(ChartAxis(title="size", unit=kib, is_log=True, is_binary=True), 900, 1.1e9)
    assert [label for _, label in scale.ticks(5)] == [
        *("1 KiB", "32 KiB", "1 MiB"),
        *("32 MiB", "1,024 MiB"),
    ]


def test_a_band_is_drawn_behind_the_series_and_the_axis_holds_it() -> None:
    band = Band(name="interval", x=(1.0, 2.0), low=(5.0, 6.0), high=(40.0, 50.0))
    chart = replace(plot(line((1.0, 10.0), (2.0, 20.0), name="expected")), bands=(band,))
    drawn = draw(chart)
    assert drawn.html.index('class="band c0"') < drawn.html.index('class="l"')
    assert [name for _, name in drawn.legend] == ["expected", "interval"]
    assert ">50<" in drawn.html  # a tick at its upper end, far above the series


def test_counts_have_whole_ticks() -> None:
    assert [label for _, label in on(ChartAxis(title="n", unit=COUNT), 0, 1).ticks(6)] == ["0", "1"]


def test_what_cannot_be_on_a_logarithmic_axis_does_not_stretch_it() -> None:
    scale = scale_of(ChartAxis(title="x", is_log=True), [0.0, 1.0, 100.0], start_px=0, end_px=1)
    assert 0.5 < scale.low < 1
    assert not scale.holds(0.0)


def test_lines_differ_in_dash_as_well_as_in_colour() -> None:
    drawn = draw(plot(*(line((0, n), (1, n), name=str(n), hue=n) for n in range(7))))
    styles = re.findall(r'<g class="(c\d d\d)">', drawn.html)
    assert len(set(styles)) == 7
    assert len({style[-2:] for style in styles}) == 7


def test_bars_differ_in_texture_as_well_as_in_colour() -> None:
    parts = tuple(BarPart(name=str(hue), values=(1.0,), hue=hue) for hue in range(9))
    bars = Bars(axis=ChartAxis(title="t"), rows="r", labels=("one",), parts=parts, stacked=True)
    html = draw(bars).html
    wide = html[: html.index("</svg>")]
    # Hues 1, 3 and 5 are hatched, 7 and 8, which begin the colours again, dotted.
    assert wide.count("url(#lines)") == 3
    assert wide.count("url(#dots)") == 2


def test_stacked_bars_end_at_their_sum() -> None:
    values = (1.0, 3.0, 2.0)
    bars = Bars(
        axis=ChartAxis(title="t", unit=SECONDS, from_zero=True),
        rows="r",
        labels=("one",),
        parts=tuple(BarPart(name=str(n), values=(value,), hue=n) for n, value in enumerate(values)),
        stacked=True,
    )
    found = re.findall(r'class="f c\d" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', draw(bars).html)
    boxes = [(float(start), float(width)) for start, width in found[:3]]
    (zero, second_px), *_ = boxes
    # Each begins where those before it end, after 1 and after 4 seconds.
    assert [start for start, _ in boxes] == pytest.approx(
        [zero, zero + second_px, zero + 4 * second_px], abs=0.5
    )
    assert boxes[1][1] == pytest.approx(3 * second_px, abs=0.5)
    assert draw(bars).table.rows == (("one", "1 s", "3 s", "2 s", "6 s"),)


def test_one_point_is_said_in_words() -> None:
    drawn = draw(plot(line((16_384, 41.0), name="rail"), y=ChartAxis(title="MFU", unit=PERCENT)))
    assert drawn.html == ""
    assert drawn.words == "One value of x only, 16,384: MFU rail 41 %."


def test_lines_over_one_place_are_said_in_words() -> None:
    drawn = draw(plot(line((1, 2), name="p50"), line((1, 3), name="p99")))
    assert drawn.words == "One value of x only, 1: y p50 2, p99 3."


def test_two_points_apart_are_a_plot() -> None:
    assert draw(plot(line((1, 2), (2, 2)))).html


def test_one_bar_is_said_in_words() -> None:
    bars = Bars(
        axis=ChartAxis(title="time", unit=SECONDS),
        rows="r",
        labels=("ndr",),
        parts=(BarPart(name="", values=(0.02,)),),
    )
    assert draw(bars).words == "ndr: 20 ms (time)."


def test_names_are_escaped_wherever_they_stand() -> None:
    nasty = "<script>&\"'"
    pictures = (
        plot(line((1, 2), (2, 3), name=nasty, mark="circle", notes=(nasty, nasty))),
        Heat(blocks=(Block(label=nasty, cells=(Cell(5.0, nasty),), total=1),), what=nasty),
        Bars(
            axis=ChartAxis(title=nasty),
            rows=nasty,
            labels=(nasty, "b"),
            parts=(BarPart(name=nasty, values=(1.0, 2.0)),),
        ),
    )
    for chart in pictures:
        html = draw(chart).html
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_a_line_of_many_points_keeps_its_peaks_and_little_else() -> None:
    # 100,000 points over 500 pixels, one of them high.
    points = [(float(n), 5.0 if n == 54_321 else float(n % 2)) for n in range(100_000)]
    html = draw(plot(line(*points), y=ChartAxis(title="y", from_zero=True))).html
    assert len(html) < 80_000
    (path, *_) = re.findall(r'<path class="l dense" d="(.*?)"', html)
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert heights.count(min(heights)) == 1


def test_points_without_number_are_a_cloud_of_bounded_size() -> None:
    points = [(float(n % 251), float(n % 241)) for n in range(50_000)]
    html = draw(plot(line(*points, join="none", mark="circle"))).html
    assert 'class="dots"' in html
    assert len(html) < 1_200_000
    assert html.count("<title>") <= 2 * 250


def test_a_step_goes_across_before_it_goes_up() -> None:
    html = draw(plot(line((0, 0), (10, 5), join="step"))).html
    assert re.search(r'<path class="l" d="M[\d.]+ [\d.]+H[\d.]+V[\d.]+"', html)


def test_the_table_of_lines_has_a_row_for_each_place() -> None:
    table = draw(plot(line((1, 2), (3, 4)), line((3, 5), (4, 6), name="b"))).table
    assert table.headings == ("x", "a", "b")
    assert table.rows == (("1", "2", ""), ("3", "4", "5"), ("4", "", "6"))


def test_the_table_of_very_many_points_says_between_what_they_lie() -> None:
    table = draw(plot(line(*((float(n), float(-n)) for n in range(500))))).table
    assert table.rows == (("a", "500", "0", "499", "-499", "0"),)


def test_a_block_of_heat_is_filled_column_by_column_and_tells_what_is_idle() -> None:
    cells = tuple(Cell(percent, f"link {number}") for number, percent in enumerate((100, 50, 0)))
    heat = Heat(blocks=(Block(label="up", cells=cells, total=9),), what="links")
    drawn = draw(heat)
    assert re.findall(r'<path class="(q\d?)" d="M(\d+) (\d+)', drawn.html) == [
        ("q8", "0", "0"),
        ("q4", "0", "10"),
        ("q", "0", "20"),
    ]
    assert "<title>link 2: nothing</title>" in drawn.html
    assert drawn.table.rows == (("up", "3 of 9", "1", "50 %", "100 % (link 0)"),)


def test_the_text_alternative_says_where_lines_begin_and_end() -> None:
    chart = plot(
        line((8, 57.0), (1024, 41.0), name="ndr"),
        x=ChartAxis(title="GPUs"),
        y=ChartAxis(title="MFU", unit=PERCENT),
    )
    said = "MFU over GPUs. ndr from 57 % at 8 to 41 % at 1,024."
    assert draw(chart).summary == said
    assert draw(chart).html.count(f'aria-label="{said}"') == 2


def test_equal_charts_are_drawn_equal() -> None:
    first, second = (draw(plot(line((1, 2), (2, 5), (3, 1)))) for _ in range(2))
    assert first == second
