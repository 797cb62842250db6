"""OpenSM, the subnet manager of InfiniBand: its options and what its log says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


import re
from typing import TYPE_CHECKING

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


__all__ = [
    "ENGINES",
    "SmLog",
    "SubnetManager",
    "check_engine",
    "parse_log",
    "render_configuration",
    "render_roots",
]

State = Literal["starting", "discovering", "master", "standby", "stopped"]


# opensm(8) of 3.3.23, option --routing_engine, but for 'file', which needs tables to read.
ENGINES: Final = (
    "minhop",
    "updn",
    "dnup",
    "ftree",
    "lash",
    "dor",
    "torus-2QoS",
    "nue",
    "dfsssp",
    "sssp",
)
MAX_ERRORS: Final = 20
_LINE: Final = re.compile(r"0x[0-9A-Fa-f]{1,8} -> (?P<text>.*)")
_STATE: Final = re.compile(r"Entering (DISCOVERING|MASTER|STANDBY|NOT-ACTIVE) state")
_TABLES: Final = re.compile(r"([A-Za-z0-9-]{1,20}) tables configured on all switches")
# Files that OpenSM could not use: it goes on without them, partitions and all.
_REFUSED: Final = re.compile(
    r"PARSE ERROR|configuration in error|ERR AC\d\d|Failed to setup routing engine '(?!no_fallback)"
)
_NO_ENGINE: Final = "No routing engine able to successfully configure"
_STATES: Final[dict[str, State]] = {
    "DISCOVERING": "discovering",
    "MASTER": "master",
    "STANDBY": "standby",
    "NOT-ACTIVE": "standby",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetManager:
    """One OpenSM process: where its files lie."""

    folder: Path

    @property
    def configuration(self) -> Path:
        """What ``opensm -F`` reads."""
        return self.folder / "opensm.conf"

    @property
    def log(self) -> Path:
        """What it logs."""
        return self.folder / "opensm.log"

    @property
    def roots(self) -> Path:
        """GUIDs of the topmost switches, one a line."""
        return self.folder / "roots"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmLog:
    """What a log says.

    Attributes:
        state: What the manager entered last.
        engine: The routing engine whose tables it configured last; empty before.
        num_sweeps: How often it said SUBNET UP, in the part of the log that was read.
        has_failed: Its last attempt found no engine that can route this fabric.
        errors: The last lines marked ERR, oldest first.
        refused: The last lines that say that a file or an option was passed over, oldest first.
    """

    state: State = "starting"
    engine: str = ""
    num_sweeps: int = 0
    has_failed: bool = False
    errors: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def fell_back(self, wanted: str) -> bool:
        """Return whether tables are those of another engine than *wanted*."""
        return self.engine not in {"", wanted}


def check_engine(name: str) -> str:
    """Return *name*.

    Raises:
        SpecError: OpenSM has no such routing engine (it would take another without a word).
    """
    if name not in ENGINES:
        raise SpecError(
            option="--routing",
            what=f"OpenSM has no engine {name[:40]!r}",
            remedy=f"it has {', '.join(ENGINES)}",
        )
    return name


def render_roots(guids: Iterable[int]) -> str:
    """Return the file of root GUIDs."""
    return "".join(f"0x{guid:016x}\n" for guid in guids)


def render_configuration(
    manager: SubnetManager,
    *,
    engine: str,
    has_roots: bool,
    priority: int = 0,
    more: Mapping[str, object] | None = None,
) -> str:
    """Return opensm.conf; what it leaves out is OpenSM's own default.

    Args:
        manager: Where its files lie; nothing outside that folder is read or written.
        engine: The routing engine, and no other in its stead.
        has_roots: Whether the file of roots is to be used.
        priority: 0 to 15; the manager of the highest becomes master.
        more: Further options; they go before those of the same name here.
    """
    options: dict[str, object] = {
        "routing_engine": f"{engine},no_fallback",
        "connect_roots": "TRUE",  # else switches at the top cannot be asked for counters
        "sweep_interval": 10,
        # OpenSM's own default; fewer than the 10 datagrams that may wait for a client of ibsim.
        "max_wire_smps": 4,
        # A standby takes over after 2 polls of 0.5 s instead of 4 of 10 s.
        "sminfo_polling_timeout": 500,
        "polling_retry_number": 2,
        "sm_priority": priority,
        # ibsim hangs when more than its socket holds (10) is under way.
        "perfmgr_max_outstanding_queries": 4,
        "partition_config_file": manager.folder / "partitions.conf",
        "qos_policy_file": manager.folder / "qos-policy.conf",
        "prefix_routes_file": manager.folder / "prefix-routes.conf",
        "per_module_logging_file": manager.folder / "per-module-logging.conf",
        "torus_config": manager.folder / "torus-2QoS.conf",
        "log_file": manager.log,
        "log_flags": "0x03",
        "force_log_flush": "TRUE",
        "accum_log_file": "FALSE",
        "log_max_size": 64,  # MB; then it starts again
        "dump_files_dir": manager.folder,
    }
    if has_roots:
        options["root_guid_file"] = manager.roots
    if engine == "torus-2QoS":
        options["qos"] = "TRUE"
    return "".join(f"{key} {value}\n" for key, value in {**options, **(more or {})}.items())


def parse_log(text: str) -> SmLog:
    """Return what *text*, a log or the end of one, says."""
    state: State = "starting"
    engine, num_sweeps, has_failed = "", 0, False
    errors: list[str] = []
    refused: list[str] = []
    for line in text.splitlines():
        match = _LINE.search(line)
        said = match["text"] if match else line
        if _REFUSED.search(said):
            refused = [*refused[1 - MAX_ERRORS :], said[:200]]
        if entered := _STATE.search(said):
            state = _STATES[entered[1]]
        elif tables := _TABLES.search(said):
            engine, has_failed = tables[1], False
        elif said.startswith("SUBNET UP"):
            num_sweeps += 1
        elif said.startswith("Exiting SM"):
            state = "stopped"
        elif _NO_ENGINE in said:
            has_failed = True
        elif "ERR " in said:
            errors = [*errors[1 - MAX_ERRORS :], said[:200]]
    return SmLog(
        state=state,
        engine=engine,
        num_sweeps=num_sweeps,
        has_failed=has_failed,
        errors=tuple(errors),
        refused=tuple(refused),
    )
