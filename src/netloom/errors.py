"""Every exception netloom raises on purpose.

Catch :class:`NetloomError` to catch them all. The subclasses say who can fix it. Each
message names where the trouble is, what it is, and what to do about it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CatalogError",
    "InfeasibleError",
    "LabError",
    "NetloomError",
    "OutputError",
    "SpecError",
    "at",
]


class NetloomError(Exception):
    """Base class of the errors that netloom raises on purpose."""


class SpecError(NetloomError):
    """The scenario is wrong; the message names the field, the value and the remedy."""


class CatalogError(NetloomError):
    """A catalogue file is wrong, or it has no part of the name that was asked for."""


class InfeasibleError(NetloomError):
    """The scenario is well formed, but no such network or job can exist."""


class OutputError(NetloomError):
    """A result could not be written or handed on; the message says what is in the way."""


class LabError(NetloomError):
    """A program or the machine it runs on failed us; the message says which, and what to do."""


@contextmanager
def at(where: str) -> Iterator[None]:
    """Let every error raised inside open with *where*: a field, or a file and a line."""
    try:
        yield
    except NetloomError as error:
        message = f"{where}: {error}"
        raise type(error)(message) from error
