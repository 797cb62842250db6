"""Where cases are: the file of a watch, or a PostgreSQL that watches share; and who asks."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from netloom.drivers.devices.credentials import read_secret
from netloom.drivers.services.postgres import PostgresTables, is_postgres
from netloom.errors import SpecError, at
from netloom.ops.cases.file import SqliteTables
from netloom.ops.observe.case_audit import Actor
from netloom.ops.observe.devices import DeviceAccess, printable
from netloom.spec.inventory.file import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.ops.observe.case_tables import CaseTables
    from netloom.ops.observe.devices import Secret

__all__ = ["actor", "is_postgres", "open_tables", "path_of", "secret_at", "service_at"]

DEADLINE_S: Final = 5.0


@contextmanager
def open_tables(store: str | Path) -> Iterator[CaseTables]:
    """Give the cases in a watch's file, or in the database that a URL names.

    Raises:
        SpecError: the URL is wrong.
        OutputError: there is none, or it does not answer.
    """
    if is_postgres(str(store)):
        with PostgresTables(str(store)) as tables:
            yield tables
    else:
        with SqliteTables(path_of(store)) as file:
            yield file


def path_of(store: str | Path) -> Path:
    """Return the file that a store is.

    Raises:
        SpecError: it is named by a URL, or not at all.
    """
    if not str(store) or "://" in str(store):
        raise SpecError(
            option="--store",
            what=f"{printable(str(store))!r} is no file of a watch",
            remedy="name the file that 'netloom watch' writes, or postgresql://USER@HOST/DATABASE",
        )
    return Path(store)


def actor(by: str = "") -> Actor:
    """Return who acts: the name given, or the login; and under which login that was said.

    Raises:
        SpecError: the name cannot be shown.
    """
    login = _login()
    return Actor(name=by or login, login=f"{login}@{socket.gethostname()}"[:200])


def _login() -> str:
    """Return who is logged in, also behind sudo."""
    behind = os.environ.get("SUDO_USER", "") if os.geteuid() == 0 else ""
    try:
        return behind or getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"uid-{os.getuid()}"


def service_at(
    name: str, url: str, token: str = "", certificate: Path | None = None
) -> DeviceAccess | None:
    """Return how to reach a service; None without a URL.

    Args:
        name: What messages call it.
        url: Its address.
        token: Where its token is, as :func:`secret_at`.
        certificate: PEM file of the authority that it is certified by.

    Raises:
        SpecError: the URL is none or has a password, or the token cannot be read.
    """
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        raise SpecError(
            what=f"{name}: {printable(parts.hostname or url)!r} is no URL",
            remedy="write such as https://am1:9093, without user and password",
        )
    secret = secret_at(token, option=f"--{name.lower()}-token")
    return DeviceAccess(
        name=name, address=url, secret=secret, certificate=certificate, deadline_s=DEADLINE_S
    )


def secret_at(
    place: str, *, option: str, environ: Mapping[str, str] | None = None
) -> Secret | None:
    """Return the secret in a file of mode 600, or in the variable of ``env:NAME``; None for none.

    Raises:
        SpecError: it cannot be read, is empty, or others can read it.
    """
    if not place:
        return None
    kind, _, variable = place.partition(":")
    where = Credentials(env=variable) if kind == "env" else Credentials(file=place)
    with at(option):
        surroundings = os.environ if environ is None else environ
        return read_secret(where, folder=Path(), environ=surroundings)
