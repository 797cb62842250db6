"""``netloom whatif``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netloom.cli.arguments import OptionalWhole
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from netloom.study.whatif.changes import Change
    from netloom.study.whatif.failure import BaselineJob, WhatIf
    from netloom.study.whatif.rank import FailureEffect, Ranking

__all__ = ["whatif"]

MAX_SEEDS = 1000
MAX_WORKERS = 1024


def whatif(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    fail: list[str] | None = None,
    drain: list[str] | None = None,
    slow: list[str] | None = None,
    rank: str | None = None,
    factor: float | None = None,
    seeds: OptionalWhole = None,
    workers: OptionalWhole = None,
    own: Path | None = None,
    json: bool = False,
    report: Path | None = None,
    why: bool = False,
) -> None:
    """Say what a failed, drained or slow part does to a training step.

    Parts are leaf:3, spine:0, nic:12, gpu:5, node:7, link:leaf:3-spine:0 or cable:123; options
    may be given several times, and then all of it happens at once.

    Args:
        scenario: A scenario file; without, the built-in example: Llama 3.1 405B on 16,384 H100.
        fail: A part that is down.
        drain: A part that works but is avoided by routing.
        slow: A part and how many times slower it is, such as nic:12=2; of a GPU, its computation.
        rank: Rank every single failure of a tier (leaf, spine, ...), of nic, gpu, node, links, or
            all of these.
        factor: With --rank, make each part that many times slower instead of failing it.
        seeds: Draws of the hash to average; 1 where flows are spread, 5 where they are hashed.
        workers: Processes for --rank; as many as there are cores without.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
        report: Write a self-contained HTML page to this file.
        why: Explain the step time before and after down to constants and sources.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.whatif.changes import changes_of  # noqa: PLC0415
    from netloom.study.whatif.failure import bench_of  # noqa: PLC0415
    from netloom.study.whatif.rank import Ranking  # noqa: PLC0415

    changes = changes_of(fail=fail or (), drain=drain or (), slow=slow or ())
    _check(changes, rank, factor=factor, seeds=seeds, why=why)
    drawn = None if seeds is None else range(seeds)
    with scenario_at(scenario) as asked:
        bench = bench_of(asked, catalog_of(asked, own), seeds=drawn)
        found = _one(bench, changes) if rank is None else _rank(bench, rank, factor, workers)
    if report is not None:
        _write_page(report, found)
    if json:
        emit_json(found.to_json() if isinstance(found, Ranking) or not why else found.why())
        return
    _print(found, why=why)
    if report is not None:
        print(f"\nReport: {report}")


def _check(
    changes: tuple[Change, ...],
    rank: str | None,
    *,
    factor: float | None,
    seeds: int | None,
    why: bool,
) -> None:
    if bool(changes) == (rank is not None):
        message = (
            "whatif: name what happens (--fail leaf:3, --drain, --slow nic:12=2), or --rank TIER "
            "for every single failure; one of the two"
        )
        raise SpecError(message)
    if rank is None and factor is not None:
        message = "--factor: it belongs to --rank; write --slow PART=FACTOR for one part"
        raise SpecError(message)
    if rank is not None and why:
        message = "--why: it explains one case; name the part, such as --fail leaf:3"
        raise SpecError(message)
    if seeds is not None and not 1 <= seeds <= MAX_SEEDS:
        message = f"--seeds: {seeds} is not a number of draws; give 1 to {MAX_SEEDS}"
        raise SpecError(message)


def _one(bench: BaselineJob, changes: tuple[Change, ...]) -> WhatIf:
    from netloom.study.whatif.failure import changed  # noqa: PLC0415

    return changed(bench, changes)


def _rank(bench: BaselineJob, which: str, factor: float | None, workers: int | None) -> Ranking:
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.drivers.cores import num_cores, on_processes  # noqa: PLC0415
    from netloom.study.whatif.changes import parts_called  # noqa: PLC0415
    from netloom.study.whatif.rank import effect_of, rank  # noqa: PLC0415

    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        message = f"--workers: {workers} is not a number of processes; give 1 to {MAX_WORKERS}"
        raise SpecError(message)
    parts_called(bench.fabric, which)

    def make() -> Callable[[Change], FailureEffect]:
        return lambda change: effect_of(bench, change)

    with (
        on_processes(make, num_workers=workers or num_cores()) as each,
        progress("trying failures", None) as advance,
    ):

        def watched(tasks: Sequence[Change]) -> Iterator[tuple[Change, FailureEffect]]:
            for done in each(tasks):
                advance()
                yield done

        return rank(bench, which, factor=factor, each=watched)


def _write_page(path: Path, found: WhatIf | Ranking) -> None:
    from netloom.cli.output import write_atomically  # noqa: PLC0415
    from netloom.report.whatif.page import ranking_page, whatif_page  # noqa: PLC0415
    from netloom.study.whatif.failure import WhatIf  # noqa: PLC0415

    page = whatif_page(found) if isinstance(found, WhatIf) else ranking_page(found)
    write_atomically(path, page)


def _print(found: WhatIf | Ranking, *, why: bool) -> None:
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.whatif.text import ranking_text, whatif_text  # noqa: PLC0415
    from netloom.report.why import why_tree  # noqa: PLC0415
    from netloom.study.whatif.failure import WhatIf  # noqa: PLC0415

    if not isinstance(found, WhatIf):
        Console().print(ranking_text(found))
    else:
        Console().print(why_tree(found.why()) if why else whatif_text(found))
