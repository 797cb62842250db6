"""States of runs that are kept, so that another process goes on where one was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["OneState", "StateStore", "content_key"]


class StateStore(Protocol):
    """Keeps states by what they are states of."""

    def find(self, key: str) -> bytes | None:
        """Return the state that was kept last under *key*; None where there is none."""
        ...

    def keep(self, key: str, state: bytes) -> None:
        """Keep *state* in place of what is there under *key*."""
        ...

    def is_due(self) -> bool:
        """Return whether a run that goes on should be kept again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OneState:
    """A store for runs one after another, of which only the last is gone on with.

    Attributes:
        store: Where it is kept.
        name: Under what.
    """

    store: StateStore
    name: str

    def find(self, key: str) -> bytes | None:
        """Return the state of the last run, where it is that of *key*."""
        kept = self.store.find(self.name)
        head = key.encode()
        return kept[len(head) :] if kept is not None and kept.startswith(head) else None

    def keep(self, key: str, state: bytes) -> None:
        """Keep the state of the run of *key*, and of no other."""
        self.store.keep(self.name, key.encode() + state)

    def is_due(self) -> bool:
        """Return what the store says."""
        return self.store.is_due()


def content_key(*parts: object) -> str:
    """Return a SHA-256 of values: equal ones have equal keys, in any process."""
    digest = sha256()
    for part in parts:
        _add(digest, part)
    return digest.hexdigest()


def _add(digest: _Hash, part: object) -> None:
    if isinstance(part, np.ndarray):
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    elif is_dataclass(part) and not isinstance(part, type):
        digest.update(type(part).__name__.encode())
        for one in fields(part):
            _add(digest, getattr(part, one.name))
    elif isinstance(part, Mapping):
        for name, value in part.items():
            _add(digest, name)
            _add(digest, value)
    elif isinstance(part, tuple | list):
        digest.update(f"{len(part)}(".encode())
        for one in part:
            _add(digest, one)
    else:
        digest.update(f"{type(part).__name__} {part!r};".encode())
