"""The interval, as people meet it: in text, in JSON and explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from netloom.cli.main import main

if TYPE_CHECKING:
    import pytest


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main([*command]) == 0
    return capsys.readouterr().out


def result(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed(capsys, *command, "--json"))["result"]
    return found


def test_predict_says_between_which_times(capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "predict")
    interval = found["interval"]
    assert interval["low"] < found["step_time_s"] < interval["high"]
    assert interval["share"] == 0.9
    text = printed(capsys, "predict")
    assert f"({interval['low']:.3g} to {interval['high']:.3g}s)" in text


def test_predict_explains_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "predict", "--why", "interval")
    assert "nearest row" in text
    assert "cancel in a comparison" in " ".join(text.replace("│", " ").split())


def test_each_technology_of_a_comparison_has_its_interval(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = result(capsys, "compare")
    for one in found["technologies"]:
        assert one["interval"]["low"] < one["step_time_s"] < one["interval"]["high"]
        assert one["network_interval"]["low"] <= one["network_interval"]["high"]
    best = next(
        one
        for one in found["technologies"]
        if one["technology"] == found["recommendation"]["technology"]
    )
    for one in found["technologies"]:
        ours, theirs = best["network_interval"], one["network_interval"]
        overlap = theirs["low"] <= ours["high"] and ours["low"] <= theirs["high"]
        assert (one["technology"] in found["recommendation"]["alike"]) == (
            overlap and one is not best
        )
