"""``netloom place``."""

from __future__ import annotations

from pathlib import Path

from netloom.cli.arguments import Whole
from netloom.cli.options import OwnParts, PageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.report.whatif.place import placement_text
from netloom.report.whatif.place_page import placement_page
from netloom.study.inputs import catalog_of
from netloom.study.whatif.place import place as place_job

__all__ = ["place"]


def place(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    nodes: Whole,
    free: str = "",
    occupied: float = 0.0,
    tries: Whole = 200,
    seed: Whole = 0,
    own: OwnParts = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Find the free nodes on which a job's step is shortest.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
        nodes: How many nodes the job gets.
        free: Nodes that are free, such as 0-15,20,24-31; default: all.
        occupied: Of these, the share that other jobs hold, drawn at random, such as 0.4.
        tries: Most changes of the placement to try.
        seed: Which draw, of occupied nodes, of the hash and of the changes.
    """
    with scenario_at(scenario) as asked:
        found = place_job(
            asked,
            catalog_of(asked, own),
            num_nodes=nodes,
            free=free,
            occupied=occupied,
            tries=tries,
            seed=seed,
        )
    return show(found, output, lambda: placement_text(found), page=lambda: placement_page(found))
