"""``netloom audit``: the network as built against the network as designed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from netloom.app import audit as app
from netloom.cli.operate.designed import designed_at
from netloom.cli.output import emit_json, write_atomically
from netloom.report.ops.audit import audit_text

__all__ = ["audit"]


def audit(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    source: Annotated[Path | None, Parameter(name="--from")] = None,
    lab: str = "",
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    names: Path | None = None,
    ports: Path | None = None,
    labels: str = "",
    json: bool = False,
    report: Path | None = None,
    catalog: Path | None = None,
) -> int:
    """Name the cables that are missing, too many, swapped, misplaced or of the wrong speed.

    Looks at the InfiniBand network of this machine, unless told where else. The exit status is 1
    when anything differs.

    Args:
        scenario: A scenario file; only its cluster matters.
        source: What ibnetdiscover or iblinkinfo -l printed, a CSV file of cables, or a folder
            with what lldpctl -f json0 printed on each device.
        lab: Name of the lab to look at.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        names: A CSV file with the columns name and device: what real devices are called here.
        ports: A CSV file with the columns device, label and port: what stands beside real ports,
            and our numbers of them; an empty device means all.
        labels: How labels of ports that are not listed are numbered: plain, cumulus, eos, nxos,
            sonic, junos or quantum, and behind a colon into how many ports a cage is split.
        json: Print JSON; keys are documented in docs/operate/watch.md.
        report: Write a self-contained HTML page to this file.
        catalog: A TOML file with parts of your own.
    """
    designed = designed_at(scenario, catalog)
    naming = app.naming_from(names, ports, labels)
    found = app.audit(designed, source=source, lab=lab, folder=folder, naming=naming)
    if report is not None:
        from netloom.report.ops.audit_page import audit_page  # noqa: PLC0415  (slow)

        write_atomically(report, audit_page(found))
    if json:
        emit_json(found.to_json())
    else:
        print(audit_text(found))
    return int(bool(found.differences))
