"""What ``watch`` and ``audit`` are told: the design, the names of real devices, a lab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder
    from netloom.app.watch.naming import Naming
    from netloom.ops.observe.designed import Designed

__all__ = ["designed_at", "lab_at", "naming_at"]


def designed_at(scenario: Path, own: Path | None = None) -> Designed:
    """Return the network of a scenario file as designed."""
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.ops.observe.designed import designed_of  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.networks import network_of  # noqa: PLC0415

    with scenario_at(scenario) as read:
        network = network_of(read.cluster, catalog_of(read, own))
        return designed_of(network, read.cluster.fabric.floor)


def naming_at(names: Path | None, ports: Path | None = None, labels: str = "") -> Naming:
    """Return what two files and a scheme say of names; netloom's own without.

    Args:
        names: A CSV file with the columns name and device.
        ports: A CSV file with the columns device, label and port.
        labels: A scheme for labels that are not in *ports*.
    """
    from netloom.app.watch.naming import (  # noqa: PLC0415
        Naming,
        Scheme,
        parse_names,
        parse_ports,
        parse_scheme,
    )

    return Naming(
        devices=parse_names(_text(names, "--names")) if names else {},
        ports=parse_ports(_text(ports, "--ports")) if ports else {},
        scheme=parse_scheme(labels) if labels else Scheme(),
    )


def _text(path: Path, option: str) -> str:
    from netloom.errors import SpecError  # noqa: PLC0415

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{option}: {path} cannot be read ({error}); name another file"
        raise SpecError(message) from error


def lab_at(name: str, folder: Path | None) -> LabFolder:
    """Return where a lab is kept."""
    from netloom.app.lab.store import LabFolder, default_folder  # noqa: PLC0415

    return LabFolder.of(name, folder or default_folder())
