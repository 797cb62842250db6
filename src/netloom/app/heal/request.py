"""Heal a lab or the devices of an inventory: plan, approve, apply, verify, undo.

Each is a plain function, so that the command line and other programs do the same.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.app.heal import run
from netloom.app.heal.fleet import fleet_site
from netloom.app.heal.report import HealOrder, HealReport, HealTarget
from netloom.app.heal.site import LabSite
from netloom.app.heal.target import target_of
from netloom.app.lab.store import lab_folder
from netloom.app.locate.lab import clock_s
from netloom.errors import SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.log import LogEntry
from netloom.ops.heal.plan import VERBS, Act
from netloom.spec.files import read_text
from netloom.spec.heal import MAX_POLICY_BYTES, HealPolicy, parse_policy

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.app.heal.plans import SavedPlan
    from netloom.app.heal.site import HealSite
    from netloom.ops.observe.designed import Designed
    from netloom.ops.observe.naming import Naming
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = [
    "UndoReport",
    "Verification",
    "apply",
    "approve",
    "default_person",
    "heal",
    "parse_act",
    "plan",
    "policy_from",
    "site_of",
    "undo",
    "verify",
]

MAX_NAME: Final = 80


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
        """Return the stable keys that docs/operate/heal.md documents."""
        return {"undone": self.number, "says": self.says}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether what a plan is about is over.

    Attributes:
        name: The plan's fingerprint.
        is_over: Whether a fresh look does not find it any more.
        says: What the look found.
    """

    name: str
    is_over: bool
    says: str


def policy_from(path: Path | None) -> HealPolicy:
    """Return the policy in a YAML file with a section 'heal'; default: nothing runs by itself.

    Raises:
        SpecError: the file cannot be read or is wrong.
    """
    if path is None:
        return HealPolicy()
    text = read_text(path, max_bytes=MAX_POLICY_BYTES, wanted="a YAML file with a policy")
    return parse_policy(text, name=str(path))


def site_of(
    scenario: Scenario | Designed | None = None,
    *,
    lab: str | None = None,
    inventory: Path | None = None,
    folder: Path | None = None,
    naming: Naming | None = None,
    catalog: Catalog | None = None,
) -> HealSite:
    """Return what is to be healed: a lab by its name, or the devices of an inventory.

    Args:
        scenario: What the network should be; needed with an inventory.
        lab: Name of a lab.
        inventory: A file with devices; those with ``write: true`` may be changed.
        folder: Where labs are kept; with an inventory, where its log, plans and tickets are.
        naming: What devices and ports of an inventory are called there.
        catalog: The parts to build it from.

    Raises:
        SpecError: neither or both are given, or the inventory is wrong.
    """
    if (lab is None) == (inventory is None):
        raise SpecError(
            what="heals either a lab or the devices of an inventory",
            remedy="give --lab NAME or --inventory FILE",
        )
    if lab is not None:
        return LabSite(place=lab_folder(lab, folder))
    assert inventory is not None
    assert scenario is not None
    return fleet_site(scenario, inventory, folder=folder, naming=naming, catalog=catalog)


def default_person() -> str:
    """Return who acts unless told: the user, behind sudo the one who called it."""
    given = os.environ.get("SUDO_USER", "")
    if given:
        return given[:MAX_NAME]
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid {os.geteuid()}"


def parse_act(text: str) -> Act:
    """Return the act that is written as ``drain cable:40``.

    >>> parse_act("shut cable:40").name
    'shut cable:40'

    Raises:
        SpecError: there is no such verb or part.
    """
    verb, _, part = text.strip().partition(" ")
    known = {name: name for name in VERBS if name in ("drain", "shut", "cordon")}
    if verb not in known:
        raise SpecError(
            option="--act",
            what=f"{text[:40]!r} is no act that can be asked for",
            remedy="write 'drain cable:40', 'shut cable:40', 'drain spine:1' or 'cordon node:3'",
        )
    return Act(verb=known[verb], part=PartId.parse(part.strip()))


def plan(
    scenario: Scenario | HealTarget,
    site: HealSite,
    *,
    order: HealOrder | None = None,
    catalog: Catalog | None = None,
) -> HealReport:
    """Return the plans for what is broken now, each with its name; nothing is done.

    Args:
        scenario: What the network should be.
        site: What to heal: :func:`site_of`.
        order: Policy, store and acts that are asked for.
        catalog: The parts to build it from.

    Raises:
        SpecError: there is no such site.
        LabError: it cannot be looked at.
    """
    wanted = replace(order or HealOrder(), only_plans=True, approved=())
    return run.heal(site, target_of(scenario, catalog), wanted)


def approve(name: str, site: HealSite, *, by: str) -> SavedPlan:
    """Write down that a person approves the plan called *name*, and return it.

    Args:
        name: Its fingerprint, as :func:`plan` gave it.
        site: What it is for.
        by: The person's name.

    Raises:
        SpecError: no such plan was shown, or the person has no name.
        LabError: the log cannot be written.
    """
    person = by.strip()
    if not person or len(person) > MAX_NAME or not person.isprintable():
        raise SpecError(
            option="--by",
            what="an approval carries the name of a person",
            remedy=f"give one of 1 to {MAX_NAME} characters",
        )
    site.check()
    saved = run.plans_folder(site).read(name)
    act = saved.told["acts"][0]
    run.journal_of(site).write(
        LogEntry(
            at_s=clock_s(),
            act=0,
            phase="approved",
            verb=str(act["verb"]),
            part=PartId.parse(str(act["part"])),
            says=saved.acts,
            by=person,
            plan=name,
        )
    )
    return saved


