"""Run the code cells of docs/tour.ipynb one after another and keep what they print.

A notebook server is not needed: cells share one namespace and show what they print. With
``--check`` nothing is written; the exit code says whether the outputs are up to date.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any, Final

NOTEBOOK: Final = Path(__file__).parents[1] / "docs" / "tour.ipynb"


def run(book: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with every code cell's output replaced by the real one."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec("".join(cell["source"]), names)  # noqa: S102  (the notebook's own cells)
            cells.append(cell | {"outputs": _outputs(printed.getvalue())})
        else:
            cells.append(cell)
    return book | {"cells": cells}


def _outputs(text: str) -> list[dict[str, Any]]:
    lines = text.splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []


def main() -> int:
    """Rewrite the notebook, or check it."""
    before = NOTEBOOK.read_text(encoding="utf-8")
    after = json.dumps(run(json.loads(before)), indent=1, ensure_ascii=False) + "\n"
    if "--check" not in sys.argv:
        NOTEBOOK.write_text(after, encoding="utf-8")
    return int("--check" in sys.argv and before != after)


if __name__ == "__main__":
    sys.exit(main())
