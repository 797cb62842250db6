"""``netloom predict``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netloom.cli.arguments import OptionalWhole, Whole
from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.output import announce, write_atomically
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.report.step_trace import step_trace
from netloom.study.inputs import catalog_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.hash_variance import HashVariance, check_draws, draws
from netloom.study.predict.prediction import predict as predict_step

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["predict"]


def predict(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    own: OwnParts = None,
    engine: Literal["analytic", "flow", "packet"] = "analytic",
    seed: Whole = 0,
    seeds: OptionalWhole = None,
    trace: Path | None = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Predict how long one training step takes, and where the time goes.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
        engine: analytic (a closed form), flow (every hop routed over the network as built) or
            packet (a step of every collective's hops run packet by packet; small clusters).
        seed: With --engine flow or packet, which draw of the hash.
        seeds: With --engine flow, also the step's distribution over this many draws, from --seed.
        trace: Write the step's schedule to this file, for ui.perfetto.dev.
    """
    check_draws(seeds, engine, seed=seed)
    with scenario_at(scenario) as asked:
        catalog = catalog_of(asked, own)
        where = asked.cluster.fabric
        chosen = engine_named(
            engine, seed=seed, announce=announce, fabric=where, workers=os.cpu_count() or 1
        )
        found = predict_step(asked, catalog, engine=chosen)
        drawn: tuple[HashVariance, ...] = ()
        if seeds is not None:
            with reporting("drawing hashes") as told:
                drawn = draws(asked, catalog, range(seed, seed + seeds), on_progress=told)
    if trace is not None:
        title = f"{found.scenario.job.model} on {found.network.technology.name}"
        write_atomically(trace, step_trace(found.step, title=title))

    def text() -> RenderableType:
        from netloom.report.hash_variance import with_luck  # noqa: PLC0415  (rich)
        from netloom.report.predict import prediction_text  # noqa: PLC0415

        return with_luck(prediction_text(found), drawn)

    def page() -> str:
        from netloom.report.predict_page import prediction_page  # noqa: PLC0415  (charts)

        return prediction_page(found, draws=drawn)

    return show(
        found,
        output,
        text,
        page=page,
        more={"luck": drawn[0].to_json()} if drawn else {},
    )
