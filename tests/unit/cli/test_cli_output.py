from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from netloom.cli.main import main
from netloom.cli.output import emit_json
from netloom.errors import OutputError
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.results.plain import to_plain
from netloom.results.write import write_atomically
from netloom.workload.collective import Axis


@dataclass
class Point:
    zulu: float
    alpha: tuple[int, ...]


class Color(Enum):
    RED = 1


def test_json_keeps_the_order_of_keys_and_ends_with_a_newline(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit_json({"zulu": 1, "alpha": [True, None, "x"]})
    out = capsys.readouterr().out
    assert out.endswith("}\n")
    assert list(json.loads(out)["result"]) == ["zulu", "alpha"]


def test_what_json_cannot_hold_becomes_null() -> None:
    numbers = [math.nan, math.inf, -math.inf, np.float32("nan"), np.array([1.0, math.nan])]
    assert to_plain(numbers) == [None, None, None, None, [1.0, None]]


def test_what_netloom_computes_with_has_a_json_form() -> None:
    assert to_plain(Point(zulu=1.0, alpha=(1, 2))) == {"zulu": 1.0, "alpha": [1, 2]}
    assert to_plain({Axis.DATA: np.int64(3)}) == {"data": 3}
    assert to_plain(Color.RED) == 1
    assert to_plain(FatTree())["kind"] == "fat-tree"


def test_what_has_no_json_form_is_a_type_error() -> None:
    for value in (object(), b"x", {1, 2}, Point):
        with pytest.raises(TypeError, match="has no JSON form"):
            to_plain(value)


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_atomically(path, "old")
    write_atomically(path, "n\u00e9w")
    assert path.read_bytes() == "n\u00e9w".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_atomically(tmp_path / "new", "x")
    assert (tmp_path / "new").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def interrupted(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises((KeyboardInterrupt, OutputError)):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_and_a_folder_in_place_of_a_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"there is no folder '.*none'; create it"):
        write_atomically(tmp_path / "none" / "x", "x")
    with pytest.raises(OutputError, match="it is a folder"):
        write_atomically(tmp_path, "x")
    with pytest.raises(OutputError, match="cannot be written"):
        write_atomically(tmp_path / ("x" * 300), "x")


def test_a_folder_that_may_not_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")  # a real one does not stop root

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(OutputError, match=r"cannot be written \(Permission denied\)"):
        write_atomically(tmp_path / "x", "x")


def test_a_device_is_written_to_directly() -> None:
    write_atomically(os.devnull, "x")
    assert not Path(os.devnull).is_file()
    with pytest.raises(OutputError, match="No space left on device"):
        write_atomically("/dev/full", "x")


@pytest.mark.parametrize("command", [["size", "--gpus", "64"], ["catalog"]])
def test_an_unknown_field_of_fail_if_is_one_json_object(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--json", "--fail-if", "nosuch>1"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "spec"
