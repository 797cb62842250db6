"""Every file that a user names goes through one reader: bounded, and deaf to pipes."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from netloom.errors import NetloomError, SpecError
from netloom.parts.load import load_catalog
from netloom.spec.files import read_text
from netloom.spec.load import load
from netloom.validation.collectives.tables import read_rows
from netloom.workload.huggingface import read_config

if TYPE_CHECKING:
    from collections.abc import Callable

READERS: list[Callable[[Path], object]] = [load, load_catalog, read_rows, read_config]


def unblocked(pipe: Path) -> None:
    """Let go of a reader that waits for *pipe*, so that a failing test ends."""
    os.close(os.open(pipe, os.O_RDWR))


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_is_refused_and_not_waited_for(
    reader: Callable[[Path], object], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    rescue = threading.Timer(10, unblocked, [pipe])
    rescue.start()
    try:
        with pytest.raises(NetloomError, match="pipe: not a regular file; name a"):
            reader(pipe)
    finally:
        rescue.cancel()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        (Path("/dev/zero"), "not a regular file"),
        (Path("/"), "a folder; name a"),
        (Path("none"), r"cannot be read \(No such file or directory\)"),
        (Path("a\0b"), "cannot be read"),
    ],
)
def test_what_is_no_file_is_refused(
    reader: Callable[[Path], object], path: Path, words: str
) -> None:
    with pytest.raises(NetloomError, match=words):
        reader(path)


@pytest.mark.parametrize("reader", READERS)
def test_a_sparse_file_of_a_terabyte_is_refused(
    reader: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "huge"
    path.touch()
    os.truncate(path, 2**40)
    with pytest.raises(NetloomError, match=r"huge: larger than \d+ bytes"):
        reader(path)


@pytest.mark.parametrize("reader", READERS)
def test_text_in_another_encoding_is_refused_with_its_line(
    reader: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "latin"
    path.write_bytes(b"a\n\xe9")
    with pytest.raises(NetloomError, match="latin:2: not UTF-8 text"):
        reader(path)


def test_a_file_of_just_the_size_allowed_is_read_and_one_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "edge"
    path.write_text("x" * 10)
    assert read_text(path, max_bytes=10, wanted="less") == "x" * 10
    with pytest.raises(SpecError, match="larger than 9 bytes; name less"):
        read_text(path, max_bytes=9, wanted="less")
