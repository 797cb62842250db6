"""SONiC's YANG models: a config_db.json as an instance of them, judged by yanglint.

The models are SONiC's (sonic-buildimage, src/sonic-yang-models) and given as a folder of .yang
files. Which lists and keys a table has is read from them, since releases differ. The instance is
XML, where every value is text, as it is in config_db.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import run
from netloom.errors import SpecError
from netloom.formats.sonic.yang import Statement, YangTable, parse_yang

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "lint",
    "tables_of",
]

TIMEOUT_S: Final = 120.0
MAX_BYTES: Final = 2**22  # of one model


def tables_of(folder: Path) -> dict[str, YangTable]:
    """Return the tables that the models in *folder* describe, by name.

    Raises:
        SpecError: there is no model in it, or one that cannot be read.
    """
    found: dict[str, YangTable] = {}
    for path in sorted(folder.glob("sonic-*.yang")):
        try:
            module = parse_yang(path.read_text(encoding="utf-8")[:MAX_BYTES])
        except (OSError, ValueError) as error:
            raise SpecError(
                file=str(path),
                what=f"cannot be read as a YANG model ({error})",
                remedy="render templates first",
            ) from error
        found |= {table.container.argument: table for table in _tables(module)}
    if not found:
        raise SpecError(
            file=str(folder),
            what="has no sonic-*.yang with tables",
            remedy="give SONiC's yang-models folder",
        )
    return found


def _tables(module: Statement) -> Iterator[YangTable]:
    namespaces = module.those("namespace")
    for top in module.those("container"):
        for container in top.those("container"):
            yield YangTable(
                module=module.argument,
                namespace=namespaces[0].argument if namespaces else "",
                top=top.argument,
                container=container,
            )


def lint(data: Path, folder: Path, modules: list[str]) -> None:
    """Raise LabError unless yanglint finds *data* to be a whole and valid configuration.

    Args:
        data: The instance, as XML.
        folder: The models.
        modules: Names of those that *data* has tables of.
    """
    models = [str(folder / f"{module}.yang") for module in modules]
    run(
        ["yanglint", "-t", "config", "-p", str(folder), *models, str(data)],
        timeout_s=TIMEOUT_S,
    )
