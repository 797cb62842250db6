"""A network as built, from files: any format that holds cables, or LLDP of every device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import LabError, SpecError, at
from netloom.formats.inventory.lldp import parse_neighbours
from netloom.formats.register import detect
from netloom.ops.observe.compare import Built, BuiltCable

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.ops.observe.naming import Naming

__all__ = ["built_from"]

MAX_BYTES: Final = 256 * 2**20


def built_from(path: Path, naming: Naming) -> Built:
    """Return the cables that a file or a folder tells of.

    Args:
        path: What ``ibnetdiscover`` (also with ``-p``) or ``iblinkinfo -l`` printed, a CSV file
            with the columns a_device, a_port, b_device, b_port and perhaps rate, or a folder
            with what ``lldpctl -f json0`` printed on each device in ``DEVICE.json``.
        naming: What its devices and ports are called.

    Raises:
        SpecError: it is none of these.
    """
    if path.is_dir():
        return _built_of_lldp(path, naming)
    text = _text(path)
    form = detect(text, name=str(path), holds="cables")
    assert form.parse is not None
    with at(file=str(path)):
        try:
            found: Built = form.parse(text, naming)
        except LabError as error:
            raise SpecError(
                what=f"it is not {form.title}", remedy="bring it as the program printed it"
            ) from error
    return found


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error.strerror})", remedy="name another file"
        ) from error


def _built_of_lldp(folder: Path, naming: Naming) -> Built:
    cables, devices = [], set()
    for path in sorted(folder.glob("*.json")):
        devices.add(naming.device(path.stem))
        with at(file=str(path)):
            for one in parse_neighbours(_text(path)):
                here = naming.jack(path.stem, one.interface)
                there = naming.jack(one.device, one.port)
                cables.append(BuiltCable(one=here, other=there))
    if not devices:
        raise SpecError(
            file=str(folder),
            what="has no DEVICE.json",
            remedy="put there what lldpctl -f json0 prints on each",
        )
    return Built(cables=tuple(cables), devices=frozenset(devices))
