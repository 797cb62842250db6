"""Points in a terminal."""

from __future__ import annotations

from netloom.report.scatter import Mark, scatter


def plot(*points: Mark) -> list[str]:
    return scatter(points, show_x="{:.0f}".format, show_y="{:.0f}".format, width=11, height=3)


def test_points_stand_at_their_places_between_labelled_axes() -> None:
    # Columns 0 and 10 are x = 0 and 10, so that 5 is column 5; rows are y = 20, 10 and 0.
    assert plot(Mark(0, 20, "a"), Mark(5, 10, "b"), Mark(10, 0, "c")) == [
        "20 |a",
        "10 |     b",
        " 0 |          c",
        "   +-----------",
        "    0   5    10",
    ]


def test_a_single_point_stands_in_the_middle() -> None:
    assert plot(Mark(10, 10, "a"))[1] == "10 |     a"


def test_the_last_of_two_on_one_place_is_seen() -> None:
    assert plot(Mark(0, 0, "."), Mark(1, 1, "x"), Mark(0, 0, "a"))[2].endswith("|a")
