"""Simulate the day of the tour and write it where the package keeps it (about a minute)."""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

from netloom.app.live.tour_day import simulated_day

FILE: Final = Path(__file__).parents[2] / "src/netloom/app/live/data/tour.json.gz"


def main() -> None:
    """Write the file; the same tree writes the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        day = simulated_day(
            Path(folder), on_progress=lambda done, total: sys.stderr.write(f"\r{done}/{total}")
        )
    text = json.dumps(asdict(day), separators=(",", ":"))
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
