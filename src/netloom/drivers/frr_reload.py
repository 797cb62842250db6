"""frr-reload.py of FRR: what a configuration would change on running daemons, and the change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import run
from netloom.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["difference", "parse_difference", "reload", "running_configuration"]

TIMEOUT_S: Final = 120.0
# vtysh prints the machine's name instead of the one configured, and bfdd leaves out what equals
# its defaults: both differ for ever and mean nothing.
_NOISE: Final = re.compile(
    r"(no )?hostname .*"
    r"|bfd / profile \S+ / (transmit-interval 300|receive-interval 300|detect-multiplier 3)",
    re.ASCII,
)
_DELETE: Final = "Lines To Delete"
_ADD: Final = "Lines To Add"
_RULE: Final = re.compile(r"=+|\d{4}-\d\d-\d\d .*", re.ASCII)  # under headings; its log


def running_configuration(pathspace: str) -> str:
    """Return the configuration that the daemons of a switch run.

    Raises:
        LabError: they do not answer, or have none.
    """
    said = run(["vtysh", "-N", pathspace, "-c", "show running-config"])
    _, found, text = said.partition("Current configuration:\n")
    if not found:
        message = f"{pathspace}: vtysh shows no running configuration ({said[:80]!r})"
        raise LabError(message)
    return text


def difference(pathspace: str, wanted: Path) -> tuple[str, ...]:
    """Return what would change: ``- line`` and ``+ line``, each with the lines that enclose it.

    Raises:
        LabError: frr-reload.py is missing or fails, or the daemons do not answer.
    """
    return parse_difference(run(_argv(pathspace, "--test", wanted), timeout_s=TIMEOUT_S))


def reload(pathspace: str, wanted: Path) -> None:
    """Make the daemons run a configuration, and nothing else.

    Raises:
        LabError: a line was refused, or the daemons do not answer.
    """
    run(_argv(pathspace, "--reload", wanted), timeout_s=TIMEOUT_S)


def _argv(pathspace: str, act: str, wanted: Path) -> list[str]:
    return ["frr-reload.py", act, "--stdout", "-N", pathspace, str(wanted)]


def parse_difference(text: str) -> tuple[str, ...]:
    """Return what ``frr-reload.py --test`` printed, without what always differs."""
    sign, found, stack = "", [], list[str]()
    for line in text.splitlines():
        stripped = line.strip()
        if stripped in {_DELETE, _ADD}:
            sign, stack = ("-" if stripped == _DELETE else "+"), []
        elif sign and stripped and not _RULE.fullmatch(stripped):
            depth = len(line) - len(line.lstrip(" "))
            if depth == 0:
                found += _joined(sign, stack)
                stack = []
            stack.append(stripped)
        elif sign and not stripped:
            found += _joined(sign, stack)
            stack = []
    found += _joined(sign, stack)
    return tuple(found)


def _joined(sign: str, stack: list[str]) -> list[str]:
    said = " / ".join(stack)
    return [f"{sign} {said}"] if said and not _NOISE.fullmatch(said) else []
