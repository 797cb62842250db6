"""Heal a lab by its name, and undo what healing did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.app.heal import run
from netloom.app.heal.target import target_of
from netloom.app.lab.store import lab_folder
from netloom.spec.files import read_text
from netloom.spec.heal import MAX_POLICY_BYTES, HealPolicy, parse_policy

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["UndoReport", "heal", "policy_from", "undo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """An act that was undone.

    Attributes:
        number: Of the act in the log.
        says: What was done.
    """

    number: int
    says: str

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/heal.md documents."""
        return {"undone": self.number, "says": self.says}


def policy_from(path: Path | None) -> HealPolicy:
    """Return the policy in a YAML file with a section 'heal'; default: nothing runs by itself.

    Raises:
        SpecError: the file cannot be read or is wrong.
    """
    if path is None:
        return HealPolicy()
    text = read_text(path, max_bytes=MAX_POLICY_BYTES, wanted="a YAML file with a policy")
    return parse_policy(text, name=str(path))


def heal(  # noqa: PLR0913  (what to heal, and what it may do)
    scenario: Scenario | run.HealTarget,
    *,
    lab: str,
    folder: Path | None = None,
    policy: HealPolicy | None = None,
    yes: bool = False,
    watch_hosts: tuple[str, ...] = (),
    store: Path | None = None,
    catalog: Catalog | None = None,
) -> run.HealReport:
    """Find what is broken in a lab, plan what to do, and do what policy allows.

    Nothing is done unless the policy allows it or *yes* is set.

    >>> import netloom as nl
    >>> report = heal(nl.load("cluster.yaml"), lab="lab-1")  # doctest: +SKIP
    >>> [step.decision.verdict for step in report.steps]  # doctest: +SKIP

    Args:
        scenario: The scenario that the lab was made from.
        lab: Name of the lab.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        policy: What runs by itself; default: nothing.
        yes: Carry out the plans that ask, too; never those that are refused.
        watch_hosts: Hosts (``nic:3``) whose partitions must stay as they are; default: some.
        store: The store of a watch: its open cases are healed too; what a fresh look does not
            confirm asks.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: there is no such lab, or it was made from another network.
        LabError: it cannot be looked at, or the log cannot be written.
        OutputError: the store cannot be read.
    """
    place = lab_folder(lab, folder)
    target = target_of(scenario, catalog)
    allowed = policy or HealPolicy()
    return run.heal(place, target, allowed, yes=yes, watched=watch_hosts, store=store)


def undo(
    number: int, *, lab: str, folder: Path | None = None, policy: HealPolicy | None = None
) -> UndoReport:
    """Undo one act of an earlier run, such as a drain once the cable is repaired.

    >>> undo(3, lab="lab-1").says  # doctest: +SKIP

    Args:
        number: Of the act in the log.
        lab: Name of the lab.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        policy: Has the commands of the scheduler.

    Raises:
        SpecError: no such act is in force; the message has those that are.
        LabError: it cannot be undone.
    """
    said = run.release(lab_folder(lab, folder), policy or HealPolicy(), number)
    return UndoReport(number=number, says=said)
