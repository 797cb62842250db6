"""Act on an InfiniBand lab: pull cables, have routes made again, replace subnet managers."""

from __future__ import annotations

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Final

from netloom.app.lab.infiniband import agree, is_alive, start_manager, subnets_of
from netloom.app.lab.infiniband_faults import client_of, master_of
from netloom.app.lab.labs import clear, inject
from netloom.app.locate.lab_infiniband import observer
from netloom.drivers import ibdiags, ibpaths, opensm
from netloom.drivers.programs import is_running, wait_for
from netloom.errors import LabError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.act import Check, PlannedAct
from netloom.ops.lab import InjectedFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder
    from netloom.ops.heal.actuators import People
    from netloom.ops.heal.plan import Act, HealPlan
    from netloom.ops.plant import Cable, Plant

__all__ = ["InfinibandHands"]

SETTLE_S: Final = 120.0  # for OpenSM's tables, which take 3 s with 1,024 hosts
TAKE_OVER_S: Final = 60.0  # for a standby, which takes 2 s
PAIRS: Final = 8  # of hosts whose paths are traced
WATCHED: Final = 4  # hosts whose partition keys are compared, unless told
WORKERS: Final = 3  # programs at a time; ibsim has room for ten clients, and managers are some
_ENTRY: Final = re.compile(r"^0x[0-9a-fA-F]{4} (?P<port>\d{3})\b", re.ASCII | re.MULTILINE)
_END: Final = "valid lids dumped"


