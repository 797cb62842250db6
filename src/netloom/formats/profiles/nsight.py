"""Exports of Nsight Systems to SQLite (``nsys export --type sqlite``).

Tables and columns as NVIDIA documents the export's schema: kernels and copies of CUPTI, their
launches, and NVTX ranges. Steps are NVTX ranges of one name that recur (``iteration``, ``step``,
``ProfilerStep``, ``train_step``), whatever number follows; without any the whole recording is one.
"""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.profiles.kineto import operation_of_kernel
from netloom.study.explain.timeline import (
    CollectiveCall,
    GpuWork,
    HostWork,
    RankTimeline,
    TimeSpan,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAGIC", "parse_nsight"]

MAGIC: Final = b"SQLite format 3\x00"
_STEP: Final = re.compile(r"(profilerstep|iteration|iter|train_?step|step)\W*\d*$", re.IGNORECASE)
_OPTIMIZER: Final = re.compile(r"optimizer", re.IGNORECASE)
_KERNELS: Final = """
    SELECT s.value, k.start, k.end, CAST(r.end AS INTEGER) FROM CUPTI_ACTIVITY_KIND_KERNEL k
    LEFT JOIN StringIds s ON s.id = k.demangledName
    LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId
    WHERE TYPEOF(k.start) = 'integer' AND TYPEOF(k.end) = 'integer' AND k.end >= k.start
    ORDER BY k.start"""
# Tables alone: a view of a hostile file may have no end.
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table'"
_COPIES: Final = """
    SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
    WHERE TYPEOF(start) = 'integer' AND TYPEOF(end) = 'integer' AND end >= start
    ORDER BY start"""
_RANGES: Final = """
    SELECT COALESCE(n.text, s.value), n.start, n.end FROM NVTX_EVENTS n
    LEFT JOIN StringIds s ON s.id = n.textId
    WHERE TYPEOF(n.start) = 'integer' AND TYPEOF(n.end) = 'integer' AND n.end >= n.start
    ORDER BY n.start"""


def parse_nsight(store: sqlite3.Connection, *, name: str = "export") -> RankTimeline:
    """Return what an export says.

    Raises:
        SpecError: the file is no such export, or has no kernel in it.
    """
    try:
        return _timeline(store, name)
    except sqlite3.Error as error:
        raise SpecError(
            file=name,
            what=f"is no export of Nsight Systems ({error})",
            remedy="write one by 'nsys export --type sqlite REPORT.nsys-rep'",
        ) from error


def _timeline(store: sqlite3.Connection, name: str) -> RankTimeline:
    tables = {table for (table,) in store.execute(_TABLES)}
    work = sorted(_work(store, tables), key=lambda one: one.span.start_s)
    if not work:
        raise SpecError(
            file=name,
            what="has no kernel in it",
            remedy="record with 'nsys profile --trace cuda,nvtx' while the job trains, and export",
        )
    _check_one_gpu(store, name)
    ranges = list(_ranges(store)) if "NVTX_EVENTS" in tables else []
    steps = tuple(one.span for one in ranges if _STEP.match(one.name))
    return RankTimeline(
        rank=0,
        num_ranks=1,
        gpu=_gpu(store, tables),
        steps=steps or (TimeSpan(work[0].span.start_s, max(one.span.end_s for one in work)),),
        work=tuple(work),
        host=tuple(ranges),
        collectives=tuple(
            CollectiveCall(operation=operation_of_kernel(one.name), span=one.span)
            for one in work
            if one.kind == "collective"
        ),
        optimizer=tuple(one.span for one in ranges if _OPTIMIZER.search(one.name)),
    )


def _check_one_gpu(store: sqlite3.Connection, name: str) -> None:
    """Raise SpecError where the kernels of several GPUs are in one export."""
    columns = {row[1] for row in store.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")}
    if "deviceId" not in columns:
        return
    query = "SELECT COUNT(DISTINCT deviceId) FROM CUPTI_ACTIVITY_KIND_KERNEL"
    ((num_gpus,),) = store.execute(query)
    if num_gpus > 1:
        raise SpecError(
            file=name,
            what=f"holds the kernels of {num_gpus} GPUs",
            remedy="write a report for each rank: start 'nsys profile -o rank%q{RANK}' inside "
            "torchrun or srun, and give each export by its own --trace",
        )


def _work(store: sqlite3.Connection, tables: set[str]) -> Iterator[GpuWork]:
    if "CUPTI_ACTIVITY_KIND_KERNEL" not in tables:
        return
    query = _KERNELS
    if "CUPTI_ACTIVITY_KIND_RUNTIME" not in tables:
        query = query.replace("CAST(r.end AS INTEGER)", "NULL").replace(
            "LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId", ""
        )
    for name, start, end, launched in store.execute(query):
        yield GpuWork(
            name=str(name),
            kind=kind_of(str(name)),
            span=_span(start, end),
            launched_s=None if launched is None else launched / 1e9,
        )
    if "CUPTI_ACTIVITY_KIND_MEMCPY" in tables:
        for start, end in store.execute(_COPIES):
            yield GpuWork(name="memcpy", kind="copy", span=_span(start, end))


def _ranges(store: sqlite3.Connection) -> Iterator[HostWork]:
    for name, start, end in store.execute(_RANGES):
        yield HostWork(name=str(name), span=_span(start, end))


def _span(start_ns: int, end_ns: int) -> TimeSpan:
    return TimeSpan(start_ns / 1e9, end_ns / 1e9)


def _gpu(store: sqlite3.Connection, tables: set[str]) -> str:
    if "TARGET_INFO_GPU" not in tables:
        return ""
    row = store.execute("SELECT name FROM TARGET_INFO_GPU LIMIT 1").fetchone()
    return str(row[0]) if row else ""
