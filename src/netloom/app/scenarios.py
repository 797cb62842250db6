"""A folder of scenarios, read and written by name."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError, SpecError
from netloom.spec.example import example_text, examples

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ScenarioFolder", "ScenarioText", "StaleTextError"]

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SUFFIX: Final = ".yaml"
MAX_TEXT_BYTES: Final = 1 << 20
MAX_LISTED: Final = 1000


class StaleTextError(InfeasibleError):
    """Another user changed the scenario in the meantime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioText:
    """A scenario as it is written.

    Attributes:
        is_example: Whether it is built in, and so cannot be written.
    """

    name: str
    text: str
    is_example: bool = False

    @property
    def etag(self) -> str:
        """A word that changes with the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    def to_json(self) -> dict[str, object]:
        """Return the stable keys that docs/serve.md documents."""
        return {
            "name": self.name,
            "text": self.text,
            "etag": self.etag,
            "example": self.is_example,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFolder:
    """Files ``NAME.yaml`` of one folder, and the built-in examples; links are not followed."""

    folder: Path | None = None

    def names(self) -> dict[str, list[str]]:
        """Return the names of the folder's own and of the built-in ones."""
        own = [] if self.folder is None else sorted(self.folder.glob(f"*{SUFFIX}"))
        found = [path.stem for path in own if path.is_file() and not path.is_symlink()]
        known = [name for name in found if NAME.fullmatch(name)][:MAX_LISTED]
        return {"own": known, "examples": list(examples())}

    def read(self, name: str) -> ScenarioText:
        """Return a scenario; the folder's own comes before an example of that name.

        Raises:
            SpecError: there is none, or its file is no text of at most 1 MiB.
        """
        path = self._path(name)
        if path is not None and path.exists():
            return ScenarioText(name=name, text=_text(path))
        if name in examples():
            return ScenarioText(name=name, text=example_text(name), is_example=True)
        raise SpecError(key="name", what=f"there is no scenario {name!r}", remedy="choose another")

    def write(self, name: str, text: str, *, etag: str) -> ScenarioText:
        """Write a scenario where it still is what *etag* says; empty for one that is new.

        Raises:
            SpecError: the name cannot be used, or there is no folder.
            StaleTextError: it is another by now.
        """
        path = self._path(name)
        if path is None:
            raise SpecError(what="there is no folder to write to", remedy="use serve --folder DIR")
        now = ScenarioText(name=name, text=_text(path)).etag if path.exists() else ""
        if now != etag:
            raise StaleTextError(
                what=f"{name} was changed by another user", remedy="load it again, then change it"
            )
        part = path.with_suffix(".part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(part, flags, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        return ScenarioText(name=name, text=text)

    def _path(self, name: str) -> Path | None:
        if not NAME.fullmatch(name) or ".." in name:
            raise SpecError(
                key="name",
                what=f"{name[:100]!r} is not a name",
                remedy="use letters, digits, '.', '-' and '_'",
            )
        return None if self.folder is None else self.folder / f"{name}{SUFFIX}"


def _text(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            data = file.read(MAX_TEXT_BYTES + 1)
        if len(data) > MAX_TEXT_BYTES:
            raise SpecError(file=path.name, what="is over 1 MiB", remedy="choose another")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            file=path.name, what=f"cannot be read: {error}", remedy="choose another"
        ) from None
