"""An option of an earlier version names its successor."""

from __future__ import annotations

import pytest

from netloom.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["locate", "x.yaml", "--own", "mine.toml"], "--own is now --catalog"),
        (["audit", "x.yaml", "--own=mine.toml"], "--own is now --catalog"),
        (["deploy", "render", "x.yaml", "--out", "y", "--own", "a"], "--own is now --catalog"),
        (["lab", "up", "x.yaml", "--own", "mine.toml"], "--own is now --catalog"),
        (["watch", "x.yaml", "--most", "1GiB"], "--most is now --max-size"),
    ],
)
def test_an_old_option_names_its_successor(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"netloom: {says}\n"


def test_an_unknown_option_that_never_was_has_no_successor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["locate", "x.yaml", "--most", "1GiB"]) == 2  # it was watch's alone
    assert "is now" not in capsys.readouterr().err
