"""Read a file that grows, from where one left off, in whole lines."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Grown", "Position", "follow"]

HEAD_BYTES: Final = 512
MAX_BYTES: Final = 8 * 2**20  # of one look; what is beyond comes with the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a file was read.

    Attributes:
        inode: Tells the file from one that took its name.
        offset: Bytes read, always at the end of a line.
        head: Checksum of its first bytes, which tells it from one that took its inode, or that
            was emptied and has grown since.
        state: Whatever the reader must remember of what came before.
    """

    inode: int = 0
    offset: int = 0
    head: int = 0
    state: str = ""

    def to_text(self) -> str:
        """Return it as a cursor."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Position:
        """Return what :meth:`to_text` gave; the beginning where it did not."""
        try:
            return cls(**json.loads(text)) if text else cls()
        except (ValueError, TypeError):
            return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """What was read.

    Attributes:
        start: Where it begins in the file.
        text: Whole lines.
        position: Where to go on, with the state of before.
        is_new: Whether the file is another than before, or was begun again.
    """

    start: int
    text: str
    position: Position
    is_new: bool


def follow(path: Path, position: Position) -> Grown:
    """Return the whole lines that *path* has beyond *position*.

    A file that is shorter than it was, or begins otherwise, or another one, is read from its
    beginning. A line longer
    than :data:`MAX_BYTES` is given in pieces.

    Raises:
        LabError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            first = file.read(HEAD_BYTES)
            same = (
                stat.st_ino == position.inode
                and stat.st_size >= position.offset
                and _checksum(first, position.offset) == position.head
            )
            start = position.offset if same else 0
            file.seek(start)
            data = file.read(MAX_BYTES)
    except OSError as error:
        raise LabError(file=str(path), what=f"cannot be read ({error.strerror})") from error
    end = data.rfind(b"\n") + 1
    if not end and len(data) == MAX_BYTES:
        end = len(data)
    state = position.state if same else ""
    return Grown(
        start=start,
        text=data[:end].decode("utf-8", errors="replace"),
        position=Position(
            inode=stat.st_ino,
            offset=start + end,
            head=_checksum(first, start + end),
            state=state,
        ),
        is_new=not same,
    )


def _checksum(first: bytes, offset: int) -> int:
    """Return the checksum of what was read of a file's first bytes."""
    return zlib.crc32(first[:offset])
