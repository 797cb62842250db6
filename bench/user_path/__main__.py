"""Run the rows of whole commands: ``python -m bench.user_path``."""

from __future__ import annotations

import sys

from bench.user_path import commands, growth
from bench.user_path.rails import rails

if __name__ == "__main__":
    if sys.argv[1:] != ["growth"]:
        commands()
        rails()
    growth()
