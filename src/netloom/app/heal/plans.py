"""Plans by name on disk: what a person saw, so that this and nothing else is carried out."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import OutputError, SpecError
from netloom.ops.heal.log import finite
from netloom.ops.heal.plan import NAME_DIGITS
from netloom.ops.observe.devices import printable
from netloom.results.write import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.ops.heal.plan import HealPlan

__all__ = ["PlanFolder", "SavedPlan"]

FOLDER: Final = "plans"
MAX_BYTES: Final = 1 << 24
MORE_SLOWDOWN: Final = 0.01  # of a step: what a fresh look may find it to cost more, assumed
_NAME: Final = re.compile(rf"[0-9a-f]{{{NAME_DIGITS}}}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """A plan as it was shown.

    Attributes:
        name: Its fingerprint.
        at_s: When it was last shown.
        part: What its finding is about.
        kind: Of the finding.
        acts: In words.
        slowdown: That was predicted; None where it never ends, or did not before.
        told: All of it, as in ``netloom heal --json``.
    """

    name: str
    at_s: float
    part: str
    kind: str
    acts: tuple[str, ...]
    slowdown: float | None
    told: dict[str, Any]

    def differs_from(self, fresh: HealPlan) -> str:
        """Return why a plan of the same name is not what was shown; empty where it is."""
        cost = fresh.effect.slowdown
        shown = self.slowdown
        if shown is None or not math.isfinite(cost):
            return "" if shown is None and not math.isfinite(cost) else "its predicted cost differs"
        if cost > shown + MORE_SLOWDOWN:
            return f"it would cost {cost:+.1%} of a step now, and {shown:+.1%} when it was shown"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFolder:
    """The plans of one site."""

    path: Path

    def save(self, plan: HealPlan, at_s: float) -> None:
        """Keep a plan as it is shown.

        Raises:
            OutputError: it cannot be written.
        """
        told = plan.to_json()
        told["effect"] = finite(told["effect"])
        slowdown = plan.effect.slowdown
        text = json.dumps(
            {
                "version": 1,
                "at_s": at_s,
                "slowdown": slowdown if math.isfinite(slowdown) else None,
                **told,
            },
            allow_nan=False,
        )
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                file=str(self.path),
                what=f"cannot be made a folder ({error.strerror})",
                remedy="check its owner",
            ) from error
        write_atomically(self.path / f"{plan.fingerprint}.json", text + "\n")

    def read(self, name: str) -> SavedPlan:
        """Return the plan called *name*.

        Raises:
            SpecError: there is none, or its file is damaged.
        """
        path = self.path / f"{name}.json"
        if not _NAME.fullmatch(name):
            raise self._unknown(name)
        try:
            with path.open("rb") as file:
                told = json.loads(file.read(MAX_BYTES))
            return _saved(name, told)
        except FileNotFoundError:
            raise self._unknown(name) from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise SpecError(
                file=str(path), what=f"is no plan ({error})", remedy="plan again"
            ) from error

    def _unknown(self, name: str) -> SpecError:
        known = ", ".join(self.names()[:8]) or "none"
        return SpecError(
            option="--yes",
            what=f"no plan called {printable(name, 40)!r} was shown",
            remedy=f"plan first, then approve a plan by its name; there are: {known}",
        )

    def names(self) -> tuple[str, ...]:
        """Return the names of all that are kept, the last shown first."""
        files = [p for p in self.path.glob("*.json") if _NAME.fullmatch(p.stem)]
        return tuple(p.stem for p in sorted(files, key=lambda p: -p.stat().st_mtime))


def _saved(name: str, told: dict[str, Any]) -> SavedPlan:
    slowdown = told["slowdown"]
    return SavedPlan(
        name=name,
        at_s=float(told["at_s"]),
        part=str(told["finding"]["part"]),
        kind=str(told["finding"]["kind"]),
        acts=tuple(f"{act['verb']} {act['part']}" for act in told["acts"]),
        slowdown=None if slowdown is None else float(slowdown),
        told=told,
    )
