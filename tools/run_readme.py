"""Run the commands of README.md and of the site's first pages, and put their output under them.

A block that opens with ```console holds commands behind ``$``; what follows each is its output.
With ``--check`` nothing is written; the exit code says whether the pages are up to date. Pages may
be named; all of them are taken otherwise.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = ROOT / "docs" / "assets" / "examples"  # files that commands of the pages read
RUN_PAGES: Final = (
    "README.md",
    "docs/start.md",
    "docs/questions/architect.md",
    "docs/questions/network-engineer.md",
    "docs/questions/operator.md",
    "docs/questions/ml-engineer.md",
    "docs/questions/researcher.md",
    "docs/runs/expect.md",
    "docs/concepts/validity.md",
    "docs/concepts/numbers.md",
)
BLOCK: Final = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


def run(command: str, folder: str) -> str:
    """Return what *command* prints, on either stream, as a 100-column terminal shows it."""
    environment = os.environ | {
        "COLUMNS": "100",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(  # noqa: S602  (the pages' own commands)
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


@functools.cache
def run_anywhere(command: str) -> str:
    """Return what a command prints that reads no file: once, however many pages show it."""
    return run(command, tempfile.gettempdir())


def rerun(block: str, folder: str) -> str:
    """Return a block with every output replaced by the real one."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {line}\n{_printed(line, folder)}" for line in commands)


def _printed(command: str, folder: str) -> str:
    reads_no_file = command.startswith("netloom validate ")
    return run_anywhere(command) if reads_no_file else run(command, folder)


def updated(text: str) -> str:
    """Return a page with every output replaced by the real one, run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
        return BLOCK.sub(lambda match: rerun(match[0], folder), text)


def is_current(page: str, *, write: bool) -> bool:
    """Return whether *page* shows what its commands print; bring it up to date if asked."""
    path = ROOT / page
    before = path.read_text(encoding="utf-8")
    after = updated(before)
    if write:
        path.write_text(after, encoding="utf-8")
    else:
        lines = before.splitlines(), after.splitlines()
        print("\n".join(difflib.unified_diff(*lines, page, "now", lineterm="")))
    return before == after


def main() -> int:
    """Rewrite the pages, or check them."""
    check = "--check" in sys.argv
    named = [argument for argument in sys.argv[1:] if argument != "--check"]
    current = [is_current(page, write=not check) for page in named or RUN_PAGES]
    return int(check and not all(current))


if __name__ == "__main__":
    sys.exit(main())
