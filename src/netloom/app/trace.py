"""Chakra execution traces, written from a predicted step and read from files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import OutputError, SpecError
from netloom.formats.traces.chakra import parse, parse_groups, render, render_groups
from netloom.parts.load import load_catalog
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.results.write import write_atomically
from netloom.study.predict.engines import engine_of
from netloom.study.trace.table import RankTally, network_for, num_ranks_of, summarize, tally
from netloom.study.trace.traces import step_traces

if TYPE_CHECKING:
    import os

    from netloom.engines.base import Engine
    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.trace.table import TraceTable

__all__ = ["WrittenTraces", "read", "write"]

PREFIX: Final = "step"
GROUPS: Final = "comm_group.json"
MAX_FILES: Final = 65_536
MAX_GROUPS_BYTES: Final = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTraces(Tabular):
    """The traces of one step: ``step.RANK.et`` and ``comm_group.json`` in a folder."""

    folder: Path
    num_ranks: int
    num_bytes: int

    def table(self) -> Table:
        """Return what was written, in one row."""
        return Table.from_rows([self.to_json()])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/formats.md documents."""
        return {"folder": str(self.folder), "ranks": self.num_ranks, "bytes": self.num_bytes}


def write(
    scenario: Scenario,
    out: str | os.PathLike[str],
    catalog: Catalog | None = None,
    *,
    ranks: int | None = None,
    on_progress: OnProgress | None = None,
) -> WrittenTraces:
    """Write one predicted step as Chakra traces.

    >>> import netloom as nl
    >>> nl.trace.write(nl.example("gpt3-175b-1k"), "traces", ranks=8)  # doctest: +SKIP

    Args:
        scenario: The cluster and the job.
        out: The folder to write to; it is made when missing.
        catalog: The parts; default: the shipped ones and the scenario's own.
        ranks: Write only the first ranks.
        on_progress: Told how many ranks are written, and how many there are.

    Raises:
        NetloomError: the scenario is impossible, or the folder cannot be written to.
    """
    traces = step_traces(scenario, catalog, num_ranks=ranks)
    folder = Path(out)
    _prepare(folder, traces.num_ranks)
    write_atomically(folder / GROUPS, render_groups(traces.groups()))
    advance = counter(on_progress, traces.num_ranks)
    num_bytes = 0
    for rank in range(traces.num_ranks):
        content = b"".join(render(traces.nodes(rank)))
        write_atomically(folder / f"{PREFIX}.{rank}.et", content)
        num_bytes += len(content)
        advance()
    return WrittenTraces(folder=folder, num_ranks=traces.num_ranks, num_bytes=num_bytes)


def read(  # noqa: PLR0913  (a facade: what the command line takes)
    prefix: str | os.PathLike[str],
    catalog: Catalog | None = None,
    *,
    technology: str = "infiniband-ndr",
    node: str = "dgx-h100",
    groups: str | os.PathLike[str] | None = None,
    engine: Engine | str = "analytic",
    on_progress: OnProgress | None = None,
) -> TraceTable:
    """Sum up the collectives of Chakra traces, and predict how long each takes.

    >>> import netloom as nl
    >>> nl.trace.read("traces/step").table()  # doctest: +SKIP

    Args:
        prefix: The files ``PREFIX.RANK.et``, gzip or not.
        catalog: The parts; default: the shipped ones.
        technology: Of the network to predict on.
        node: Which node; ranks fill nodes in order.
        groups: The ranks of each group; default: ``comm_group.json`` beside the traces.
        engine: Asked for the collectives: its name, or an engine.
        on_progress: Told how many traces are read, and how many there are.

    Raises:
        NetloomError: a file cannot be read, or a part is unknown.
    """
    start = Path(prefix)
    files = _files(start)
    advance = counter(on_progress, len(files))
    tallies = {}
    for rank, path in files:
        tallies[rank] = _tally(path, rank)
        advance()
    listed = _groups(start, None if groups is None else Path(groups))
    where = str(start)
    network = network_for(
        num_ranks_of(tallies, listed, where=where),
        catalog or load_catalog(),
        technology=technology,
        node=node,
    )
    return summarize(tallies, listed, network=network, engine=engine_of(engine), where=where)


def _prepare(out: Path, num_ranks: int) -> None:
    """Make the folder; refuse one whose other traces would be read as part of these."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        others = [rank for rank, _ in _numbered(out / PREFIX) if rank >= num_ranks]
    except OSError as error:
        raise OutputError(
            option="--out",
            what=f"{out} cannot be made or read ({error.strerror})",
            remedy="name another folder",
        ) from error
    if others:
        raise OutputError(
            option="--out",
            what=f"{out} holds traces of rank {max(others)} already",
            remedy="name an empty folder",
        )


def _numbered(prefix: Path) -> list[tuple[int, Path]]:
    name = re.compile(re.escape(prefix.name) + r"\.(0|[1-9][0-9]{0,8})\.et")
    found = [(name.fullmatch(path.name), path) for path in prefix.parent.iterdir()]
    return sorted((int(match[1]), path) for match, path in found if match)


def _files(prefix: Path) -> list[tuple[int, Path]]:
    try:
        found = _numbered(prefix)
    except OSError as error:
        raise SpecError(
            file=str(prefix),
            what=f"the folder cannot be read ({error.strerror})",
            remedy="name another",
        ) from error
    if not found:
        raise SpecError(
            file=str(prefix),
            what=f"no file {prefix.name}.<rank>.et there",
            remedy="give the part before the rank",
        )
    if len(found) > MAX_FILES:
        raise SpecError(
            file=str(prefix),
            what=f"{len(found):,} traces, over the {MAX_FILES:,} read",
            remedy="move some away",
        )
    return found


def _tally(path: Path, rank: int) -> RankTally:
    try:
        with path.open("rb") as stream:
            _, nodes = parse(stream, where=str(path))
            return tally(nodes, rank=rank, where=str(path))
    except OSError as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error.strerror})", remedy="check the file"
        ) from error


def _groups(prefix: Path, given: Path | None) -> dict[str, tuple[int, ...]]:
    path = given or prefix.parent / GROUPS
    if given is None and not path.exists():
        return {}
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_GROUPS_BYTES + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error})", remedy="give the groups with --groups"
        ) from error
    if len(content) > MAX_GROUPS_BYTES:
        raise SpecError(
            file=str(path),
            what=f"over {MAX_GROUPS_BYTES:,} bytes",
            remedy="give the groups of these traces",
        )
    return parse_groups(text, where=str(path))
