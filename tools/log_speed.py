"""How many lines a CPU-second the readers of logs take, on logs repeated to tens of megabytes.

.venv/bin/python tools/log_speed.py
"""

from __future__ import annotations

import time
from pathlib import Path

from netloom.formats.register import formats_of

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "recorded"
FOLDERS = {"nccl-tests": "nccl_tests", "nccl-setup": "nccl_log"}
CHARS = 20_000_000


def main() -> None:
    for one in formats_of("measurement"):
        folder = RECORDED / FOLDERS.get(one.name, one.name)
        texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/input.txt"))]
        show(one.name, "".join(texts), one.parse)
    # A job's log: a table among what NCCL says.
    said = "".join(
        path.read_text(encoding="utf-8") for path in (RECORDED / "nccl_log").glob("*/input.txt")
    )
    table = (RECORDED / "nccl_tests" / "two_nodes_of_h100" / "input.txt").read_text("utf-8")
    (reader,) = (one for one in formats_of("measurement") if one.name == "nccl-tests")
    show("nccl-tests in NCCL's log", table + said * 40, reader.parse)


def show(name: str, unit: str, parse: object) -> None:
    assert callable(parse)
    text = unit * (CHARS // len(unit) + 1)
    start_s = time.process_time()
    parse(text)
    took_s = time.process_time() - start_s
    lines = text.count("\n")
    print(f"{name}: {lines / took_s:,.0f} lines a CPU-second ({len(text) / 1e6:.0f} MB)")


if __name__ == "__main__":
    main()
