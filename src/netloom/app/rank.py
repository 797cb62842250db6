"""Every single failure of a kind, tried on the cores of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.drivers.cores import num_cores, on_processes
from netloom.errors import SpecError
from netloom.results.progress import counter
from netloom.study.inputs import catalog_of
from netloom.study.whatif import rank as ranking
from netloom.study.whatif.changes import parts_called
from netloom.study.whatif.failure import bench_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.whatif.changes import Change
    from netloom.study.whatif.rank import FailureEffect, Ranking

__all__ = ["rank"]

MAX_WORKERS: Final = 1024


def rank(  # noqa: PLR0913  (a facade: what the command line takes)
    scenario: Scenario,
    which: str,
    catalog: Catalog | None = None,
    *,
    factor: float | None = None,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Ranking:
    """Return what every single failure of a kind does to a step, the worst first.

    >>> import netloom as nl
    >>> nl.rank(nl.load("x.yaml"), "leaf").rows[0].lost_share  # doctest: +SKIP

    Args:
        scenario: The cluster and the job.
        which: A tier (``leaf``, ``spine``), ``nic``, ``gpu``, ``node``, ``links`` or ``all``.
        catalog: The parts; default: the shipped ones and the scenario's own.
        factor: Make each part that many times slower instead of failing it.
        seeds: Draws of the hash to average; default: 1 where flows are spread, else 5.
        workers: Processes; default: as many as cores.
        on_progress: Told how many failures were tried; how many there are is not known (0).

    Raises:
        NetloomError: there is no such part, or the scenario is impossible.
    """
    bench = bench_of(scenario, catalog or catalog_of(scenario), seeds=seeds)
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise SpecError(
            option="--workers",
            what=f"{workers} is not a number of processes",
            remedy=f"give 1 to {MAX_WORKERS}",
        )
    parts_called(bench.fabric, which)

    def make() -> Callable[[Change], FailureEffect]:
        return lambda change: ranking.effect_of(bench, change)

    advance = counter(on_progress, 0)
    with on_processes(make, num_workers=workers or num_cores()) as each:

        def watched(tasks: Sequence[Change]) -> Iterator[tuple[Change, FailureEffect]]:
            for done in each(tasks):
                advance()
                yield done

        return ranking.rank(bench, which, factor=factor, each=watched)
