"""Why a measured step takes as long as it does, from files that profilers and programs wrote."""

from __future__ import annotations

import re
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.profiles.kineto import parse_kineto
from netloom.formats.profiles.megatron_log import parse_megatron_log
from netloom.formats.profiles.nsight import MAGIC, parse_nsight
from netloom.spec.files import check_regular
from netloom.study.explain.explanation import explain as explain_step

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.explain.explanation import Explanation
    from netloom.study.explain.logged import LoggedSteps
    from netloom.study.explain.timeline import RankTimeline

__all__ = ["explain", "read_log", "read_traces"]

GZIP: Final = b"\x1f\x8b"
MAX_TRACE_BYTES: Final = 1 << 31
_RANK: Final = re.compile(r"rank[_.-]?(\d{1,9})", re.IGNORECASE)


def explain(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    measured_s: float | None = None,
    traces: Sequence[str | os.PathLike[str]] = (),
    log: str | os.PathLike[str] | None = None,
) -> Explanation:
    """Return why a step of *scenario* takes as long as it was measured to.

    >>> import netloom as nl
    >>> found = nl.explain(nl.example("gpt3-175b-1k"), measured_s=30.0)
    >>> found.variants[-1].change.startswith("one GPU computes")
    True

    Args:
        scenario: What was run.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        measured_s: How long a step took.
        traces: Files of PyTorch's profiler (JSON, also gzipped) or SQLite exports of Nsight
            Systems, one a rank.
        log: What Megatron-LM, NeMo or Megatron-Bridge printed.

    Raises:
        SpecError: not one of the three is given, or a file is none of these.
    """
    return explain_step(
        scenario,
        catalog,
        measured_s=measured_s,
        traces=read_traces(traces),
        log=None if log is None else read_log(log),
    )


def read_traces(traces: Sequence[str | os.PathLike[str]]) -> list[RankTimeline]:
    """Return what each file of a profiler recorded.

    Raises:
        SpecError: a file cannot be read, or is none.
    """
    return [_timeline(Path(one)) for one in traces]


def read_log(log: str | os.PathLike[str]) -> LoggedSteps:
    """Return what a log says.

    Raises:
        SpecError: it cannot be read, or is none.
    """
    return _logged(Path(log))


def _timeline(path: Path) -> RankTimeline:
    check_regular(path, wanted="a trace that a profiler wrote")
    head = _bytes(path, 16)
    if head.startswith(MAGIC):
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
            return _numbered(parse_nsight(store, name=str(path)), path)
    content = _bytes(path)
    if head.startswith(GZIP):
        content = _unpacked(content, path)
    return parse_kineto(content.decode("utf-8", errors="replace"), name=str(path))


def _numbered(found: RankTimeline, path: Path) -> RankTimeline:
    """Return an export with the rank that its name says, as nothing in it does."""
    said = _RANK.search(path.name)
    return found if said is None else replace(found, rank=int(said[1]))


def _bytes(path: Path, limit: int = MAX_TRACE_BYTES) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(limit)
    except OSError as error:
        raise SpecError(
            file=str(path),
            what=f"cannot be read ({error.strerror})",
            remedy="give a trace that a profiler wrote",
        ) from error


def _unpacked(content: bytes, path: Path) -> bytes:
    try:
        whole = zlib.decompressobj(wbits=31).decompress(content, MAX_TRACE_BYTES)
    except zlib.error as error:
        raise SpecError(
            file=str(path),
            what=f"is damaged ({error})",
            remedy="copy it again from where it was recorded",
        ) from error
    if len(whole) >= MAX_TRACE_BYTES:
        raise SpecError(file=str(path), what="is over 2 GiB unpacked", remedy="record fewer steps")
    return whole


def _logged(path: Path) -> LoggedSteps:
    check_regular(path, wanted="a log")
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return parse_megatron_log(lines, name=str(path))
    except OSError as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error.strerror})", remedy="give a log"
        ) from error
