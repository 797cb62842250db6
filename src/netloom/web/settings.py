"""How a server is started: where it listens, by which names, and who is let in."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netloom.errors import SpecError
from netloom.web.guard import GuardRules

__all__ = ["LOCAL", "ServeSettings", "default_data_folder"]

LOCAL: Final = "127.0.0.1"
MAX_PORT: Final = 65535
ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?")
DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """What ``netloom serve`` was asked.

    Attributes:
        listen: The address to bind.
        port: Of it; 0 for a free one.
        certificate: PEM, with *key*: serve HTTPS.
        behind_proxy: A proxy in front does TLS and names users.
        user_header: In which header it names them.
        operators: Users of the proxy that may change things.
        hosts: Further names that browsers call it by.
        token_file: Roles, names and tokens; mode 0600.
        folder: Scenarios.
        data: Where jobs, results and the audit are kept.
        num_workers: Jobs that run at a time.
        example: Show the tour: a simulated day.
        store: What a watch stores, shown as it comes.
        scenario: The design of what is watched.
        lab: Name of a lab to act on.
        labs: Where labs are kept; with an inventory, where its log, plans and tickets are.
        inventory: Devices to act on: those with ``write: true``.
        names: What they are called, CSV.
        ports: What their ports are called, CSV.
        policy: What may be done to them.
        watch: Start the watch too, in a process of its own.
        every: How often that looks.
        alertmanager: URL of one, for silences.
        keep: How long jobs and their results are kept after they ended.
        embed: Origins, such as a notebook's, whose pages may show ours in a frame.
    """

    listen: str = LOCAL
    port: int = 8787
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    user_header: str = ""
    operators: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    token_file: Path | None = None
    folder: Path | None = None
    data: Path | None = None
    num_workers: int = 1
    example: bool = False
    store: Path | None = None
    scenario: Path | None = None
    lab: str = ""
    labs: Path | None = None
    inventory: Path | None = None
    names: Path | None = None
    ports: Path | None = None
    policy: Path | None = None
    watch: bool = False
    every: str = "10s"
    alertmanager: str = ""
    keep: str = "90d"
    embed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would let strangers in.

        Raises:
            SpecError: there is no such port or folder, it listens beyond this machine without TLS
                or a proxy, what may frame it is no origin, or half of a pair is missing.
        """
        if not 0 <= self.port <= MAX_PORT:
            raise SpecError(
                option="--port", what=f"{self.port} is no port", remedy=f"use 0 to {MAX_PORT}"
            )
        if self.folder is not None and not self.folder.is_dir():
            raise SpecError(
                option="--folder",
                what=f"{self.folder} is no folder",
                remedy="make it, or name another",
            )
        if (self.certificate is None) != (self.key is None):
            raise SpecError(option="--tls", what="needs a certificate and its key")
        if self.listen != LOCAL and not (self.certificate or self.behind_proxy):
            raise SpecError(
                option="--listen",
                what=f"{self.listen} can be reached from other machines, and nothing is encrypted",
                remedy="add --tls CERT KEY, or --behind-proxy where a proxy does it",
            )
        self._check_what_is_watched()
        for origin in self.embed:
            if not ORIGIN.fullmatch(origin):
                raise SpecError(
                    option="--embed",
                    what=f"{origin[:80]!r} is no origin",
                    remedy="write scheme, name and port: http://localhost:8888",
                )
        if self.user_header and not self.behind_proxy:
            raise SpecError(
                option="--user-header",
                what="anybody could name themselves without a proxy",
                remedy="add --behind-proxy, or leave it out",
            )

    def _check_what_is_watched(self) -> None:
        if (self.store is not None or self.acts) != (self.scenario is not None):
            raise SpecError(
                option="--scenario",
                what="what a watch sees is shown beside the design that it was watched by",
                remedy="give --scenario FILE with --store FILE, --lab NAME or --inventory FILE",
            )
        if self.lab and self.inventory is not None:
            raise SpecError(
                option="--inventory",
                what="acts either on a lab or on the devices of an inventory",
                remedy="give --lab NAME or --inventory FILE",
            )
        if (self.watch or self.policy is not None) and not self.acts:
            raise SpecError(
                option="--watch" if self.watch else "--policy",
                what="there is nothing to watch or to act on",
                remedy="give --lab NAME or --inventory FILE",
            )

    @property
    def acts(self) -> bool:
        """Whether there is something to act on."""
        return bool(self.lab) or self.inventory is not None

    @property
    def scheme(self) -> str:
        """``http``, or ``https`` with a certificate."""
        return "https" if self.certificate else "http"

    def address(self, port: int) -> str:
        """Return where a browser on this machine finds it."""
        return f"{self.scheme}://{self.listen}:{port}"

    def rules(self, port: int) -> GuardRules:
        """Return what the guard lets in when it listens on *port*."""
        names = {self.listen, "localhost"} if self.listen == LOCAL else {self.listen}
        own = {f"{name}:{port}" for name in names}
        if port == DEFAULT_PORTS[self.scheme]:
            own |= names
        schemes = {self.scheme, "https"} if self.behind_proxy else {self.scheme}
        hosts = own | set(self.hosts)
        return GuardRules(
            hosts=frozenset(hosts),
            origins=frozenset(f"{scheme}://{host}" for scheme in schemes for host in hosts),
            user_header=self.user_header.lower(),
            operators=frozenset(self.operators),
            embedders=frozenset(self.embed),
        )


def default_data_folder() -> Path:
    """Return where a server keeps jobs unless told: ``$XDG_STATE_HOME/netloom/serve``."""
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return state / "netloom" / "serve"
