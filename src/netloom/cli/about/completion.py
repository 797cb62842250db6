"""``netloom --install-completion``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from netloom.cli.main import build_app
from netloom.errors import OutputError

__all__ = ["install_completion"]


def install_completion(
    *, shell: Literal["bash", "zsh", "fish"] | None = None, out: Path | None = None
) -> None:
    """Let the shell complete netloom's commands, options and choices.

    Args:
        shell: For which; default: the shell that runs.
        out: Where to write it, and start-up files stay as they are; default: the shell's place.
    """
    try:
        path = build_app().install_completion(shell=shell, output=out, add_to_startup=out is None)
    except (OSError, RuntimeError, ValueError) as error:
        raise OutputError(
            option="--install-completion",
            what=str(error),
            remedy="name the shell with --shell bash, zsh or fish",
        ) from error
    print(f"{path}: written; start a new shell")
