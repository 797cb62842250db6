"""``netloom predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from netloom.cli.arguments import OptionalWhole, Whole
from netloom.cli.design.draws import draws

__all__ = ["predict"]


def predict(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    own: Path | None = None,
    engine: Literal["analytic", "flow", "packet"] = "analytic",
    seed: Whole = 0,
    seeds: OptionalWhole = None,
    json: bool = False,
    why: bool = False,
    trace: Path | None = None,
) -> None:
    """Predict how long one training step takes, and where the time goes.

    Args:
        scenario: A scenario file; without, the built-in example: Llama 3.1 405B on 16,384 H100.
        own: A TOML file with parts and prices of your own.
        engine: analytic (a closed form), flow (every hop routed over the network as built) or
            packet (a step of every collective's hops run packet by packet; small clusters).
        seed: With --engine flow or packet, which draw of the hash.
        seeds: With --engine flow, also the step's distribution over this many draws, from --seed.
        json: Print JSON; keys are documented in docs/json.md.
        why: Explain the step time down to constants and sources.
        trace: Write the step's schedule to this file, for ui.perfetto.dev.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import announce, emit_json  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.predict.engines import engine_named  # noqa: PLC0415
    from netloom.study.predict.hash_variance import check_draws  # noqa: PLC0415
    from netloom.study.predict.prediction import predict as predict_step  # noqa: PLC0415

    check_draws(seeds, engine, seed=seed)
    with scenario_at(scenario) as asked:
        catalog = catalog_of(asked, own)
        chosen = engine_named(engine, seed=seed, announce=announce)
        found = predict_step(asked, catalog, engine=chosen)
        drawn = () if seeds is None else draws(asked, catalog, range(seed, seed + seeds))
    if trace is not None:
        from netloom.cli.output import write_atomically  # noqa: PLC0415
        from netloom.report.step_trace import step_trace  # noqa: PLC0415

        title = f"{found.scenario.job.model} on {found.network.technology.name}"
        write_atomically(trace, step_trace(found.step, title=title))
    if json:
        more = {"luck": drawn[0].to_json()} if drawn else {}
        emit_json(found.step.why if why else found.to_json() | more)
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.hash_variance import luck_table  # noqa: PLC0415
    from netloom.report.predict import prediction_text  # noqa: PLC0415
    from netloom.report.why import why_tree  # noqa: PLC0415

    console = Console()
    console.print(why_tree(found.step.why) if why else prediction_text(found))
    if drawn:
        console.print("", luck_table(drawn))
