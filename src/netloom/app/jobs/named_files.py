"""Files that a scenario's text names: which of them a job may read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.spec.anchor import anchored

if TYPE_CHECKING:
    from netloom.spec.scenario import Scenario

__all__ = ["NamedFiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFiles:
    """Where ``catalog``, ``job.model`` and ``traffic`` of a text are looked for.

    Attributes:
        folder: Paths are relative to it; None where no file may be named.
        elsewhere: Whether files outside *folder* are read too; for the server's own scenario, never
            for texts that come from visitors.
    """

    folder: str | None = None
    elsewhere: bool = False

    def found(self, scenario: Scenario) -> Scenario:
        """Return *scenario* with absolute paths.

        Raises:
            SpecError: it names a file that may not be read.
        """
        return anchored(scenario, self._path)

    def _path(self, key: str, path: str) -> str:
        if self.folder is None:
            raise SpecError(
                key=key,
                what="names a file, and this server has no folder of them",
                remedy="start it with --folder DIR, or use the name of a part",
            )
        folder = Path(self.folder).absolute()
        if self.elsewhere:
            return str(folder / path)
        try:
            found = (folder / path).resolve()
        except (OSError, RuntimeError, ValueError):  # links in a circle, a name that is too long
            found = None
        if found is None or not found.is_relative_to(folder.resolve()):
            raise SpecError(
                key=key,
                what=f"{path[:100]!r} is not in the server's folder of scenarios",
                remedy="put the file below --folder, and name it relative to that",
            )
        return str(found)