@dataclass(frozen=True, kw_only=True)
class InfinibandHands:
    """Hands on an InfiniBand lab.

    Attributes:
        place: Of the lab.
        desk: For tickets and the scheduler.
        watched: Hosts whose partitions must stay as they are; default: some of them.
        lids: Of the devices that answered when the lab was looked at; managers keep them. They
            are asked for without.
    """

    place: LabFolder
    desk: People
    watched: tuple[str, ...] = ()
    lids: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _plant(self) -> Plant:
        return self.place.read_plant()

    @cached_property
    def _networks(self) -> tuple[Subnet, ...]:
        return subnets_of(self.place, self.place.read(), self._plant)

    @cached_property
    def _lids(self) -> dict[str, int]:
        """The LID of every device that answered."""
        if self.lids:
            return dict(self.lids)
        rows = [row for n in self._networks for row in ibdiags.ports(self._client(n))]
        return {row.name: row.lid for row in rows}

    def plan(self, act: Act, name: str) -> PlannedAct:
        """Return what would be done to the simulator; as :meth:`Actuator.plan`."""
        del name
        drains = act.verb == "drain"
        return PlannedAct(requests=(f"ibsim: unlink {act.part}",) if drains else ())

    def apply(self, act: Act, token: str = "") -> tuple[str, str]:
        """Do it; as :meth:`Actuator.apply`."""
        del token
        match act.verb:
            case "drain":
                done = inject(
                    self.place, InjectedFault(number=0, kind="unlink", parts=(str(act.part),))
                )
                return f"took {act.part} out of use", str(done.number)
            case "reroute":
                return self._reroute(act.part), ""
            case "rebalance":
                network = self._network(self._plant.cables_of(act.part)[0])
                return f"had {self._sweep(network)} make all routes again", ""
            case "fail-over":
                return self._fail_over(act.part), ""
            case "ticket" | "cordon" | "restart-job":
                return self.desk.apply(act)
            case _:
                message = f"{act.name}: there is no such act on InfiniBand"
                raise LabError(message)

    def undo(self, act: Act, token: str) -> str:
        """Undo it; sweeps and a manager that was started stay."""
        if act.verb == "drain":
            if not token:
                return f"{act.part}: not known to be out of use; look at 'netloom lab status'"
            clear(self.place, (int(token),))
            return f"put {act.part} back into use"
        if act.verb in ("ticket", "cordon", "restart-job"):
            return self.desk.undo(act, token)
        return f"{act.name}: nothing to undo"

    def verify(self, plan: HealPlan) -> Check:
        """Look at forwarding tables and trace paths, or see who is master."""
        verb, part = plan.acts[0].verb, plan.acts[0].part
        if verb == "fail-over":
            return self._check_masters()
        if verb in ("drain", "reroute"):
            return self._check_avoided(part)
        if verb == "rebalance":
            return self._check_used(part)
        return self.desk.verify(plan)

    def tenant_isolation(self) -> Mapping[str, str]:
        """Return partition keys of the watched hosts, and who gets a path to whom.

        Hosts that do not answer, such as those behind what is broken, are left out.
        """
        found: dict[str, str] = {}
        for network in self._networks:
            client = self._client(network)
            inside = [name for name in self.watched if name in network.hosts]
            hosts = [n for n in inside or _spread(network.hosts) if n in self._lids]
            asked = partial(_keys, client)
            with ThreadPoolExecutor(max_workers=WORKERS) as pool:
                tables = pool.map(asked, [self._lids[name] for name in hosts])
                keys = {name: text for name, text in zip(hosts, tables, strict=True) if text}
            found |= {f"keys of {name}": text for name, text in keys.items()}
            found |= self._paths(network, [name for name in hosts if name in keys])
        return found

    def _paths(self, network: Subnet, hosts: list[str]) -> dict[str, str]:
        """Return the key of the path between every two hosts, where a manager can be asked."""
        if not master_of(self.place.read(), network):
            return {}
        client, lids = self._client(network), self._lids
        pairs = tuple(combinations(hosts, 2))
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            keys = pool.map(lambda p: ibpaths.path_key(client, lids[p[0]], lids[p[1]]), pairs)
            return {
                f"path {one} - {other}": "none" if key is None else f"{key:#06x}"
                for (one, other), key in zip(pairs, keys, strict=True)
            }

    def _client(self, network: Subnet) -> ibdiags.Client:
        return observer(self.place, self.place.read(), network)

    def _reroute(self, part: PartId) -> str:
        """See that routes are made again, unless OpenSM did that of itself."""
        cables = self._plant.cables_of(part)
        network = self._network(cables[0])
        client = self._client(network)
        found = wait_for(partial(self._answered, client, cables), timeout_s=SETTLE_S, step_s=0.1)
        if found == []:
            return "OpenSM has made new routes already"
        return f"had {self._sweep(network)} sweep"

    def _answered(self, client: ibdiags.Client, cables: tuple[Cable, ...]) -> list[str] | None:
        """Return the switches that lead into *cables*; None while they cannot be asked."""
        try:
            return self._leading(client, cables)
        except LabError:  # asked while LIDs or routes change
            return None

    def _sweep(self, network: Subnet) -> str:
        """Let the master look at everything again: SIGHUP, opensm(8)."""
        lab = self.place.read()
        name = master_of(lab, network)
        program = lab.program(name)
        if program is None or not is_running(program.pid, program.started):
            message = f"subnet {network.number} has no master that could sweep"
            raise LabError(message)
        os.kill(program.pid, signal.SIGHUP)
        return name

    def _fail_over(self, part: PartId) -> str:
        """Wait for a standby to take over; start the dead manager again, as master or standby."""
        network, index = self._manager(part)
        others = len(network.managers) > 1
        took = self._wait_master(network, TAKE_OVER_S) if others else ""
        with self.place.locked():
            lab = start_manager(self.place, self.place.read(), self._plant, network, index)
            if others:
                agree(self.place, lab, self._plant, network)
        master = wait_for(lambda: self._agreed(network), timeout_s=SETTLE_S, step_s=0.1)
        if not master:
            message = f"subnet {network.number} has not one master after {SETTLE_S:g} s"
            raise LabError(message)
        first = f"{took} took over; " if took else ""
        return f"{first}started {part} again; {master} is master"

    def _agreed(self, network: Subnet) -> str | None:
        """Return the master once it is the only one, has swept and answers, and others stand by."""
        lab = self.place.read()
        logs = {
            network.manager_name(index): opensm.read_log(manager)
            for index, manager in enumerate(network.managers)
            if is_alive(lab, network.manager_name(index))
        }
        masters = [name for name, log in logs.items() if log.state == "master" and log.num_sweeps]
        others = {log.state for name, log in logs.items() if name not in masters}
        if len(masters) != 1 or others - {"standby"} or len(logs) < len(network.managers):
            return None
        try:
            found = ibdiags.manager(client_of(self.place, network, host=network.hosts[-1]))
        except LabError:
            return None
        return masters[0] if found.state == "master" else None

    def _manager(self, part: PartId) -> tuple[Subnet, int]:
        for network in self._networks:
            for index in range(len(network.managers)):
                if part == PartId.manager(network.number, index):
                    return network, index
        raise LabError(what=f"there is no subnet manager {str(part)!r}")

    def _wait_master(self, network: Subnet, timeout_s: float) -> str:
        return (
            wait_for(lambda: master_of(self.place.read(), network) or None, timeout_s=timeout_s)
            or ""
        )

    def _check_masters(self) -> Check:
        says = []
        for network in self._networks:
            master = wait_for(partial(self._agreed, network), timeout_s=SETTLE_S, step_s=0.1)
            if not master:
                says.append(f"subnet {network.number}: its managers do not agree on a master")
                return Check(helped=False, says=tuple(says))
            says.append(f"{master} is master, by its log and by sminfo from {network.hosts[-1]}")
        return Check(helped=True, says=tuple(says))

    def _check_avoided(self, part: PartId) -> Check:
        """Wait until no table leads into a part, then trace paths of hosts that are near it."""
        cables = self._plant.cables_of(part)
        network = self._network(cables[0])
        client = self._client(network)

        def avoided() -> bool | None:
            return True if self._answered(client, cables) == [] else None

        if wait_for(avoided, timeout_s=SETTLE_S, step_s=0.1) is None:
            left = self._answered(client, cables) or ["switches do not answer"]
            return Check(helped=False, says=(f"after {SETTLE_S:g} s: {left[0]}",))
        traced, broken = self._traced(client, network, cables)
        if broken:
            return Check(helped=False, says=(f"no path from {broken[0]}",))
        tables = f"no forwarding table leads into {part}"
        return Check(helped=True, says=(tables, f"{traced} paths traced with ibtracert arrive"))

    def _network(self, cable: Cable) -> Subnet:
        return next(n for n in self._networks if cable.lower.device in n.devices)

    def _leading(self, client: ibdiags.Client, cables: tuple[Cable, ...]) -> list[str]:
        """Return the switches whose tables lead into one of these cables."""
        wanted: dict[str, set[int]] = {}
        for cable in cables:
            for port in cable.ends:
                wanted.setdefault(self._plant.devices[port.device].name, set()).add(port.number)
        found = []
        names = [name for name in wanted if name in self._lids]
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            tables = pool.map(lambda name: _ports_used(client, self._lids[name]), names)
            for name, used in zip(names, tables, strict=True):
                into = sorted(used & wanted[name])
                found += [f"{name} forwards to port {port}" for port in into]
        return found

    def _traced(
        self, client: ibdiags.Client, network: Subnet, cables: tuple[Cable, ...]
    ) -> tuple[int, list[str]]:
        """Return how many paths arrive, and those that do not: near hosts to hosts all over."""
        lids = self._lids
        below = {cable.lower.device for cable in cables}
        near = [
            self._plant.devices[c.lower.device].name
            for c in self._plant.cables
            if c.upper.device in below and self._plant.devices[c.lower.device].role == "host"
        ]
        far = [name for name in _spread(network.hosts, PAIRS) if name in lids]
        starts = [name for name in near or far[:1] if name in lids][:PAIRS]
        pairs = [(starts[n % len(starts)], end) for n, end in enumerate(far) if starts]
        pairs = [(one, other) for one, other in pairs if one != other]
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            traces = pool.map(lambda p: ibpaths.trace(client, lids[p[0]], lids[p[1]]), pairs)
            broken = [
                f"{one} to {other}"
                for (one, other), hops in zip(pairs, traces, strict=True)
                if not hops
            ]
        return len(pairs) - len(broken), broken

    def _check_used(self, part: PartId) -> Check:
        cables = self._plant.cables_of(part)
        client = self._client(self._network(cables[0]))
        found = wait_for(
            lambda: self._answered(client, cables) or None, timeout_s=SETTLE_S, step_s=0.2
        )
        return Check(helped=bool(found), says=tuple((found or ["no table leads into it"])[:2]))


def _keys(client: ibdiags.Client, lid: int) -> str:
    """Return the partition keys of a host in words; none when it does not answer."""
    try:
        return " ".join(f"{key:#06x}" for key in ibpaths.pkeys(client, lid, 1))
    except LabError:
        return ""


def _ports_used(client: ibdiags.Client, lid: int) -> set[int]:
    """Return the ports that a switch's table leads to; whom each LID belongs to is not asked.

    Raises:
        LabError: the switch does not answer.
    """
    said = client.run("ibroute", "-n", str(lid))
    if _END not in said:
        message = f"ibroute {lid}: the table ends early ({said.strip()[-80:]!r})"
        raise LabError(message)
    return {int(match["port"]) for match in _ENTRY.finditer(said)}


def _spread(hosts: tuple[str, ...], count: int = WATCHED) -> tuple[str, ...]:
    """Return some hosts, evenly spread."""
    step = max(1, len(hosts) // count)
    return tuple(dict.fromkeys((*hosts[::step][: count - 1], hosts[-1])))
