"""What a server is attached to: the store of a watch, the watch itself, and what it can act on."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from netloom.units import TIME, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from netloom.app.jobs.quick import QuickAnswers
    from netloom.app.live.healing import LiveHealing
    from netloom.app.live.twin import LiveTwin
    from netloom.web.settings import ServeSettings

__all__ = ["healing_of", "stale_after_s", "store_of", "watching"]

STALE_S: Final = 60.0
MISSED: Final = 3  # looks that a watch may miss before it is held to be dead
LEAST_STALE_S: Final = 10.0
END_S: Final = 10.0
PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
WATCH_LOG: Final = "watch.log"


def store_of(settings: ServeSettings) -> Path:
    """Return the store to show: as told, or where a watch of that name keeps it."""
    if settings.store is not None:
        return settings.store
    assert settings.scenario is not None
    from netloom.app.watch import default_store  # noqa: PLC0415  (all of a watch)

    return default_store(settings.lab or settings.scenario.stem)


def stale_after_s(settings: ServeSettings) -> float:
    """Return after how long without a look a watch is dead; of our own we know how often it looks.

    Raises:
        SpecError: ``--every`` is no time.
    """
    if not settings.watch:
        return STALE_S
    return max(LEAST_STALE_S, MISSED * parse_quantity(settings.every, TIME, where="--every"))


def healing_of(
    settings: ServeSettings,
    twin: LiveTwin,
    quick: QuickAnswers,
    tell: Callable[[str, dict[str, Any]], None],
) -> LiveHealing | None:
    """Return what acts on the lab or the devices, at work; None where there are none.

    Raises:
        SpecError: there is no such lab, or the inventory or the policy is wrong.
    """
    if not settings.acts:
        return None
    # Most servers show and do not act: they start without what heals.
    from netloom.app.jobs.heal_kinds import HealPlaceOptions  # noqa: PLC0415
    from netloom.app.jobs.heal_runs import heal_rules, heal_site  # noqa: PLC0415
    from netloom.app.live.healing import LiveHealing  # noqa: PLC0415

    place = HealPlaceOptions(
        scenario=_whole(settings.scenario),
        lab=settings.lab,
        inventory=_whole(settings.inventory),
        folder=_whole(settings.labs),
        names=_whole(settings.names),
        ports=_whole(settings.ports),
        policy=_whole(settings.policy),
        store=_whole(twin.store),
    )
    heal_rules(place)
    site = heal_site(place)
    site.check()
    found = LiveHealing(place=place, site=site, twin=twin, quick=quick, tell=tell)
    found.start()
    return found


@contextmanager
def watching(settings: ServeSettings, folder: Path) -> Iterator[None]:
    """Run the watch beside the server, where that was asked; its log is in *folder*."""
    if not settings.watch:
        yield
        return
    with (
        (folder / WATCH_LOG).open("ab") as log,
        subprocess.Popen(  # noqa: S603  (ourselves)
            _watch_command(settings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_parent,  # noqa: PLW1509  (one call of the C library)
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _end_with_parent() -> None:
    """Let the kernel end this process when the server is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _watch_command(settings: ServeSettings) -> list[str]:
    named = {
        "--lab": settings.lab,
        "--dir": _whole(settings.labs) if settings.lab else "",
        "--inventory": _whole(settings.inventory),
        "--names": _whole(settings.names),
        "--ports": _whole(settings.ports),
        "--store": _whole(store_of(settings)),
        "--every": settings.every,
        "--alertmanager": settings.alertmanager,
    }
    given = [word for name, value in named.items() if value for word in (name, value)]
    return [sys.executable, "-m", "netloom.cli.main", "watch", _whole(settings.scenario), *given]


def _whole(path: Path | None) -> str:
    return "" if path is None else str(path.absolute())
