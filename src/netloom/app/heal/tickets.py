"""What healing leaves to people and to the scheduler: tickets, cordons, restarts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import run, wait_for
from netloom.errors import LabError
from netloom.ops.heal.act import Check

if TYPE_CHECKING:
    from netloom.ops.heal.plan import Act, HealPlan
    from netloom.spec.heal import HealPolicy

__all__ = ["TicketQueue"]

COMMAND_S: Final = 120.0  # for a program that policy names
PROGRESS_S: Final = 60.0  # for a job to do a step after its restart; assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketQueue:
    """Where tickets are written, and the programs that policy names.

    Attributes:
        folder: For tickets, one file each.
        policy: Has the commands for cordons and restarts.
        plan: What tickets are about; none where only acts are undone.
    """

    folder: Path
    policy: HealPolicy
    plan: HealPlan | None = field(default=None, repr=False)

    def apply(self, act: Act, token: str = "") -> tuple[str, str]:
        """Open a ticket, or let the scheduler act; as :meth:`Actuator.apply`.

        Raises:
            LabError: policy names no program for it, it failed, or the ticket cannot be written.
        """
        del token
        if act.verb == "ticket":
            path = self._ticket(act)
            return f"opened {path}", str(path)
        self._call("cordon" if act.verb == "cordon" else "restart-job", act)
        return f"{act.name}: done by the command that policy names", ""

    def undo(self, act: Act, token: str) -> str:
        """Undo it; a restart cannot be undone, and a ticket stays, with a note.

        Raises:
            LabError: policy names no program for it, or it failed.
        """
        if act.verb == "cordon":
            self._call("uncordon", act)
            return f"{act.part} may have jobs again"
        if act.verb == "ticket" and token:
            _append(self.folder / Path(token).name, "It did not help and was undone.\n")
            return f"noted in {token}"
        return f"{act.name}: nothing to undo"

    def verify(self, plan: HealPlan) -> Check:
        """Return whether the job made progress after a restart, by the program policy names.

        Where it names none, or no job was restarted, the plan is left to people.
        """
        restarts = [act for act in plan.acts if act.verb == "restart-job"]
        if not restarts or "check-job" not in self.policy.commands:
            return Check(helped=True, says=("handed to people",))

        def runs() -> bool | None:
            try:
                self._call("check-job", restarts[0])
            except LabError:
                return None
            return True

        if wait_for(runs, timeout_s=PROGRESS_S, step_s=0.2):
            return Check(helped=True, says=("the job made progress since its restart",))
        return Check(helped=False, says=(f"the job made no progress in {PROGRESS_S:g} s",))

    def _call(self, what: str, act: Act) -> None:
        argv = next((v for k, v in self.policy.commands.items() if k == what), None)
        if argv is None:
            raise LabError(
                what=f"policy names no command to {what}", remedy=f"write heal.commands.{what}"
            )
        node = str(act.part.index)
        run([part.replace("{node}", node) for part in argv], timeout_s=COMMAND_S)

    def _ticket(self, act: Act) -> Path:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = 1 + max((int(p.stem) for p in self.folder.glob("[0-9]*.md")), default=0)
            path = self.folder / f"{number:06}.md"
            _append(path, self._text(act))
        except (OSError, ValueError) as error:
            raise LabError(
                file=str(self.folder),
                what=f"no ticket can be written ({error})",
                remedy="free some space",
            ) from error
        return path

    def _text(self, act: Act) -> str:
        assert self.plan is not None, act
        finding, effect = self.plan.finding, self.plan.effect
        others = [one.name for one in self.plan.acts if one.verb != "ticket"]
        lines = [
            f"# {finding.part}: {finding.kind}",
            "",
            f"Confidence {finding.confidence:.0%}. Part to repair: {act.part}.",
            "",
            *(f"- {line}" for line in finding.evidence),
            "",
            f"Done meanwhile: {', '.join(others) or 'nothing'}.",
            f"Capacity between switches away: {effect.away_after.share:.2%}.",
            "",
        ]
        return "\n".join(lines)


def _append(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
