"""Write the tables of what was validated, from which predictions take their range.

python tools/write_validated.py
"""

from __future__ import annotations

from pathlib import Path

from netloom.parts.load import load_catalog
from netloom.validation.summary import collectives_table, steps_table

FOLDER = Path(__file__).parents[1] / "src/netloom/validated/data"


def main() -> None:
    """Write both tables."""
    catalog = load_catalog()
    (FOLDER / "collectives.csv").write_text(collectives_table(catalog))
    (FOLDER / "steps.csv").write_text(steps_table(catalog))


if __name__ == "__main__":
    main()
