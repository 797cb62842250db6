"""``netloom whatif``."""

from __future__ import annotations

from pathlib import Path

from netloom.app.rank import rank as rank_failures
from netloom.cli.arguments import OptionalWhole
from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.report.whatif.page import ranking_page, whatif_page
from netloom.report.whatif.text import ranking_text, whatif_text
from netloom.study.inputs import catalog_of
from netloom.study.whatif.changes import Change, changes_of
from netloom.study.whatif.failure import whatif as what_if

__all__ = ["whatif"]

MAX_SEEDS = 1000


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
    own: OwnParts = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Say what a failed, drained or slow part does to a training step.

    Parts are leaf:3, spine:0, nic:12, gpu:5, node:7, link:leaf:3-spine:0 or cable:123; options
    may be given several times, and then all of it happens at once.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
        fail: A part that is down.
        drain: A part that works but is avoided by routing.
        slow: A part and how many times slower it is, such as nic:12=2; of a GPU, its computation.
        rank: Rank every single failure of a tier (leaf, spine, ...), of nic, gpu, node, links, or
            all of these.
        factor: With --rank, make each part that many times slower instead of failing it.
        seeds: Draws of the hash to average; default: 1 where flows are spread, 5 where they are
            hashed.
        workers: Processes for --rank; default: as many as cores.
    """
    changes = changes_of(fail=fail or (), drain=drain or (), slow=slow or ())
    _check(changes, rank, factor=factor, seeds=seeds, why=output.why is not None)
    drawn = None if seeds is None else range(seeds)
    with scenario_at(scenario) as asked:
        catalog = catalog_of(asked, own)
        if rank is None:
            one = what_if(asked, changes, catalog, seeds=drawn)
            return show(one, output, lambda: whatif_text(one), page=lambda: whatif_page(one))
        with reporting("trying failures") as told:
            many = rank_failures(
                asked,
                rank,
                catalog,
                factor=factor,
                seeds=drawn,
                workers=workers,
                on_progress=told,
            )
    return show(many, output, lambda: ranking_text(many), page=lambda: ranking_page(many))


def _check(
    changes: tuple[Change, ...],
    rank: str | None,
    *,
    factor: float | None,
    seeds: int | None,
    why: bool,
) -> None:
    if bool(changes) == (rank is not None):
        raise SpecError(
            key="whatif",
            what=(
                "name what happens (--fail leaf:3, --drain, --slow nic:12=2), or --rank "
                "TIER for every single failure"
            ),
            remedy="one of the two",
        )
    if rank is None and factor is not None:
        raise SpecError(
            option="--factor",
            what="it belongs to --rank",
            remedy="write --slow PART=FACTOR for one part",
        )
    if rank is not None and why:
        raise SpecError(
            option="--why",
            what="it explains one case",
            remedy="name the part, such as --fail leaf:3",
        )
    if seeds is not None and not 1 <= seeds <= MAX_SEEDS:
        raise SpecError(
            option="--seeds",
            what=f"{seeds} is not a number of draws",
            remedy=f"give 1 to {MAX_SEEDS}",
        )
