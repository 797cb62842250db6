"""Cases of other simulators, read from their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.register import formats_of
from netloom.formats.simulators.case import CaseTexts, ImportedCase, NamedText
from netloom.spec.files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.formats.register import Format

__all__ = ["import_case"]

MAX_FILE_BYTES: Final = 1 << 30


def import_case(topology: Path, flows: Path, config: Path | None = None) -> ImportedCase:
    """Return the case in the files: ``.topo`` and ``.cm`` of htsim, all others of ns-3 HPCC.

    Raises:
        SpecError: a file cannot be read or is wrong, or the two do not belong together.
    """
    form = _format(topology, flows)
    texts = CaseTexts(
        topology=_text(topology, "a topology file"),
        flows=_text(flows, "a flow file"),
        config=None if config is None else _text(config, "a file"),
    )
    assert form.parse is not None
    found: ImportedCase = form.parse(texts)
    return found


def _format(topology: Path, flows: Path) -> Format:
    """Return the format whose suffixes the files have; the one that has none for all others."""
    cases = formats_of("case")
    for one in cases:
        is_own = [path.suffix in one.suffixes for path in (topology, flows)]
        if all(is_own):
            return one
        if any(is_own):
            raise SpecError(
                what=f"{topology}, {flows}: one file is {one.title}'s and the other is not",
                remedy="bring .topo with .cm, or an ns-3 HPCC topology with its flow file",
            )
    return next(one for one in cases if not one.suffixes)


def _text(path: Path, wanted: str) -> NamedText:
    text = read_text(path, max_bytes=MAX_FILE_BYTES, wanted=wanted)
    return NamedText(name=str(path), text=text)
