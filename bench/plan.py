"""Searches on all cores, of a dense model and of one with experts, beside predicting one by one."""

from __future__ import annotations

import resource
import time
from functools import partial

from netloom.drivers.cores import num_cores, on_processes
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Scenario
from netloom.study.plan.machines import Wanted
from netloom.study.plan.planning import PlanQuestion, plan, question, searcher
from netloom.study.predict.prediction import predict

# What the search must keep: a space of this size in two minutes, and this rate on any space.
CONFIGURATIONS = 11_700_000
ALLOWED_S = 120.0
MIN_PER_S = 100_000
OVERSUBSCRIPTIONS = (1.0, 4.0)


def gpt_3_on_1024_gpus() -> None:
    """Every technology and two oversubscriptions, so that the space is as large as it must be."""
    catalog = load_catalog()
    scenario = _scenario("gpt-3-175b", gpus=1024, sequence=2048, global_batch=1024)
    wanted = Wanted(technologies=tuple(catalog.technologies), oversubscriptions=OVERSUBSCRIPTIONS)
    configurations, wall_s = _search(question(scenario, catalog, wanted=wanted))
    assert configurations >= CONFIGURATIONS
    assert wall_s <= ALLOWED_S
    divided = scenario.job.parallel.model_copy(update={"tensor": 8, "pipeline": 8})
    job = scenario.job.model_copy(update={"parallel": divided})
    start = time.perf_counter()
    predict(scenario.model_copy(update={"job": job}), catalog)
    print(f"  predict by itself: {1 / (time.perf_counter() - start):,.0f} a second")


def deepseek_v3_on_256_gpus() -> None:
    """One machine and a model with experts: most of the work is in what nothing else shares."""
    scenario = _scenario("deepseek-v3", gpus=256, sequence=4096, global_batch=512)
    _search(question(scenario, load_catalog()))


def _scenario(model: str, *, gpus: int, sequence: int, global_batch: int) -> Scenario:
    training = {"sequence": sequence, "global_batch": global_batch}
    return Scenario.model_validate(
        {"cluster": {"gpus": gpus}, "job": {"model": model, "training": training}}
    )


def _search(asked: PlanQuestion) -> tuple[int, float]:
    """Print and return how many configurations were searched, and in which time."""
    start = time.perf_counter()
    workers = num_cores()
    with on_processes(partial(searcher, asked), num_workers=workers) as each:
        found = plan(asked, each=each)
    wall_s = time.perf_counter() - start
    rate = found.configurations / wall_s
    # The largest of the workers that have ended so far, and this process; kilobytes on Linux.
    worker, own = (
        resource.getrusage(who).ru_maxrss / 1e3
        for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)
    )
    print(
        f"\nplan of {asked.scenario.job.model} on {asked.spaces[0].num_gpus:,} GPUs, "
        f"{len(asked.machines)} machines: {found.configurations:,} configurations in "
        f"{wall_s:.1f} s on {workers} workers, {rate:,.0f} a second; "
        f"peak memory {worker:,.0f} MB a worker, "
        f"{own:,.0f} MB beside them"
    )
    assert rate >= MIN_PER_S
    return found.configurations, wall_s
