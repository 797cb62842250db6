"""``netloom audit``: the network as built against the network as designed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.cli.operate.designed import designed_at, lab_at, naming_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.watch.naming import Naming
    from netloom.ops.observe.audit import Built
    from netloom.ops.observe.designed import Designed
    from netloom.ops.plant import Cable

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
    own: Path | None = None,
) -> int:
    """Name the cables that are missing, too many, swapped, misplaced or of the wrong speed.

    Looks at the InfiniBand network of this machine, unless told where else. The exit status is 1
    when anything differs.

    Args:
        scenario: A scenario file; only its cluster matters.
        source: What ibnetdiscover or iblinkinfo -l printed, a CSV file of cables, or a folder
            with what lldpctl -f json0 printed on each device.
        lab: Of the lab to look at.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        names: A CSV file with the columns name and device: what real devices are called here.
        ports: A CSV file with the columns device, label and port: what stands beside real ports,
            and our numbers of them; without a device, on all.
        labels: How labels of ports that are not listed are numbered: plain, cumulus, eos, nxos,
            sonic, junos or quantum, and behind a colon into how many ports a cage is split.
        json: Print JSON; keys are documented in docs/watch.md.
        own: A TOML file with parts of your own.
    """
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.ops.observe.audit import audit as compare  # noqa: PLC0415
    from netloom.report.ops.audit import audit_text  # noqa: PLC0415

    designed = designed_at(scenario, own)
    naming = naming_at(names, ports, labels)
    built, rate_bps = _built(designed, source=source, lab=lab, folder=folder, naming=naming)
    found = compare(
        designed.plant,
        built,
        racks=designed.racks,
        label=designed.label,
        rate_bps=rate_bps,
    )
    if json:
        emit_json(found)
    else:
        print(audit_text(found))
    return int(bool(found.differences))


def _built(
    designed: Designed, *, source: Path | None, lab: str, folder: Path | None, naming: Naming
) -> tuple[Built, Callable[[Cable], float]]:
    """Return the network as built, and what its cables should run at."""
    from netloom.app.watch import targets  # noqa: PLC0415
    from netloom.app.watch.built_files import built_from  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415

    if source is not None and lab:
        message = "--from and --lab: both say where to look; give one of them"
        raise SpecError(message)
    if lab:
        place = lab_at(lab, folder)
        return targets.built_in_lab(place, designed), targets.lab_rates(designed)
    if source is not None:
        return built_from(source, naming), lambda cable: cable.rate_bps
    if not designed.is_infiniband:
        message = "an Ethernet network cannot be seen from one machine; give --from or --lab"
        raise SpecError(message)
    with tempfile.TemporaryDirectory(prefix="netloom-") as scratch:
        built = targets.built_here(naming, Path(scratch))
    return built, lambda cable: cable.rate_bps
