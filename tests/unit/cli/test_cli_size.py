"""``netloom size``: options are taken as written, and one tier is a tier."""

from __future__ import annotations

import pytest

from netloom.cli.main import main


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("gpus", "1.5"),
        ("gpus", "8.0"),
        ("gpus", "1e3"),
        ("gpus", "nan"),
        ("nodes", "1.9"),
        ("tiers", "2.9"),
        ("planes", "2.5"),
    ],
)
def test_a_count_that_is_not_whole_is_refused_and_never_rounded(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    size = [] if option in {"gpus", "nodes"} else ["--gpus", "64"]
    assert main(["size", *size, f"--{option}", value]) == 2
    said = f"Invalid value for --{option}: '{value}' is not a whole number; write digits alone."
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("gpus", "tiers"), [("16", "1 tier,"), ("1024", "2 tiers,")])
def test_the_headline_counts_tiers_as_one_speaks(
    gpus: str, tiers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # A QM9700 has 64 ports: 16 NICs share one, 1,024 want leaves and spines.
    assert main(["size", "--gpus", gpus]) == 0
    assert tiers in capsys.readouterr().out.splitlines()[0]
