"""frr-reload.py of FRR: what a configuration would change on running daemons, and the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import run
from netloom.errors import LabError
from netloom.formats.frr.reload import parse_difference

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "difference",
    "reload",
    "running_configuration",
]

TIMEOUT_S: Final = 120.0


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
