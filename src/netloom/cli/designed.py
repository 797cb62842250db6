"""What ``watch`` and ``audit`` are told: the design, the names of real devices, a lab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.adapters.lab.store import LabFolder
    from netloom.ops.observe.designed import Designed

__all__ = ["designed_at", "lab_at", "names_at"]


def designed_at(scenario: Path, own: Path | None = None) -> Designed:
    """Return the network of a scenario file as designed."""
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.ops.observe.designed import designed_of  # noqa: PLC0415
    from netloom.study.networks import network_of  # noqa: PLC0415
    from netloom.study.predict import catalog_of  # noqa: PLC0415

    with scenario_at(scenario) as read:
        network = network_of(read.cluster, catalog_of(read, own))
        return designed_of(network, read.cluster.fabric.floor)


def names_at(path: Path | None) -> dict[str, str]:
    """Return the names in a file; none without one."""
    from netloom.adapters.watch.built_files import parse_names  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415

    if path is None:
        return {}
    try:
        return parse_names(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        message = f"--names: {path} cannot be read ({error}); name another file"
        raise SpecError(message) from error


def lab_at(name: str, folder: Path | None) -> LabFolder:
    """Return where a lab is kept."""
    from netloom.adapters.lab.store import LabFolder, default_folder  # noqa: PLC0415

    return LabFolder.of(name, folder or default_folder())
