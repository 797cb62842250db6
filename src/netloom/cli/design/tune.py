"""``netloom tune``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Group

from netloom.app.deploy import run as deploy
from netloom.app.tune import AnyTuned
from netloom.app.tune import tune as tune_scenario
from netloom.app.tune_files import class_files, rendered
from netloom.cli.arguments import OptionalWhole, Whole
from netloom.cli.options import WhyPageOutput
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.report.tune.page import tune_page
from netloom.report.tune.text import settings_yaml, tune_text
from netloom.study.tune.limits import TuneLimits
from netloom.study.tune.result import TunedSettings
from netloom.study.tune.stages.tuning import StagedSettings
from netloom.study.tune.tuning import TuneRequest, objective_of
from netloom.units import SHARE, SIZE, TIME, parse_quantity

__all__ = ["tune"]


def tune(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    objective: Annotated[
        Literal["step", "fct", "p99"] | None, Parameter(name="--for", show_default=False)
    ] = None,
    over: str = "",
    budget: Whole = 60,
    seeds: Whole = 8,
    seed: Whole = 0,
    jitter: str = "10us",
    max_pauses: str = "100%",
    max_buffer: str = "",
    stages: bool = False,
    store: Path | None = None,
    workers: OptionalWhole = None,
    dask: str | None = None,
    render: Path | None = None,
    running: Path | None = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Find settings of switches and NICs, and say whether they are better than the default.

    Every candidate runs packet by packet on the same seeds; default, published settings and the
    best are then compared on seeds that the search did not see. A scenario with several jobs gets
    start offsets and priorities instead.

    Args:
        scenario: A scenario file with pauses (PFC); default: the example 'incast-rocev2'.
        objective: What to make shorter: step (the job's, or the traffic as a whole), fct (mean flow
            completion time) or p99; default: step of a job, p99 of traffic.
        over: What to turn, separated by commas: ecn, dcqcn, pfc, weights, qps, chunk; default:
            ecn, pfc, and dcqcn where NICs run it.
        budget: Candidates to try.
        seeds: Seeds of the verdict.
        seed: Of the search.
        jitter: Transfers start up to so much later, each by its own draw.
        max_pauses: Share of links' time that may be paused.
        max_buffer: Buffer of a switch that headroom and queues up to their pauses may take, such as
            64MB; default: all it has.
        stages: Find service levels for the classes of the job's step instead.
        store: The file that keeps every simulation; the same command goes on from there.
        workers: Processes; default: as many as cores.
        dask: Compute on the Dask cluster with this scheduler address; 'local' starts one.
        render: Write the configurations of switches and hosts with the best settings to this
            folder.
        running: Show how the best differ from configurations in this folder.
    """
    with scenario_at(scenario, built_in="incast-rocev2") as asked:
        request = TuneRequest(
            objective=objective or objective_of(asked),
            over=tuple(word.strip() for word in over.split(",") if word.strip()),
            budget=budget,
            seed=seed,
            verdict_seeds=seeds,
            jitter_s=parse_quantity(jitter, TIME, where="--jitter"),
            limits=TuneLimits(
                max_pause_share=parse_quantity(max_pauses, SHARE, where="--max-pauses"),
                max_buffer_bytes=(
                    parse_quantity(max_buffer, SIZE, where="--max-buffer")
                    if max_buffer
                    else math.inf
                ),
            ),
        )
        with reporting("tuning") as told:
            found = tune_scenario(
                asked,
                request=request,
                stages=stages,
                store=store,
                workers=workers,
                dask=dask,
                on_progress=told,
            )
        lines = _written(found, render, running)
    return show(
        found,
        output,
        lambda: Group(tune_text(found), *lines),
        page=lambda: tune_page(found),
    )


def _written(found: AnyTuned, render: Path | None, running: Path | None) -> list[str]:
    """Write configurations and return what to say of them."""
    if render is None and running is None:
        return []
    if isinstance(found, StagedSettings):
        if running is not None or render is None:
            raise SpecError(option="--running", what="--stages compares with nothing that runs")
        return [f"\nService levels: {rendered(render, class_files(found))} files in {render}"]
    if not isinstance(found, TunedSettings):
        raise SpecError(option="--render", what="jobs have no configuration of their own")
    lines = []
    if render is not None:
        done = deploy.render(found.advised, out=render)
        extra = {"settings.yaml": settings_yaml(found.advised)}
        rendered(render, extra)
        lines.append(f"\nConfigurations: {len(done.files)} files in {render}, settings.yaml beside")
    if running is not None:
        changes = deploy.plan(found.advised, running=running).changes
        lines.append(f"\n{len(changes)} files differ from what runs in {running}")
        for change in changes:
            lines += [change.device, *(f"  {line}" for line in change.lines)]
    return lines
