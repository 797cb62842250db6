"""Run the commands of README.md and put their real output under them.

A block that opens with ```console holds commands behind ``$``; what follows each is its output.
With ``--check`` nothing is written; the exit code says whether the file is up to date.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


def run(command: str, folder: str) -> str:
    """Return what *command* prints, on either stream, as a 100-column terminal shows it."""
    environment = os.environ | {
        "COLUMNS": "100",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(  # noqa: S602  (the README's own commands)
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


def rerun(block: str, folder: str) -> str:
    """Return a block with every output replaced by the real one."""
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{run(line[2:], folder)}" for line in commands)


def main() -> int:
    """Rewrite the README, or check it."""
    before = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        after = BLOCK.sub(lambda match: rerun(match[0], folder), before)
    if "--check" in sys.argv:
        lines = before.splitlines(), after.splitlines()
        print("\n".join(difflib.unified_diff(*lines, "README.md", "now", lineterm="")))
        return int(before != after)
    README.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
