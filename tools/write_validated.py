"""Write the tables of what was validated, from which predictions take their range.

python tools/write_validated.py [TABLE]

Steps stand on the errors of collectives, and intervals on the errors of steps: without a name each
table is written by a process of its own, in this order.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.parts.load import load_catalog
from netloom.validation.summary import collectives_table, intervals_table, steps_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path(__file__).parents[1] / "src/netloom/validated/data"
TABLES: Final[dict[str, Callable[[], str]]] = {
    "collectives": lambda: collectives_table(load_catalog()),
    "steps": lambda: steps_table(load_catalog()),
    "intervals": intervals_table,
}


def main(names: Sequence[str]) -> None:
    """Write the tables *names*; all of them without."""
    for name in names:
        (FOLDER / f"{name}.csv").write_text(TABLES[name]())
    for name in TABLES if not names else ():
        subprocess.run([sys.executable, __file__, name], check=True)  # noqa: S603


if __name__ == "__main__":
    main(sys.argv[1:])
