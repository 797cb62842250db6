"""The files that nccl-tests (JSON, ``-J``) and rccl-tests (``-Z json`` or ``csv``) write."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.formats.benchmarks.nccl_run import (
    BenchmarkRank,
    BenchmarkSettings,
    RunBuilder,
    name_of_program,
)
from netloom.formats.benchmarks.results import collective_called
from netloom.formats.log_lines import clean_lines, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.formats.benchmarks.nccl_run import CollectiveTest
    from netloom.formats.log_lines import BadLineTally, LogSource

__all__ = ["read_csv", "read_json"]

_BROKEN: Final = (
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    AttributeError,
    IndexError,
    RecursionError,
)
_BLANK: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()


def read_json(text: str, bad: BadLineTally) -> list[CollectiveTest]:
    """Return the tests in a file of JSON; of one that is cut, those before the cut."""
    try:
        whole = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return _salvaged(text, bad)
    if isinstance(whole, list):
        return _of_rccl(whole, bad)
    return _of_nccl(whole, bad)


def _salvaged(text: str, bad: BadLineTally) -> list[CollectiveTest]:
    """Return what stands before the cut: nccl-tests writes as it goes, and may be killed."""
    start = text.find('"results"')
    rows = list(_objects(text, max(start, 0)))
    bad.add(text.count("\n") + 1, f"the JSON is cut; {len(rows)} results stand before the cut")
    if start < 0:
        return _of_rccl(rows, bad)
    config = {"devices": _member(text, '"devices"'), "iterations": _member(text, '"iterations"')}
    version = _member(text, '"nccl_version"')
    whole = {"args": _member(text, '"args"'), "config": config, "nccl_version": version}
    return _of_nccl(whole | {"results": rows}, bad)


def _objects(text: str, start: int) -> Iterator[Any]:
    """Yield the objects of the list that begins behind *start*, up to the first that is cut."""
    at = text.find("[", start)
    while at >= 0:
        at = text.find("{", at)
        if at < 0:
            return
        try:
            one, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield one


def _member(text: str, key: str) -> Any:
    at = text.find(key)
    if at < 0:
        return None
    try:
        start = _BLANK.match(text, text.index(":", at) + 1)
        return _DECODER.raw_decode(text, start.end() if start else at)[0]
    except (ValueError, RecursionError):
        return None


def _of_nccl(whole: Any, bad: BadLineTally) -> list[CollectiveTest]:
    if not isinstance(whole, dict) or not isinstance(whole.get("results"), list):
        return []
    arguments = whole.get("args")
    first = arguments[0] if isinstance(arguments, list) and arguments else ""
    run = RunBuilder(bad=bad, called=name_of_program(str(first)))
    run.version = _version(whole.get("nccl_version"))
    _take_config(run, whole.get("config"))
    for count, row in enumerate(whole["results"], start=1):
        try:
            _take_result(run, row, count)
        except _BROKEN:
            bad.add(count, "a result without size, time and rates", repr(row))
    average = whole.get("average_bus_bandwidth")
    if isinstance(average, dict) and isinstance(average.get("bandwidth"), float):
        run.check_average(len(whole["results"]), average["bandwidth"])
    bounds = whole.get("out_of_bounds")
    if isinstance(bounds, dict) and isinstance(bounds.get("count"), int):
        run.num_out_of_bounds = bounds["count"]
    return [run.build()]


def _version(code: object) -> str:
    """Return ``2.28.5`` of 22805 (nccl.h, NCCL_VERSION)."""
    if not isinstance(code, int) or code < 10_000:
        return ""
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def _take_config(run: RunBuilder, config: Any) -> None:
    if not isinstance(config, dict):
        return
    keys = ("nthreads", "ngpus", "minimum_bytes", "maximum_bytes", "warmup_iters", "iterations")
    values = [whole_number(str(config.get(key))) or 0 for key in keys]
    run.settings = BenchmarkSettings(
        num_threads=values[0],
        gpus_per_thread=values[1],
        min_bytes=values[2],
        max_bytes=values[3],
        warmup_iterations=values[4],
        iterations=values[5],
    )
    devices = config.get("devices")
    for one in devices if isinstance(devices, list) else ():
        try:
            rank = BenchmarkRank(
                rank=int(one["rank"]),
                host=str(one["hostname"])[:255],
                device=int(one["device"]),
                gpu=str(one.get("device_info", ""))[:80],
            )
        except _BROKEN:
            run.bad.add(0, "a device without rank and host", repr(one))
        else:
            run.add_rank(0, rank)


def _take_result(run: RunBuilder, row: Any, count: int) -> None:
    size = whole_number(str(row["size"]))
    if size is None:
        raise ValueError
    for key, in_place in (("out_of_place", False), ("in_place", True)):
        half = row.get(key)
        if half is None:
            continue
        cells = (half["time"], half["alg_bw"], half["bus_bw"], half.get("nwrong"))
        run.add_row(
            count,
            size=size,
            dtype=str(row.get("type") or "")[:32],
            redop=str(row.get("redop") or "")[:32],
            in_place=in_place,
            cells=_cells(cells),
        )


def _cells(values: tuple[Any, Any, Any, Any]) -> tuple[str, str, str, str]:
    time, algorithm, bus, wrong = ("N/A" if one is None else str(one) for one in values)
    return time, algorithm, bus, wrong


def _of_rccl(rows: list[Any], bad: BadLineTally) -> list[CollectiveTest]:
    """Return the tests of a list of results: one a collective and its ranks."""
    runs: dict[tuple[str, int, int], RunBuilder] = {}
    for count, row in enumerate(rows, start=1):
        try:
            _take_flat(runs, {key.lower(): value for key, value in row.items()}, count, bad)
        except _BROKEN:
            bad.add(count, "a result without name, size, time and rates", repr(row))
    return [run.build() for run in runs.values()]


def _take_flat(
    runs: dict[tuple[str, int, int], RunBuilder],
    row: dict[str, Any],
    count: int,
    bad: BadLineTally,
) -> None:
    """Take a result that stands alone: a row of CSV, or an object of rccl-tests."""
    name = str(row.get("name", row.get("collective")))[:40]
    num_ranks = whole_number(str(row.get("ranks", row.get("gpus", 0)))) or 0
    num_nodes = whole_number(str(row.get("nodes", 1 if "gpus" in row else 0))) or 0
    size, in_place = whole_number(str(row["size"])), str(row["inplace"])
    if size is None or in_place not in {"0", "1"}:
        raise ValueError
    key = (name, num_ranks, num_nodes)
    run = runs.get(key)
    if run is None:
        called = collective_called(name).replace("all_to_all", "alltoall")
        run = runs[key] = RunBuilder(
            bad=bad, program="rccl-tests", called=called, num_ranks=num_ranks, num_nodes=num_nodes
        )
    run.add_row(
        count,
        size=size,
        dtype=str(row.get("type", ""))[:32],
        redop=str(row.get("redop", ""))[:32],
        in_place=in_place == "1",
        cells=_cells((row["time"], row["algbw"], row["busbw"], row.get("wrong"))),
    )


def read_csv(source: LogSource, bad: BadLineTally) -> list[CollectiveTest]:
    """Return the tests in a file of CSV.

    Versions before 2025 leave ``nodes`` out of the heading and not out of the rows.
    """
    names: list[str] = []
    runs: dict[tuple[str, int, int], RunBuilder] = {}
    for line, _, text in clean_lines(source):
        cells = [cell.strip().strip('"') for cell in text.lstrip("\ufeff").split(",")]
        if cells[0].lower() == "numcycle":
            names = [name.lower().lstrip("#") for name in cells]
        elif text.strip():
            if len(cells) == len(names) + 1 and "nodes" not in names and "ranks" in names:
                names.insert(names.index("ranks"), "nodes")
            try:
                _take_flat(runs, dict(zip(names, cells, strict=True)), line, bad)
            except _BROKEN:
                bad.add(line, f"{len(cells)} cells under {len(names)} columns, or no result", text)
    return [run.build() for run in runs.values()]
