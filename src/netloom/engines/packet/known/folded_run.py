"""Transfers, packet by packet, with one of equal components moved for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.packet.engine import run_packets
from netloom.engines.packet.known.known_run import run_with_known
from netloom.engines.packet.lower import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet.engine import Progress
    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.known.symmetry import Folded
    from netloom.engines.packet.settings import PacketSettings
    from netloom.engines.packet.states import StateStore
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["run_folded"]


def run_folded(  # noqa: PLR0913  (as run_packets, and what was folded)
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    folded: Folded,
    *,
    seed: int = 0,
    until_ps: int | None = None,
    faults: Sequence[PacketFault] = (),
    watch: Recording | None = None,
    on_progress: Callable[[Progress], bool] | None = None,
    skips: bool = False,
    states: StateStore | None = None,
    num_workers: int = 1,
) -> Delivery:
    """Return what becomes of *transfers*; as :func:`~netloom.engines.packet.engine.run_packets`.

    Where the run draws a random number, such as for a mark, equal components would each draw their
    own and be equal no more: then all of them are run.

    Args:
        wiring: The network.
        transfers: What to move, and after what.
        settings: How everything behaves.
        folded: Those of *transfers* that stand for all, with the same faults.
        seed: As there.
        until_ps: As there.
        faults: As there.
        watch: As there.
        on_progress: As there.
        skips: Whether messages that meet no other take their time alone; nothing is watched then.
        states: As there.
        num_workers: As there.
    """

    def run(some: Transfers, seen: Recording) -> Delivery:
        if skips:
            return run_with_known(
                wiring,
                some,
                settings,
                seed=seed,
                until_ps=until_ps,
                faults=faults,
                on_progress=on_progress,
                states=states,
                num_workers=num_workers,
            )
        return run_packets(
            wiring,
            some,
            settings,
            seed=seed,
            until_ps=until_ps,
            faults=faults,
            watch=seen,
            on_progress=on_progress,
            states=states,
            num_workers=num_workers,
        )

    asked = watch or Recording()
    if folded.reason:
        note = f"every component was simulated: {folded.reason}"
        found = run(transfers, asked)
        return replace(found, notes=(note, *found.notes))
    links = tuple(np.unique(folded.link[list(asked.links)]).tolist()) if asked.links else ()
    found = run(folded.transfers, replace(asked, links=links))
    if found.num_draws:
        note = (
            "every component was simulated: random numbers were drawn, which equal ones differ by"
        )
        found = run(transfers, asked)
        return replace(found, notes=(note, *found.notes))
    return _unfolded(found, transfers, folded)


def _unfolded(found: Delivery, transfers: Transfers, folded: Folded) -> Delivery:
    """Return what was found for all that it stands for."""
    whole = folded.stands_in
    tables = dict(found.tables)
    if "arrivals" in tables:
        tables["arrivals"] = {name: cells[whole] for name, cells in tables["arrivals"].items()}
    share = int(folded.transfers.size_bytes.sum()) / max(int(transfers.size_bytes.sum()), 1)
    note = (
        f"{folded.num_kept:,} of {folded.num_components:,} components were simulated, {share:.1%} "
        "of the payload; the others are equal to them. Counters, pauses, samples and traces are of "
        "what was simulated"
    )
    return replace(
        found,
        start_ps=found.start_ps[whole],
        finish_ps=found.finish_ps[whole],
        link_bytes=found.link_bytes[folded.link],
        tables=tables,
        simulated_share=share * found.simulated_share,
        notes=(note, *found.notes),
    )
