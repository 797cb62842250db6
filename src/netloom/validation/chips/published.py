"""Published runs of uet-htsim, MRC, REPS and NDP, set up as their authors did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.validation.chips.row import in_band
from netloom.validation.fct.cases import run_case, shipped_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.validation.chips.row import ChipRow
    from netloom.validation.fct.case import FctCase

__all__ = ["published_rows"]

_SEED: Final = 1
# Case of validate fct, the chip's mechanism, tag, least and most over the published number, and
# where there is one the value that stands for no effect, which is more than was published.
_CASES: Final = (
    ("uec-incast-rccc-15", "receiver's credits, 15 senders to one", "S", 0.97, 1.03, None),
    ("uec-incast-15", "trimming and NSCC, 15 senders to one", "S", 0.95, 1.05, None),
    ("uec-outcast-innocent", "innocent flow beside an outcast, UET", "S", 0.95, 1.05, None),
    ("uec-spray-16-hosts", "sprayed permutation, 16 hosts, UET", "S", 0.95, 1.05, None),
    ("uec-failed-1-16", "sprayed around a link at a quarter, UET", "S", 0.95, 1.05, None),
    ("victim-roce", "victim of a 7:1 incast, RoCEv2", "S2", 0.73, 1.27, 100.0),
    ("victim-mrc", "victim of a 7:1 incast, MRC", "S2", 1.0, 1.06, None),
    ("victim-roce-8-qps", "victim's deepest dip, RoCEv2 with 8 QPs", "S2", 0.0, 1.0, 100.0),
    ("mrc-t0-down", "one of eight planes down, MRC", "S2", 0.8, 1.2, 100.0),
    ("mrc-lossy-path", "20 % loss on one of eight paths, MRC", "S2", 1.0, 1.06, None),
    ("reps-failure", "around a failed link, REPS", "S", 0.0, 1.0, None),
)


def published_rows() -> Iterator[ChipRow]:
    """Yield a row for each."""
    known = {case.case: case for case in shipped_cases()}
    for name, what, tag, least, most, none in _CASES:
        yield _row(known[name], what, tag, (least, most), none)
    yield from _ndp(known)


def _row(
    case: FctCase, what: str, tag: str, shares: tuple[float, float], none: float | None
) -> ChipRow:
    least, most = (share * case.published for share in shares)
    return in_band(
        case.case,
        what,
        case.published,
        (least, most),
        run_case(case, seed=_SEED),
        unit=case.unit,
        tag=tag,
        direction=none,
        sign=-1,
        reason=f"as validate fct: {case.fabric}, {case.scheme}",
        source=case.source,
    )


def _ndp(known: dict[str, FctCase]) -> Iterator[ChipRow]:
    """Yield what NDP's authors say on their project's page and in their abstract."""
    permutation, incast = known["ndp-permutation"], known["ndp-incast-100"]
    yield in_band(
        "ndp-capacity",
        "capacity that large transfers reach in a loaded Clos, NDP",
        95.0,
        (95.0, 100.0),
        run_case(permutation, seed=_SEED),
        unit="%",
        tag="S",
        direction=45.0,  # what DCTCP over hashed paths reaches (recalled)
        reason="permutation on 432 hosts at 10 Gb/s",
        source="ssiclops.eu on NDP, SIGCOMM 2017: more than 95 % of the available capacity",
    )
    yield in_band(
        "ndp-incast",
        "100 senders to one over the ideal, NDP",
        1.0,
        (1.0, 1.05),
        run_case(incast, seed=_SEED) / incast.published,
        unit="x",
        tag="S",
        reason="450 KB each at 10 Gb/s; near-optimal is taken as within 5 %",
        source="Handley et al., SIGCOMM 2017, abstract: near-optimal, including incast",
    )
