"""Who asks: tokens, sessions and what a role may do."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from netloom.drivers.clock import WallClock
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["Key", "Role", "Sessions", "Visitor", "keys_in"]

Role: TypeAlias = Literal["viewer", "operator"]
TOKEN_BYTES: Final = 32
MIN_TOKEN: Final = 22  # 128 bits in URL-safe base64
SESSION_S: Final = 30 * 86400.0
MAX_SESSIONS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A user who has proved who they are.

    Attributes:
        name: Stands in the audit.
        by_cookie: Whether a browser sent the proof by itself, so that a request must also show
            that a page of ours made it.
    """

    name: str
    role: Role
    by_cookie: bool = False

    @property
    def is_operator(self) -> bool:
        """Whether they may change things."""
        return self.role == "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A token's digest, and whose it is."""

    digest: bytes
    name: str
    role: Role

    @classmethod
    def of(cls, token: str, *, name: str, role: Role) -> Key:
        """Return the key that *token* opens."""
        return cls(digest=_digest(token), name=name, role=role)


@dataclass(slots=True)
class _Session:
    visitor: Visitor
    ends_s: float
    key: bytes  # digest of the key that opened it; empty for a one-time token


@dataclass(slots=True)
class Sessions:
    """Keys that hold, one-time tokens that have not been used, and open sessions.

    Attributes:
        keys: Tokens for programs and for logging in, again and again.
        now: Seconds since 1970.
        file: Where sessions outlive the server: digests of their cookies, never a cookie. A
            session whose key is in the token file no more does not come back.
    """

    keys: tuple[Key, ...] = ()
    now: Callable[[], float] = field(default_factory=lambda: WallClock().now_s)
    file: Path | None = None
    _once: list[Key] = field(default_factory=list)
    _open: dict[bytes, _Session] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Open again the sessions that the file has."""
        if self.file is not None:
            self._open = _read_sessions(self.file, self.keys)
            self._forget_old()

    def issue_once(self, *, name: str, role: Role) -> str:
        """Return a token that opens one session."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with self._lock:
            self._once.append(Key.of(token, name=name, role=role))
        return token

    def log_in(self, token: str) -> str | None:
        """Return the cookie of a new session; None where the token opens nothing."""
        with self._lock:
            once = _matching(token, self._once)
            if once is not None:
                self._once.remove(once)
            key = once or _matching(token, self.keys)
            if key is None:
                return None
            self._forget_old()
            cookie = secrets.token_urlsafe(TOKEN_BYTES)
            visitor = Visitor(name=key.name, role=key.role, by_cookie=True)
            opened_by = b"" if once else key.digest
            self._open[_digest(cookie)] = _Session(visitor, self.now() + SESSION_S, opened_by)
            self._keep()
            return cookie

    def log_out(self, cookie: str) -> None:
        """End the session of a cookie."""
        with self._lock:
            self._open.pop(_digest(cookie), None)
            self._keep()

    def by_cookie(self, cookie: str) -> Visitor | None:
        """Return whose session it is."""
        with self._lock:
            session = self._open.get(_digest(cookie))
        return session.visitor if session and session.ends_s > self.now() else None

    def by_token(self, token: str) -> Visitor | None:
        """Return who holds a token that may be used again and again."""
        key = _matching(token, self.keys)
        return None if key is None else Visitor(name=key.name, role=key.role)

    def _keep(self) -> None:
        """Write the sessions down, all of them or none."""
        if self.file is None:
            return
        rows = [
            {
                "cookie": digest.hex(),
                "name": one.visitor.name,
                "role": one.visitor.role,
                "ends_s": one.ends_s,
                "key": one.key.hex(),
            }
            for digest, one in self._open.items()
        ]
        new = self.file.with_suffix(".new")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(rows, file)
        new.replace(self.file)

    def _forget_old(self) -> None:
        now_s = self.now()
        for digest in [one for one, session in self._open.items() if session.ends_s <= now_s]:
            del self._open[digest]
        while len(self._open) >= MAX_SESSIONS:
            del self._open[next(iter(self._open))]


def keys_in(text: str, *, file: str) -> tuple[Key, ...]:
    """Return the keys of a token file: a role, a name and a token on each line.

    Raises:
        SpecError: a line is none of these; the token itself is not repeated.
    """
    return tuple(
        _key(line.split(), file=file, line=number)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _key(words: list[str], *, file: str, line: int) -> Key:
    if len(words) != 3 or words[0] not in {"viewer", "operator"}:
        raise SpecError(
            file=file,
            line=line,
            what="is not a role, a name and a token",
            remedy="write 'viewer NAME TOKEN' or 'operator NAME TOKEN'",
        )
    role, name, token = words
    if len(token) < MIN_TOKEN:
        raise SpecError(
            file=file,
            line=line,
            what=f"the token of {name} is shorter than {MIN_TOKEN} characters",
            remedy="make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return Key.of(token, name=name, role="operator" if role == "operator" else "viewer")


def _read_sessions(file: Path, keys: tuple[Key, ...]) -> dict[bytes, _Session]:
    """Return the sessions of *file* whose keys still hold; none where it cannot be read."""
    known = {b"", *(key.digest for key in keys)}
    try:
        rows = json.loads(file.read_bytes()) if file.exists() else []
        found = [_session(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # all sign in again
    return {digest: session for digest, session in found if session.key in known}


def _session(row: dict[str, str]) -> tuple[bytes, _Session]:
    role: Role = "operator" if row["role"] == "operator" else "viewer"
    visitor = Visitor(name=str(row["name"]), role=role, by_cookie=True)
    ends_s = float(row["ends_s"])
    return bytes.fromhex(row["cookie"]), _Session(visitor, ends_s, bytes.fromhex(row["key"]))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _matching(token: str, keys: Iterable[Key]) -> Key | None:
    """Return the key that *token* opens; takes as long whichever it is, or none."""
    digest = _digest(token)
    found = [key for key in keys if hmac.compare_digest(digest, key.digest)]
    return found[0] if found else None
