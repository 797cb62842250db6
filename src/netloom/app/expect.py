"""What nccl-tests should show on a cluster, and what its logs say is wrong."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, TextIO

from netloom.errors import LabError, SpecError
from netloom.formats.benchmarks import nccl_tests
from netloom.formats.benchmarks.results import collective_called
from netloom.formats.nccl.setup import parse_setup
from netloom.formats.nccl.setup_facts import way_of_network
from netloom.study.expect.expectation import MeasuredTest, expect_collectives, expect_tests
from netloom.study.expect.facts import SetupFacts
from netloom.study.expect.sizes import sizes_of
from netloom.study.inputs import catalog_of
from netloom.workload.collective import CollectiveKind

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from netloom.formats.benchmarks.nccl_run import CollectiveTest
    from netloom.formats.benchmarks.results import CollectiveTiming
    from netloom.formats.nccl.setup_facts import NcclSetup
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.expect.expectation import Expectation

__all__ = ["expect", "facts_of", "read_log"]

MIN_TIME_S: Final = 1e-9  # a damaged log says less


def expect(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    collectives: Sequence[str] = (),
    sizes: Sequence[str] = (),
    num_nodes: int = 0,
    against: Sequence[str | os.PathLike[str]] = (),
) -> Expectation:
    """Return what nccl-tests should show on *scenario*'s cluster, and why logs show less.

    >>> import netloom as nl
    >>> cluster = nl.load({"cluster": {"nodes": 2, "node": "dgx-h100"}})
    >>> round(nl.expect(cluster, sizes=["1G"]).curves[0].points[0].bus_gbps)  # doctest: +SKIP
    466

    Args:
        scenario: The cluster; it needs no job.
        catalog: The parts; default: the shipped ones and the scenario's own.
        collectives: Such as ``all_reduce``, the default; of logs, those to look at, and which it
            is where a log does not say.
        sizes: As nccl-tests writes them (``64K``, ``1M:8G``); default: 1 KiB to 8 GiB. Of logs,
            their own.
        num_nodes: Nodes that take part; default: all. Of logs, as they say.
        against: Output of nccl-tests or rccl-tests, and logs of ``NCCL_DEBUG=INFO``.

    Raises:
        NetloomError: a part is unknown, the network cannot be built, a log cannot be read, or it
            has more nodes than the cluster.
    """
    parts = catalog or catalog_of(scenario)
    kinds = tuple(_kind(name) for text in collectives for name in text.split(","))
    if not against:
        return expect_collectives(
            scenario,
            parts,
            kinds=kinds or (CollectiveKind.ALL_REDUCE,),
            sizes=sizes_of(sizes),
            num_nodes=num_nodes,
        )
    logs = [read_log(Path(path), kinds) for path in against]
    tests = _with_shared_facts(logs)
    wanted = [_kept(one, sizes) for one in tests if not kinds or one.kind in kinds]
    if not any(one.times for one in wanted):
        raise SpecError(
            option="--against",
            what="the logs hold no test that is asked for",
            remedy="give output of nccl-tests, and see --collective and --sizes",
        )
    return expect_tests(scenario, parts, [one for one in wanted if one.times])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLog:
    """The tests of one log, and what the library says of itself there."""

    tests: tuple[MeasuredTest, ...]
    facts: SetupFacts | None


def read_log(path: Path, kinds: Sequence[CollectiveKind] = ()) -> ReadLog:
    """Return what a log of nccl-tests, of ``NCCL_DEBUG=INFO`` or of both holds.

    Args:
        path: The log.
        kinds: What was asked for: where it is one, that of tests that do not name themselves.

    Raises:
        SpecError: it cannot be read, or holds neither.
    """
    if path.exists() and not path.is_file():
        raise SpecError(option="--against", what=f"{path} is no file", remedy="give a log")
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            setup = parse_setup(file)
        with path.open(encoding="utf-8", errors="replace") as file:
            tests = _tests(file)
    except OSError as error:
        raise SpecError(
            option="--against",
            what=f"{path} cannot be read ({error.strerror})",
            remedy="check the path",
        ) from error
    if not (tests or setup.num_lines):
        raise SpecError(
            option="--against",
            what=f"{path} is neither output of nccl-tests nor a log of NCCL",
            remedy="give what all_reduce_perf printed, at best with NCCL_DEBUG=INFO",
        )
    facts = facts_of(setup) if setup.num_lines else None
    found = _merged(path, tests, kinds)
    return ReadLog(tests=tuple(replace(one, facts=facts) for one in found), facts=facts)


def _tests(file: TextIO) -> tuple[CollectiveTest, ...]:
    try:
        return nccl_tests.parse(file).tests
    except LabError:
        return ()


def _with_shared_facts(logs: Sequence[ReadLog]) -> list[MeasuredTest]:
    """Return all tests; those of a log without NCCL's own lines take the only others there are."""
    alone = [one.facts for one in logs if one.facts is not None and not one.tests]
    shared = alone[0] if len(alone) == 1 else None
    return [
        test if test.facts is not None else replace(test, facts=shared)
        for log in logs
        for test in log.tests
    ]


