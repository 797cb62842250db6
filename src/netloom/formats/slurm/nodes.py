"""Slurm: the state of nodes, as ``scontrol --oneliner show node`` prints it (Slurm 22.05)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from netloom.errors import LabError
from netloom.ops.observe.devices import printable

__all__ = ["SlurmNode", "check_name", "parse_nodes"]

MAX_NODES: Final = 200_000
_NAME: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_ROW: Final = re.compile(r"NodeName=(?P<name>\S{1,64})\s", re.ASCII)
_STATE: Final = re.compile(r"\sState=(?P<state>[A-Z_+*~#!%$@^-]{1,200})(?:\s|$)", re.ASCII)
_REASON: Final = re.compile(r"\sReason=(?P<reason>.{0,200})$", re.ASCII)


class SlurmNode(NamedTuple):
    """A node of the cluster: whether jobs may start on it, and why not."""

    name: str
    is_cordoned: bool
    state: str
    reason: str = ""


def check_name(name: str) -> str:
    """Return the name of a node.

    Raises:
        LabError: Slurm has no node called so; ranges and wildcards are not one node.
    """
    if not _NAME.fullmatch(name) or name.upper() == "ALL":
        raise LabError(
            what=f"{printable(name)!r} is not the name of one node",
            remedy="name it in the inventory, such as ports: {gpu003: 'node:3'}",
        )
    return name


def parse_nodes(text: str) -> tuple[SlurmNode, ...]:
    """Return the nodes that were printed, one a line; lines that are none are passed over."""
    found = []
    for line in text.splitlines()[:MAX_NODES]:
        name, state = _ROW.match(line), _STATE.search(line)
        if name is None or state is None:
            continue
        flags = re.split(r"[+*~#!%$@^-]", state["state"])
        reason = _REASON.search(line)
        found.append(
            SlurmNode(
                name=name["name"],
                is_cordoned="DRAIN" in flags,
                state=state["state"],
                reason=printable(reason["reason"]) if reason else "",
            )
        )
    return tuple(found)
