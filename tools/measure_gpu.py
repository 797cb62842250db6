"""Run ``netloom calibrate gpu`` on a machine that has PyTorch and this checkout, but not netloom.

Nothing but the standard library and PyTorch is imported:
``python3 tools/measure_gpu.py --out gpu-calibration.csv --minutes 6``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))


def main() -> int:
    from netloom.app.calibrate import gpu  # noqa: PLC0415  (found through the path above)
    from netloom.errors import NetloomError  # noqa: PLC0415

    parser = argparse.ArgumentParser(description="Measure how long operators take on this GPU.")
    parser.add_argument("--out", type=Path, default=Path("gpu-calibration.csv"))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    try:
        gpu(asked.out, quick=asked.quick, minutes=asked.minutes)
    except NetloomError as error:
        print(f"measure_gpu: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
