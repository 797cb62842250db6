"""Print how often `netloom expect --against` names the cause that a log's own source states.

python tools/score_causes.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.parts.load import load_catalog
from netloom.validation.collectives.causes import (
    OTHER,
    blamed,
    listed_right,
    named_right,
    untuned_logs,
    wrong_logs,
)

if TYPE_CHECKING:
    from netloom.validation.collectives.causes import DiagnosedLog


def _line(one: DiagnosedLog) -> str:
    where = f"{one.cluster}, {one.collective}, {one.num_nodes} nodes, {one.num_rows} sizes"
    sure = "" if one.probability is None else f" {one.probability:.0%} ({one.how})"
    mark = "right" if one.is_right else "-"
    return (
        f"{mark:5}  {where}: {one.truth}; {one.named or one.verdict}{sure}; {', '.join(one.listed)}"
    )


def _print(title: str, logs: tuple[DiagnosedLog, ...]) -> None:
    known = [one for one in logs if one.truth not in {"", OTHER}]
    print(f"\n{title}: {named_right(logs)} of {len(known)} with a known cause named right,")
    wrong = sum(bool(one.named) and not one.is_right for one in logs)
    print(f"  {listed_right(logs)} listed, {wrong} given another, {len(logs)} in all")
    print("\n".join(map(_line, logs)))


def main() -> None:
    """Print all sources, and the false alarms."""
    catalog = load_catalog()
    _print("untuned", untuned_logs(catalog))
    _print("untuned, sizes of 1 MiB and more alone", untuned_logs(catalog, min_bytes=2.0**20))
    _print("posted and suspect", wrong_logs(catalog))
    for left_out in (False, True):
        logs = blamed(catalog, left_out=left_out)
        said = ", intervals without the machine itself" if left_out else ""
        for inside in (True, False):
            some = [one for one in logs if one.inside is inside]
            hit = [one for one in some if one.verdict != "as expected"]
            where = "inside" if inside else "outside"
            print(f"\nstatus ok, mostly {where}{said}: {len(hit)} of {len(some)} blamed")
            print("\n".join(map(_line, hit)))


if __name__ == "__main__":
    main()