def _kind(name: str) -> CollectiveKind:
    called = collective_called(name.strip().removesuffix("_perf"))
    for kind in CollectiveKind:
        if kind.value == called:
            return kind
    known = ", ".join(kind.value for kind in CollectiveKind)
    raise SpecError(option="--collective", what=f"{name[:40]!r} is unknown", remedy=f"use {known}")


def _kept(test: MeasuredTest, sizes: Sequence[str]) -> MeasuredTest:
    if not sizes:
        return test
    wanted = set(sizes_of(sizes))
    return replace(test, times=tuple(one for one in test.times if one[0] in wanted))


def _merged(
    path: Path, tests: Iterable[CollectiveTest], kinds: Sequence[CollectiveKind]
) -> list[MeasuredTest]:
    """Return the tests, repetitions of one together."""
    runs: defaultdict[tuple[CollectiveKind, int, int], list[CollectiveTest]] = defaultdict(list)
    skipped: dict[str, None] = {}
    for test in tests:
        kind = _kind_of(test, kinds, path)
        if kind is None:
            skipped[test.collective] = None
        elif test.timings:
            runs[kind, test.num_ranks, test.num_nodes].append(test)
    notes = tuple(f"{name} is not predicted and left out." for name in skipped)
    return [_test(path, *key, repeated, notes) for key, repeated in runs.items()]


def _kind_of(
    test: CollectiveTest, kinds: Sequence[CollectiveKind], path: Path
) -> CollectiveKind | None:
    """Return which collective a test is of; None for one that netloom does not predict."""
    if test.collective:
        return next((kind for kind in CollectiveKind if kind.value == test.collective), None)
    if len(kinds) == 1:
        return kinds[0]
    raise SpecError(
        option="--against",
        what=f"{path} does not say which collective was tested",
        remedy="say it with --collective",
    )


def _test(
    path: Path,
    kind: CollectiveKind,
    num_ranks: int,
    num_nodes: int,
    tests: Sequence[CollectiveTest],
    notes: tuple[str, ...],
) -> MeasuredTest:
    rows = [
        row
        for test in tests
        for row in test.timings
        if row.time_s >= MIN_TIME_S and row.size_bytes > 0
    ]
    right = [row for row in rows if not row.num_wrong]
    if len(right) < len(rows):
        wrong = len(rows) - len(right)
        notes = (*notes, f"{wrong} rows with wrong values (#wrong) are left out.")
    kept = [row for row in right if not row.in_place] or right
    return MeasuredTest(
        log=path.name,
        kind=kind,
        num_ranks=num_ranks,
        num_nodes=num_nodes,
        times=tuple(_times(kept)),
        notes=notes,
    )


def _times(rows: Sequence[CollectiveTiming]) -> Iterable[tuple[float, float, bool]]:
    """Yield each size with the median of its times; a dip where most of them are."""
    by_size: defaultdict[int, list[CollectiveTiming]] = defaultdict(list)
    for row in rows:
        by_size[row.size_bytes].append(row)
    for size, same in sorted(by_size.items()):
        dip = 2 * sum(row.dip for row in same) > len(same)
        yield float(size), median(row.time_s for row in same), dip


def facts_of(setup: NcclSetup) -> SetupFacts:
    """Return what *setup* says about causes."""
    listed = [len(host.adapters) for host in setup.hosts if host.adapters]
    used = [len(host.adapters_used) for host in setup.hosts if host.adapters_used]
    nvls = (
        None if setup.channels is None or setup.channels.nvls is None else setup.channels.nvls > 0
    )
    return SetupFacts(
        way=setup.way or way_of_network(setup.plugin),
        network=setup.network or setup.plugin,
        gpudirect=setup.gpudirect,
        num_nics=min(listed, default=setup.num_provider_nics),
        num_used=min(used, default=0),
        nvls=nvls if setup.nvls_available is None else setup.nvls_available,
        pxn=setup.pxn,
        algorithms=frozenset(one.algorithm.lower() for one in setup.choices),
        variables=setup.variables,
    )