def apply(
    scenario: Scenario | HealTarget,
    name: str,
    site: HealSite,
    *,
    by: str,
    order: HealOrder | None = None,
    catalog: Catalog | None = None,
) -> HealReport:
    """Carry out the plan called *name*, and no other, once a fresh look has confirmed it.

    A plan whose finding is gone, whose acts would be others now or whose predicted effect is
    another is stale, and refused.

    Args:
        scenario: What the network should be.
        name: The plan's fingerprint.
        site: What to heal.
        by: Who approves it; stands in the log with everything that is done.
        order: Policy, store and acts that are asked for.
        catalog: The parts to build it from.

    Raises:
        SpecError: no such plan was shown.
        LabError: the site cannot be looked at, or the log cannot be written.
    """
    saved = approve(name, site, by=by)
    wanted = replace(order or HealOrder(), approved=(saved,), by=by.strip(), only_plans=False)
    if saved.kind == run.BY_REQUEST and not wanted.asked:
        wanted = replace(wanted, asked=tuple(parse_act(act) for act in saved.acts))
    return run.heal(site, target_of(scenario, catalog), wanted)


def verify(
    scenario: Scenario | HealTarget, name: str, site: HealSite, *, catalog: Catalog | None = None
) -> Verification:
    """Return whether what the plan called *name* is about is over, by a fresh look.

    Raises:
        SpecError: no such plan was shown.
        LabError: the site cannot be looked at.
    """
    saved = run.plans_folder(site).read(name)
    sight = site.look(target_of(scenario, catalog))
    about = (saved.part.partition(" ")[0], saved.kind)
    left = [f for f in sight.findings if (str(f.part.whole), f.kind) == about]
    says = f"{saved.part}: {saved.kind} {'is still found' if left else 'is not found'}"
    return Verification(name=name, is_over=not left, says=says)


def heal(  # noqa: PLR0913  (what to heal, and what it may do)
    scenario: Scenario | HealTarget,
    *,
    lab: str | None = None,
    inventory: Path | None = None,
    folder: Path | None = None,
    site: HealSite | None = None,
    policy: HealPolicy | None = None,
    yes: str = "",
    by: str = "",
    act: tuple[str, ...] = (),
    dry_run: bool = False,
    watch_hosts: tuple[str, ...] = (),
    store: Path | None = None,
    catalog: Catalog | None = None,
) -> HealReport:
    """Find what is broken, plan what to do, and do what policy allows or a person approves.

    Nothing is done unless the policy allows it or *yes* names a plan.

    >>> import netloom as nl
    >>> report = heal(nl.load("cluster.yaml"), lab="lab-1")  # doctest: +SKIP
    >>> [step.plan.fingerprint for step in report.steps]  # doctest: +SKIP

    Args:
        scenario: The scenario that the lab or the network was made from.
        lab: Name of the lab.
        inventory: Instead of a lab, a file with devices; those with ``write: true`` are changed.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``. With an
            inventory, where its log, plans and tickets are.
        site: Instead of a lab or an inventory: what :func:`site_of` returned.
        policy: What runs by itself; default: nothing.
        yes: Name of the plan to carry out, and no other; never one that is refused.
        by: Who approves it; default: the user.
        act: Acts to plan besides, such as ``drain cable:40``.
        dry_run: Whether nothing is done, whatever policy says.
        watch_hosts: Hosts (``nic:3``) whose partitions must stay as they are; default: some.
        store: The store of a watch: its open cases are healed too; what a fresh look does not
            confirm asks.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: there is no such lab or plan, or it was made from another network.
        LabError: it cannot be looked at, or the log cannot be written.
        OutputError: the store cannot be read.
    """
    where = site or _site(scenario, lab, inventory, folder, catalog)
    order = HealOrder(
        policy=policy or HealPolicy(),
        watched=watch_hosts,
        store=store,
        asked=tuple(parse_act(text) for text in act),
        only_plans=dry_run,
    )
    if yes and not dry_run:
        return apply(scenario, yes, where, by=by or default_person(), order=order, catalog=catalog)
    return run.heal(where, target_of(scenario, catalog), order)


def _site(
    scenario: Scenario | HealTarget,
    lab: str | None,
    inventory: Path | None,
    folder: Path | None,
    catalog: Catalog | None,
) -> HealSite:
    designed = None if isinstance(scenario, HealTarget) else scenario
    return site_of(designed, lab=lab, inventory=inventory, folder=folder, catalog=catalog)


def undo(
    number: int,
    *,
    site: HealSite | None = None,
    lab: str | None = None,
    folder: Path | None = None,
    policy: HealPolicy | None = None,
    by: str = "",
) -> UndoReport:
    """Undo one act of an earlier run, such as a drain once the cable is repaired.

    >>> undo(3, lab="lab-1").says  # doctest: +SKIP

    Args:
        number: Of the act in the log.
        site: Where; default: the lab.
        lab: Name of the lab.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        policy: Has the commands of the scheduler.
        by: Who asks for it; default: the user.

    Raises:
        SpecError: no such act is in force; the message has those that are.
        LabError: it cannot be undone.
    """
    where = site or site_of(lab=lab, folder=folder)
    said = run.release(where, policy or HealPolicy(), number, by=by or default_person())
    return UndoReport(number=number, says=said)
