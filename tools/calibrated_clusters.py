"""Print how well clusters that are calibrated on one node count are predicted on their others."""

from __future__ import annotations

import sys

from netloom.parts.load import load_catalog
from netloom.validation.collectives.calibrated import other_counts
from netloom.validation.collectives.tables import shipped_table


def main() -> int:
    """Print a line for each cluster and node count."""
    print("median error of the bus bandwidth at 1 MiB and more, in percent")
    print(
        f"{'cluster':<26}{'on':>5}  {'judged on':<16}{'rows':>5}{'before':>8}{'after':>7}  by kind"
    )
    for one in other_counts(shipped_table().rows, load_catalog()):
        others = ", ".join(map(str, one.others))
        kinds = ", ".join(f"{kind} {pct:.1f}" for kind, (pct, _) in one.by_collective.items())
        print(
            f"{one.cluster:<26}{one.num_nodes:>5}  {others:<16}{one.num_rows:>5}"
            f"{one.before_pct:>8.1f}{one.after_pct:>7.1f}  {kinds}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
