"""``netloom place``."""

from __future__ import annotations

from pathlib import Path

from netloom.cli.arguments import Whole
from netloom.errors import SpecError

__all__ = ["place"]

MAX_TRIES = 1_000_000


def place(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    nodes: Whole,
    free: str = "",
    occupied: float = 0.0,
    tries: Whole = 200,
    seed: Whole = 0,
    own: Path | None = None,
    json: bool = False,
) -> None:
    """Find the free nodes on which a job's step is shortest.

    Args:
        scenario: A scenario file; without, the built-in example: Llama 3.1 405B on 16,384 H100.
        nodes: How many nodes the job gets.
        free: Nodes that nobody has, such as 0-15,20,24-31; all without.
        occupied: Of these, a share that somebody has, drawn at random, such as 0.4.
        tries: Most changes of the placement to try.
        seed: Which draw, of occupied nodes, of the hash and of the changes.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.networks import network_of  # noqa: PLC0415
    from netloom.study.whatif.place import free_nodes  # noqa: PLC0415
    from netloom.study.whatif.place import place as place_job  # noqa: PLC0415

    if nodes < 1 or not 0 <= tries <= MAX_TRIES:
        message = f"--nodes is 1 or more, and --tries 0 to {MAX_TRIES:,}; not {nodes} and {tries}"
        raise SpecError(message)
    if seed < 0:
        message = f"--seed: {seed} is negative; use 0 or more"
        raise SpecError(message)
    with scenario_at(scenario) as asked:
        catalog = catalog_of(asked, own)
        all_nodes = network_of(asked.cluster, catalog).design.num_nodes
        spare = free_nodes(all_nodes, listed=free, occupied=occupied, seed=seed)
        found = place_job(asked, spare, catalog, num_nodes=nodes, tries=tries, seed=seed)
    if json:
        emit_json(found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.whatif.place import placement_text  # noqa: PLC0415

    Console().print(placement_text(found))
