"""A second look at a lab before an act: at the parts that a plan concerns, and at no others.

A look at 4,000 hosts and the trial of a plan may take longer than observations may be old. What
the plan needs to be true of its own parts is asked again in the moment before the act.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.app.lab.infiniband import is_alive, subnets_of
from netloom.app.lab.probes import flows_of
from netloom.app.locate.lab import clock_s, observe
from netloom.app.locate.lab_infiniband import observer
from netloom.app.watch.infiniband import IDLE
from netloom.drivers import ibdiags
from netloom.errors import LabError
from netloom.fabric.part_id import MANAGER, PartId
from netloom.ops.locate.faults import FaultKind, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.app.lab.probes import Flow
    from netloom.app.lab.store import LabFolder
    from netloom.fabric.graph import Fabric
    from netloom.ops.heal.plan import HealPlan
    from netloom.ops.heal.snapshot import Snapshot
    from netloom.ops.locate.findings import Finding
    from netloom.ops.plant import Cable, Plant
    from netloom.parts.parts import Technology

__all__ = ["look_again"]

WORKERS: Final = 8  # programs that wait for answers at the same time
# Fewer say nothing: the default threshold of ibqueryerrors (infiniband-diags; recalled).
MIN_ERRORS: Final = 10
DOWN: Final = frozenset({"Down", ""})  # no answer: cut off, or silent
_STATE: Final = re.compile(r"^LinkState:\.{1,48}(?P<state>\w{1,16})", re.ASCII | re.MULTILINE)
# What the ends of a cable say of themselves while such a trouble lasts.
LASTING: Final[Mapping[str, frozenset[str]]] = {
    Trouble.MISSING.value: DOWN,
    Trouble.SILENT.value: DOWN,
    Trouble.UNUSED.value: frozenset(IDLE),
    FaultKind.BLACK_HOLE.value: frozenset({"Active"}),
    FaultKind.LOSS.value: frozenset({"Active"}),
    Trouble.SYMBOL_ERRORS.value: frozenset({"Active"}),
    Trouble.WRONG_SPEED.value: frozenset({"Active"}),
}
COUNTED: Final = {
    Trouble.SYMBOL_ERRORS.value: "SymbolErrorCounter",
    FaultKind.LOSS.value: "PortRcvErrors",
}


def look_again(
    place: LabFolder, fabric: Fabric, technology: Technology, plan: HealPlan, sight: Snapshot
) -> Snapshot:
    """Return *sight* with what is seen now of the parts that *plan* concerns.

    The plan's finding is in it when it still holds. More cables are away where they went since.

    Args:
        place: Of the lab.
        fabric: As designed.
        technology: Of it.
        plan: What is about to be done.
        sight: The look that it follows from.

    Raises:
        LabError: a program is missing, or we may not look.
    """
    lab, plant = place.read(), place.read_plant()
    if lab.kind != "infiniband":
        flows = _near(plant, plan.finding.part.whole)
        return observe(place, fabric, technology, flows=flows)
    taken_s = clock_s()
    if plan.finding.part.kind == MANAGER:
        found = (plan.finding,) if _is_dead(place, plant, plan.finding.part) else ()
        return replace(sight, findings=found, taken_s=taken_s)
    cables = plant.cables_of(plan.finding.part.whole)
    view = _PortView(
        plant=plant,
        lids=sight.lids,
        clients=tuple(
            (frozenset(one.devices), observer(place, lab, one))
            for one in subnets_of(place, lab, plant)
        ),
    )
    states = view.states([*cables, *_uplinks(plant, cables)])
    lasts = _lasts(plan.finding, [states[cable.number] for cable in cables])
    lasts = lasts and view.still_counts(plan.finding, cables)
    away = {PartId.cable(number) for number, ends in states.items() if DOWN & set(ends)}
    return replace(
        sight,
        findings=(plan.finding,) if lasts else (),
        taken_s=taken_s,
        away=tuple(dict.fromkeys((*sight.away, *sorted(away)))),
    )


def _near(plant: Plant, part: PartId) -> tuple[Flow, ...]:
    """Return the probes from and to the hosts under the lower switches of a part's cables."""
    below = {cable.lower.device for cable in plant.cables_of(part)}
    hosts = {c.lower.device for c in plant.cables if c.upper.device in below} | below
    return tuple(f for f in flows_of(plant) if {f.source, f.target} & hosts)


def _is_dead(place: LabFolder, plant: Plant, part: PartId) -> bool:
    lab = place.read()
    for network in subnets_of(place, lab, plant):
        for index in range(len(network.managers)):
            if part == PartId.manager(network.number, index):
                return not is_alive(lab, network.manager_name(index))
    return False


def _uplinks(plant: Plant, cables: Iterable[Cable]) -> tuple[Cable, ...]:
    """Return the other uplinks of the switches that would lose one."""
    own = {cable.number for cable in cables}
    lower = {cable.lower.device for cable in cables}
    return tuple(c for c in plant.cables if c.lower.device in lower and c.number not in own)


def _lasts(finding: Finding, ends: Iterable[tuple[str, ...]]) -> bool:
    wanted = LASTING.get(finding.kind)
    if wanted is None:
        return True
    said = [state for states in ends for state in states if state or "" in wanted]
    return bool(said) and (any if finding.kind == Trouble.UNUSED else all)(
        state in wanted for state in said
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PortView:
    """The ports of some cables, asked one by one."""

    plant: Plant
    lids: Mapping[str, int]
    clients: tuple[tuple[frozenset[int], ibdiags.Client], ...]

    def states(self, cables: Iterable[Cable]) -> dict[int, tuple[str, ...]]:
        """Return what the ends of each cable say of their link, lower first."""
        wanted = tuple(cables)
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            found = pool.map(lambda c: tuple(_state(*jack) for jack in self._jacks(c)), wanted)
            return {cable.number: said for cable, said in zip(wanted, found, strict=True)}

    def still_counts(self, finding: Finding, cables: Iterable[Cable]) -> bool:
        """Return whether an end still has the errors that a finding is of."""
        name = COUNTED.get(finding.kind)
        return name is None or any(
            _counted(*jack, name) >= MIN_ERRORS for c in cables for jack in self._jacks(c)
        )

    def _jacks(self, cable: Cable) -> list[tuple[ibdiags.Client, int, int]]:
        client = next(one for devices, one in self.clients if cable.lower.device in devices)
        names = [(self.plant.devices[p.device].name, p.number) for p in cable.ends]
        return [(client, self.lids.get(name, 0), port) for name, port in names]


def _state(client: ibdiags.Client, lid: int, port: int) -> str:
    """Return what a port says of its link; empty when it does not answer."""
    if not lid:
        return ""
    try:
        match = _STATE.search(client.run("smpquery", "portinfo", str(lid), str(port)))
    except LabError:
        return ""
    return match["state"] if match else ""


def _counted(client: ibdiags.Client, lid: int, port: int, name: str) -> int:
    try:
        return ibdiags.counters(client, lid, port).get(name, 0) if lid else 0
    except LabError:
        return 0
