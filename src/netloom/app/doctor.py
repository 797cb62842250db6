"""What is installed here, which commands can run, and what to install for the others."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Final

from netloom.drivers.programs import PACKAGES, find_program
from netloom.errors import LabError
from netloom.results.table import Table
from netloom.results.tabular import Tabular

__all__ = ["Ability", "Doctor", "Installed", "doctor"]

REQUIRED: Final = ("cyclopts", "jinja2", "nanoarrow", "numpy", "pydantic", "rich", "ruamel.yaml")
# Each extra of netloom: the package, and the commands that need it.
EXTRAS: Final = {
    "distributed": ("dask", "sweep --dask"),
    "xlsxwriter": ("deploy", "deploy render, for its spreadsheet"),
    "perfetto": ("trace", "predict --trace"),
    "pygnmi": ("gnmi", "watch, for devices of kind gnmi"),
    "ortools": ("schedule", "span --optimal"),
}
# Commands that need programs of the machine, and which.
PROGRAMS: Final = {
    "lab, InfiniBand": ("ibsim", "opensm", "ibnetdiscover", "perfquery", "smpquery", "sminfo"),
    "lab, Ethernet": ("ip", "tc", "nft", "nsenter", "vtysh", "zebra", "bgpd", "bfdd"),
    "deploy check": ("vtysh", "opensm", "ibsim", "yanglint"),
    "deploy apply": ("frr-reload.py", "vtysh"),
    "watch --inventory, kind snmp": ("snmpbulkwalk",),
    "watch --inventory, kind lldp": ("lldpcli",),
    "watch --inventory, kind ethtool": ("ethtool",),
    "watch, audit of this machine's InfiniBand": ("ibnetdiscover", "iblinkinfo", "perfquery"),
}
NAMESPACES: Final = "network namespaces"
NEEDS_NAMESPACES: Final = ("lab, Ethernet", "deploy apply")
GPU: Final = "GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """Something that netloom uses.

    Attributes:
        kind: ``python``, ``netloom``, ``core``, ``package``, ``extra``, ``program``, ``right``
            or ``gpu``.
        is_there: Whether it can be used.
        detail: Its version, where it is, or why it cannot be used.
        remedy: What to do where it is not there.
    """

    name: str
    kind: str
    is_there: bool
    detail: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """A command, or a part of one, that needs more than netloom itself.

    Attributes:
        missing: Names of what it lacks.
    """

    command: str
    missing: tuple[str, ...]

    @property
    def can_run(self) -> bool:
        """Whether it lacks nothing."""
        return not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor(Tabular):
    """What is here, and what can run."""

    installed: tuple[Installed, ...]
    abilities: tuple[Ability, ...]

    @property
    def ok(self) -> bool:
        """Whether every command that needs only netloom can run."""
        own = ("python", "netloom", "core", "package")
        return all(one.is_there for one in self.installed if one.kind in own)

    def table(self) -> Table:
        """Return a row for each thing that is used."""
        return Table.from_rows(asdict(one) for one in self.installed)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "ok": self.ok,
            "installed": [asdict(one) for one in self.installed],
            "commands": [
                {"command": one.command, "can_run": one.can_run, "missing": list(one.missing)}
                for one in self.abilities
            ],
        }


def doctor() -> Doctor:
    """Return what is installed here, which commands can run, and what to install.

    >>> import netloom as nl
    >>> nl.doctor().ok
    True
    """
    programs = sorted({name for names in PROGRAMS.values() for name in names})
    installed = (
        Installed(
            name="Python",
            kind="python",
            is_there=sys.version_info >= (3, 11),
            detail=platform.python_version(),
            remedy="" if sys.version_info >= (3, 11) else "use Python 3.11 or later",
        ),
        _package("netloom", kind="netloom", remedy="pip install netloom"),
        _core(),
        *(_package(name, kind="package", remedy=f"pip install {name}") for name in REQUIRED),
        *(
            _package(name, kind="extra", remedy=f"pip install 'netloom[{extra}]'")
            for name, (extra, _) in EXTRAS.items()
        ),
        *(_program(name) for name in programs),
        _namespaces(),
        _gpu(),
    )
    return Doctor(installed=installed, abilities=_abilities(installed))


def _abilities(installed: tuple[Installed, ...]) -> tuple[Ability, ...]:
    absent = {one.name for one in installed if not one.is_there}
    needs: dict[str, tuple[str, ...]] = dict(PROGRAMS)
    for command in NEEDS_NAMESPACES:
        needs[command] = (*needs[command], NAMESPACES)
    needs |= {command: (name,) for name, (_, command) in EXTRAS.items()}
    needs["calibrate gpu"] = (GPU,)
    return tuple(
        Ability(command=command, missing=tuple(name for name in names if name in absent))
        for command, names in needs.items()
    )


def _package(name: str, *, kind: str, remedy: str) -> Installed:
    try:
        return Installed(name=name, kind=kind, is_there=True, detail=version(name))
    except PackageNotFoundError:
        return Installed(name=name, kind=kind, is_there=False, remedy=remedy)


def _core() -> Installed:
    name = "C++ core"
    try:
        importlib.import_module("netloom.engines.native")
    except ImportError as error:
        remedy = "install netloom again; building it needs a C++20 compiler and CMake"
        return Installed(
            name=name, kind="core", is_there=False, detail=str(error)[:200], remedy=remedy
        )
    return Installed(name=name, kind="core", is_there=True, detail="packets and flows")


def _program(name: str) -> Installed:
    try:
        return Installed(name=name, kind="program", is_there=True, detail=find_program(name))
    except LabError:
        remedy = f"apt-get install {PACKAGES.get(name, name)}"
        return Installed(name=name, kind="program", is_there=False, remedy=remedy)


def _namespaces() -> Installed:
    is_root = os.geteuid() == 0
    return Installed(
        name=NAMESPACES,
        kind="right",
        is_there=is_root,
        detail="root" if is_root else "not root",
        remedy="" if is_root else "run as root, or with sudo",
    )


def _gpu() -> Installed:
    if find_spec("torch") is None:
        remedy = "install PyTorch: https://pytorch.org/get-started/locally"
        return Installed(name=GPU, kind="gpu", is_there=False, detail="no PyTorch", remedy=remedy)
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return Installed(
            name=GPU,
            kind="gpu",
            is_there=False,
            detail=f"PyTorch {torch.__version__} sees no GPU",
            remedy="run it on a machine with a GPU, and its driver",
        )
    detail = f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}"
    return Installed(name=GPU, kind="gpu", is_there=True, detail=detail)
