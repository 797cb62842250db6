"""The files that a scenario names, wherever in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netloom.spec.traffic import FlowFile, OpenLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.spec.scenario import Job, Scenario
    from netloom.spec.traffic import Traffic

__all__ = ["anchored", "files_of", "is_path"]


def anchored(scenario: Scenario, absolute: Callable[[str, str], str]) -> Scenario:
    """Return *scenario* with every path it names made absolute.

    Args:
        scenario: What was asked for.
        absolute: Takes the field that names a path, and the path.
    """
    if scenario.catalog is not None:
        catalog = absolute("catalog", scenario.catalog)
        scenario = scenario.model_copy(update={"catalog": catalog})
    if scenario.traffic is not None:
        traffic = tuple(_anchored_piece(piece, absolute) for piece in scenario.traffic)
        scenario = scenario.model_copy(update={"traffic": traffic})
    if scenario.job_given is not None:
        job = _anchored_job(scenario.job, "job.model", absolute)
        scenario = scenario.model_copy(update={"job": job})
    if scenario.jobs is not None:
        jobs = tuple(
            tenant.model_copy(update={"job": _anchored_job(tenant.job, "jobs", absolute)})
            for tenant in scenario.jobs
        )
        scenario = scenario.model_copy(update={"jobs": jobs})
    return scenario


def _anchored_job(job: Job, field: str, absolute: Callable[[str, str], str]) -> Job:
    if not job.model.endswith(".json"):
        return job
    return job.model_copy(update={"model": absolute(field, job.model)})


def _anchored_piece(piece: Traffic, absolute: Callable[[str, str], str]) -> Traffic:
    if isinstance(piece, FlowFile):
        return piece.model_copy(update={"file": absolute("traffic", piece.file)})
    if isinstance(piece, OpenLoop) and is_path(piece.distribution):
        path = absolute("traffic", piece.distribution)
        return piece.model_copy(update={"distribution": path})
    return piece


def is_path(distribution: str) -> bool:
    """Return whether a distribution of sizes is a file, not one of those that ship."""
    return "/" in distribution or bool(Path(distribution).suffix)


def files_of(scenario: Scenario) -> Iterator[str]:
    """Yield the paths of the model and of traffic that *scenario* names; not the catalogue."""
    alone = () if scenario.job_given is None else (scenario.job,)
    for job in (*alone, *(tenant.job for tenant in scenario.jobs or ())):
        if job.model.endswith(".json"):
            yield job.model
    for piece in scenario.traffic or ():
        if isinstance(piece, FlowFile):
            yield piece.file
        elif isinstance(piece, OpenLoop) and is_path(piece.distribution):
            yield piece.distribution
