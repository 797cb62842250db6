"""What real devices and ports are called, from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.ops.observe.naming import Naming, PortScheme, parse_names, parse_ports, parse_scheme

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["naming_from"]


def naming_from(names: Path | None = None, ports: Path | None = None, labels: str = "") -> Naming:
    """Return what two files and a scheme say of names; netloom's own where none is given.

    Args:
        names: A CSV file with the columns name and device.
        ports: A CSV file with the columns device, label and port.
        labels: A scheme for labels that are not in *ports*, such as ``eos`` or ``cumulus:2``.

    Raises:
        SpecError: a file cannot be read or is wrong, or there is no such scheme.
    """
    return Naming(
        devices=parse_names(_text(names, "--names")) if names else {},
        ports=parse_ports(_text(ports, "--ports")) if ports else {},
        scheme=parse_scheme(labels) if labels else PortScheme(),
    )


def _text(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            what=f"{option}: {path} cannot be read ({error})", remedy="name another file"
        ) from error
