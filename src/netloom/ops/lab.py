"""What a lab consists of, and the record of it that outlives the process that made it.

A lab is known by its name and its folder. From the two follows its *mark*, which every process
of it carries in its environment and every namespace of it in its name, so that what belongs to
the lab is found again whatever happened to its record.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from netloom.errors import SpecError

__all__ = [
    "FAULT_KINDS",
    "MARK",
    "FaultKind",
    "InjectedFault",
    "Lab",
    "Program",
    "check_name",
    "default_name",
    "lab_from_json",
    "lab_to_json",
    "mark_of",
    "namespace_of",
]

MARK: Final = "NETLOOM_LAB"  # the environment variable that every process of a lab has
VERSION: Final = 1  # of the record

FaultKind = Literal[
    "unlink",
    "relink",
    "flap",
    "error-rate",
    "symbol-errors",
    "silent-drop",
    "slow-link",
    "dead-switch",
    "dead-sm",
    "miswire",
]
FAULT_KINDS: Final[tuple[FaultKind, ...]] = (
    "unlink",
    "relink",
    "flap",
    "error-rate",
    "symbol-errors",
    "silent-drop",
    "slow-link",
    "dead-switch",
    "dead-sm",
    "miswire",
)
LabKind = Literal["infiniband", "roce"]

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A process of a lab.

    Attributes:
        name: What it is: ``ibsim-0``, ``bgpd leaf:3``.
        pid: Its process id; 0 while it is about to be started.
        started: Its start time in clock ticks since boot, which tells it from a later process
            of the same id; 0 while it is about to be started.
    """

    name: str
    pid: int = 0
    started: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedFault:
    """A fault that was injected and is still there.

    Attributes:
        number: Counted from 1 over the life of the lab.
        kind: Which of :data:`FAULT_KINDS`.
        parts: What it hit, as the user wrote it.
        settings: How hard: ``share``, ``count``, ``factor``, ``larger_than_bytes``.
        did: What was done, in words.
        undo: How to undo it, in words.
    """

    number: int
    kind: FaultKind
    parts: tuple[str, ...]
    settings: dict[str, float] = field(default_factory=dict)
    did: str = ""
    undo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """The record of a lab, written before each thing it speaks of is made.

    Attributes:
        name: Chosen by the user.
        mark: From name and folder; see :func:`mark_of`.
        kind: ``infiniband`` or ``roce``.
        scenario: The file it was made from.
        phase: ``starting`` until all of it runs.
        engine: The routing engine asked for; empty for RoCE.
        num_managers: Subnet managers of each subnet: one is master, the others stand by.
        programs: Its processes.
        faults: Those in force, oldest first.
        num_faults: Ever injected.
        counters: What error counters were set to, by ``device[port].counter``.
    """

    name: str
    mark: str
    kind: LabKind
    scenario: str
    phase: Literal["starting", "up"] = "starting"
    engine: str = ""
    num_managers: int = 1
    programs: tuple[Program, ...] = ()
    faults: tuple[InjectedFault, ...] = ()
    num_faults: int = 0
    counters: dict[str, int] = field(default_factory=dict)

    def with_program(self, program: Program) -> Lab:
        """Return the record with *program* in it, in place of an earlier one of its name."""
        others = tuple(one for one in self.programs if one.name != program.name)
        return replace(self, programs=(*others, program))

    def with_fault(self, fault: InjectedFault) -> Lab:
        """Return the record with one fault more."""
        return replace(self, faults=(*self.faults, fault), num_faults=fault.number)

    def without_faults(self, numbers: set[int]) -> Lab:
        """Return the record without the faults of these numbers."""
        return replace(self, faults=tuple(f for f in self.faults if f.number not in numbers))

    def program(self, name: str) -> Program | None:
        """Return the process of that name, where there is one."""
        return next((one for one in self.programs if one.name == name), None)


def check_name(name: str) -> str:
    """Return *name*.

    Raises:
        SpecError: it will not do as part of a path and of a namespace's name.
    """
    if not _NAME.fullmatch(name):
        raise SpecError(
            option="--name",
            what=f"{name[:40]!r} will not do",
            remedy="write at most 24 of a to z, 0 to 9 and '-', such as 'lab-1'",
        )
    return name


def default_name(stem: str) -> str:
    """Return the name of a lab made from a file called *stem*."""
    plain = re.sub(r"[^a-z0-9]+", "-", stem.lower())[:24].strip("-")
    return plain or "lab"


def mark_of(name: str, folder: str) -> str:
    """Return what tells the processes and namespaces of a lab from all others.

    Args:
        name: Of the lab.
        folder: Where its record lies, as an absolute path.
    """
    return f"{name}_{blake2b(folder.encode(errors='surrogateescape'), digest_size=4).hexdigest()}"


def namespace_of(mark: str, device: str) -> str:
    """Return the network namespace of a device: ``nl_lab-1_5f0c21aa_leaf-3``.

    A name of a lab has no '_', and FRR wants no '.'.
    """
    return f"nl_{mark}_{device.replace(':', '-')}"


def lab_to_json(lab: Lab) -> dict[str, Any]:
    """Return the record as plain values."""
    return {"version": VERSION, **asdict(lab)}


def lab_from_json(value: object) -> Lab:
    """Return the record that :func:`lab_to_json` gave.

    Raises:
        SpecError: it did not, or another version of netloom did.
    """
    if not isinstance(value, dict) or value.get("version") != VERSION:
        raise SpecError(
            what="another version of netloom wrote its record, or none", remedy="bring it up again"
        )
    given = {key: item for key, item in value.items() if key != "version"}
    try:
        return TypeAdapter(Lab).validate_python(given)
    except ValidationError as error:
        raise SpecError(
            what="the record of the lab is damaged", remedy="bring it up again"
        ) from error
