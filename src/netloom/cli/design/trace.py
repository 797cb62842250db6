"""``netloom trace``: Chakra execution traces, out and in."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App, Parameter

from netloom.app import trace as traces
from netloom.cli.arguments import OptionalWhole
from netloom.cli.options import Output, OwnParts
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.parts.load import load_catalog
from netloom.report.traces import trace_text
from netloom.study.inputs import catalog_of

__all__ = ["trace"]

trace = App(
    name="trace",
    help="Write a step as Chakra execution traces, or read such traces.",
    default_parameter=Parameter(negative=()),
)


@trace.command
def write(
    scenario: Path | None = None,
    *,
    out: Path,
    ranks: OptionalWhole = None,
    own: OwnParts = None,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Write one predicted step as Chakra traces: step.RANK.et and comm_group.json.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
        out: The folder to write to; it is made when missing.
        ranks: Write only the first ranks, this many.
    """
    with scenario_at(scenario) as asked, reporting("ranks") as told:
        found = traces.write(asked, out, catalog_of(asked, own), ranks=ranks, on_progress=told)
    files = f"{out / traces.PREFIX}.<rank>.et"
    said = f"{files}: {found.num_ranks:,} ranks, {found.num_bytes:,} bytes"
    return show(found, output, lambda: said)


@trace.command
def read(
    prefix: Path,
    *,
    technology: str = "infiniband-ndr",
    node: str = "dgx-h100",
    groups: Path | None = None,
    own: OwnParts = None,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Sum up the collectives of Chakra traces, and predict how long each takes.

    Keys of the JSON are documented in docs/formats.md.

    Args:
        prefix: The files PREFIX.RANK.et, gzip or not.
        technology: Catalogue name of the network to predict on.
        node: Catalogue name of the node; ranks fill nodes in order.
        groups: The ranks of each group; default: comm_group.json beside the traces.
    """
    with reporting("traces") as told:
        found = traces.read(
            prefix,
            load_catalog(own),
            technology=technology,
            node=node,
            groups=groups,
            on_progress=told,
        )
    return show(found, output, lambda: trace_text(found))
