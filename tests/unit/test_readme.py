from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_output_in_the_readme_is_what_its_command_prints() -> None:
    """``python tools/run_readme.py`` brings it up to date."""
    check = [sys.executable, "tools/run_readme.py", "--check"]
    assert subprocess.run(check, cwd=ROOT, check=False).returncode == 0  # noqa: S603
