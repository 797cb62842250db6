"""``netloom trace``: Chakra execution traces, out and in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cyclopts import App, Parameter

from netloom.cli.arguments import OptionalWhole
from netloom.errors import OutputError, SpecError

if TYPE_CHECKING:
    from netloom.study.trace.table import RankTally

__all__ = ["trace"]

PREFIX: Final = "step"
GROUPS: Final = "comm_group.json"
MAX_FILES: Final = 65_536
MAX_GROUPS_BYTES: Final = 1 << 26

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
    own: Path | None = None,
) -> None:
    """Write one predicted step as Chakra traces: step.RANK.et and comm_group.json.

    Args:
        scenario: A scenario file; without, the built-in example: Llama 3.1 405B on 16,384 H100.
        out: The folder to write to; it is made when missing.
        ranks: Write the first so many ranks only.
        own: A TOML file with parts and prices of your own.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import write_atomically  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.formats.traces.chakra import render, render_groups  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.trace.traces import step_traces  # noqa: PLC0415

    with scenario_at(scenario) as asked:
        traces = step_traces(asked, catalog_of(asked, own), num_ranks=ranks)
    _prepare(out, traces.num_ranks)
    write_atomically(out / GROUPS, render_groups(traces.groups()))
    written_bytes = 0
    with progress("ranks", traces.num_ranks) as advance:
        for rank in range(traces.num_ranks):
            content = b"".join(render(traces.nodes(rank)))
            write_atomically(out / f"{PREFIX}.{rank}.et", content)
            written_bytes += len(content)
            advance()
    print(f"{out / PREFIX}.<rank>.et: {traces.num_ranks:,} ranks, {written_bytes:,} bytes")


@trace.command
def read(
    prefix: Path,
    *,
    technology: str = "infiniband-ndr",
    node: str = "dgx-h100",
    groups: Path | None = None,
    own: Path | None = None,
    json: bool = False,
) -> None:
    """Sum up the collectives of Chakra traces, and predict how long each takes.

    Args:
        prefix: The files PREFIX.RANK.et, gzip or not.
        technology: Catalogue name of the network to predict on.
        node: Catalogue name of the node; ranks fill nodes in order.
        groups: The ranks of each group; comm_group.json beside the traces without.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/formats.md.
    """
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.engines.analytic.engine import AnalyticEngine  # noqa: PLC0415
    from netloom.parts.load import load_catalog  # noqa: PLC0415
    from netloom.study.trace.table import network_for, num_ranks_of, summarize  # noqa: PLC0415

    catalog = load_catalog(own)
    files = _files(prefix)
    tallies = {}
    with progress("traces", len(files)) as advance:
        for rank, path in files:
            tallies[rank] = _tally(path, rank)
            advance()
    listed = _groups(prefix, groups)
    where = str(prefix)
    network = network_for(
        num_ranks_of(tallies, listed, where=where), catalog, technology=technology, node=node
    )
    found = summarize(tallies, listed, network=network, engine=AnalyticEngine(), where=where)
    if json:
        emit_json(found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.traces import trace_text  # noqa: PLC0415

    Console().print(trace_text(found))


def _prepare(out: Path, num_ranks: int) -> None:
    """Make the folder; refuse one whose other traces would be read as part of these."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        others = [rank for rank, _ in _numbered(out / PREFIX) if rank >= num_ranks]
    except OSError as error:
        message = f"--out: {out} cannot be made or read ({error.strerror}); name another folder"
        raise OutputError(message) from error
    if others:
        message = f"--out: {out} holds traces of rank {max(others)} already; name an empty folder"
        raise OutputError(message)


def _numbered(prefix: Path) -> list[tuple[int, Path]]:
    name = re.compile(re.escape(prefix.name) + r"\.(0|[1-9][0-9]{0,8})\.et")
    found = [(name.fullmatch(path.name), path) for path in prefix.parent.iterdir()]
    return sorted((int(match[1]), path) for match, path in found if match)


def _files(prefix: Path) -> list[tuple[int, Path]]:
    try:
        found = _numbered(prefix)
    except OSError as error:
        message = f"{prefix}: the folder cannot be read ({error.strerror}); name another"
        raise SpecError(message) from error
    if not found:
        message = f"{prefix}: no file {prefix.name}.<rank>.et there; give the part before the rank"
        raise SpecError(message)
    if len(found) > MAX_FILES:
        message = f"{prefix}: {len(found):,} traces, over the {MAX_FILES:,} read; move some away"
        raise SpecError(message)
    return found


def _tally(path: Path, rank: int) -> RankTally:
    from netloom.formats.traces.chakra import parse  # noqa: PLC0415
    from netloom.study.trace.table import tally  # noqa: PLC0415

    try:
        with path.open("rb") as stream:
            _, nodes = parse(stream, where=str(path))
            return tally(nodes, rank=rank, where=str(path))
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); check the file"
        raise SpecError(message) from error


def _groups(prefix: Path, given: Path | None) -> dict[str, tuple[int, ...]]:
    from netloom.formats.traces.chakra import parse_groups  # noqa: PLC0415

    path = given or prefix.parent / GROUPS
    if given is None and not path.exists():
        return {}
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_GROUPS_BYTES + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: cannot be read ({error}); give the groups with --groups"
        raise SpecError(message) from error
    if len(content) > MAX_GROUPS_BYTES:
        message = f"{path}: over {MAX_GROUPS_BYTES:,} bytes; give the groups of these traces"
        raise SpecError(message)
    return parse_groups(text, where=str(path))
