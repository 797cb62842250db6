"""Act on a RoCE lab: shut BGP sessions over a cable, install routes again; look with probes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from netloom.app.lab.probes import flows_of, probe
from netloom.app.locate.lab_roce import route_counts
from netloom.drivers import frr, vty
from netloom.drivers.programs import wait_for
from netloom.errors import LabError
from netloom.ops.heal.act import Check, PlannedAct
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import interface_name, underlay_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.app.lab.store import LabFolder
    from netloom.fabric.part_id import PartId
    from netloom.ops.heal.actuators import People
    from netloom.ops.heal.plan import Act, HealPlan
    from netloom.ops.plant import Plant
    from netloom.ops.underlay import BgpRouter, Underlay

__all__ = ["EthernetHands"]

SETTLE_S: Final = 60.0  # for kernels to follow BGP, which takes 0.2 s; a busy machine takes longer
TRIES: Final = 4  # of probing, some 0.3 s each: BGP tells the others within 0.13 s
MAX_WAYS: Final = 64  # what the switches are configured with


@dataclass(frozen=True, kw_only=True)
class EthernetHands:
    """Hands on a RoCE lab.

    Attributes:
        place: Of the lab.
        desk: For tickets and the scheduler.
        others: Parts with findings of their own: flows over them say nothing about this plan.
    """

    place: LabFolder
    desk: People
    others: tuple[PartId, ...] = ()

    @cached_property
    def _plant(self) -> Plant:
        return self.place.read_plant()

    @cached_property
    def _underlay(self) -> Underlay:
        return underlay_of(self._plant)

    def plan(self, act: Act, name: str) -> PlannedAct:
        """Return the lines that vtysh would be given; as :meth:`Actuator.plan`."""
        del name
        if act.verb != "drain":
            return PlannedAct()
        return PlannedAct(
            requests=tuple(
                f"{router.name}: vtysh: router bgp {router.asn}: neighbor {interface} shutdown"
                for router, interface in self._ends(act.part)
            )
        )

    def apply(self, act: Act, token: str = "") -> tuple[str, str]:
        """Do it; as :meth:`Actuator.apply`."""
        del token
        match act.verb:
            case "drain":
                self._sessions(act.part, "")
                return f"shut the BGP sessions over {act.part}, at both ends", str(act.part)
            case "reroute":
                return "left it to BGP", ""
            case "repair-fib":
                self._install_anew(act.part)
                return f"had FRR install the routes of {act.part} again", ""
            case "ticket" | "cordon" | "restart-job":
                return self.desk.apply(act)
            case _:
                message = f"{act.name}: there is no such act on Ethernet"
                raise LabError(message)

    def undo(self, act: Act, token: str) -> str:
        """Undo it; routes that were installed again stay."""
        if act.verb == "drain":
            self._sessions(act.part, "no ")
            return f"opened the BGP sessions over {act.part} again"
        if act.verb in ("ticket", "cordon", "restart-job"):
            return self.desk.undo(act, token)
        return f"{act.name}: nothing to undo"

    def verify(self, plan: HealPlan) -> Check:
        """Wait for routes that avoid the part, or are whole again, and send probes."""
        verb, part = plan.acts[0].verb, plan.acts[0].part
        if verb in ("drain", "reroute"):
            return self._check_avoided(part)
        if verb == "repair-fib":
            return self._check_whole(part)
        return self.desk.verify(plan)

    def tenant_isolation(self) -> Mapping[str, str]:
        """Return nothing: the lab's underlay is one network for all."""
        return {}

    def _ends(self, part: PartId) -> Iterator[tuple[BgpRouter, str]]:
        """Yield the switches at the ends of a part's cables, with the interface to shut."""
        routers = {router.device: router for router in self._underlay.routers}
        for cable in self._plant.cables_of(part):
            if not all(port.device in routers for port in cable.ends):
                raise LabError(
                    what=f"{part}: a host hangs on it, and has no other way",
                    remedy="cordon it instead",
                )
            for port in cable.ends:
                yield routers[port.device], interface_name(self._plant, port)

    def _sessions(self, part: PartId, negation: str) -> None:
        for router, interface in tuple(self._ends(part)):
            self._configure(router, f"{negation}neighbor {interface} shutdown")

    def _configure(self, router: BgpRouter, *lines: str) -> None:
        vty.configure(self._space(router), "bgpd", [f"router bgp {router.asn}", *lines])

    def _space(self, router: BgpRouter) -> str:
        return namespace_of(self.place.mark, router.name)

    def _router(self, part: PartId) -> BgpRouter:
        device = self._plant.number(str(part))
        return next(router for router in self._underlay.routers if router.device == device)

    def _install_anew(self, part: PartId) -> None:
        """Let BGP choose one way, then all: zebra writes every route twice, and none is missing.

        Raises:
            LabError: BGP does not choose as many ways again as before.
        """
        router, family = self._router(part), "address-family ipv4 unicast"
        ways = route_counts(self.place, self._plant, router)[0]

        def single() -> bool | None:
            found = [r for r in vty.routes(self._space(router)) if r.protocol == "bgp"]
            return True if all(len(r.interfaces) <= 1 for r in found) else None

        def whole() -> bool | None:
            believed = route_counts(self.place, self._plant, router)[0]
            return True if believed >= ways else None

        # With nexthop objects zebra keeps the very group that the kernel lost members of, and
        # installs it no second time; plain routes have none.
        vty.configure(self._space(router), "zebra", ["no zebra nexthop kernel enable"])
        self._configure(router, family, "maximum-paths 1")
        # Were the second change made before zebra has the first, bgpd would see none at all.
        wait_for(single, timeout_s=SETTLE_S, step_s=0.05)
        self._configure(router, family, f"maximum-paths {MAX_WAYS}")
        if wait_for(whole, timeout_s=SETTLE_S, step_s=0.05) is None:
            raise LabError(
                what=f"{part}: BGP has fewer ways than the {ways} before",
                remedy="look at vtysh there",
            )

    def _check_avoided(self, part: PartId) -> Check:
        ends = tuple(self._ends(part))

        def avoided() -> bool | None:
            used = [
                router.name
                for router, interface in ends
                for route in frr.fib(self._space(router))
                if route.protocol == "bgp" and interface in route.interfaces
            ]
            return None if used else True

        if wait_for(avoided, timeout_s=SETTLE_S, step_s=0.02) is None:
            return Check(helped=False, says=(f"kernels still forward over {part}",))
        return self._check_probes()

    def _check_whole(self, part: PartId) -> Check:
        router = self._router(part)
        counts = [(0, 0)]

        def whole() -> bool | None:
            counts[0] = route_counts(self.place, self._plant, router)
            return True if counts[0][0] == counts[0][1] else None

        found = wait_for(whole, timeout_s=SETTLE_S, step_s=0.05)
        rib, fib = counts[0]
        says = f"{part}: routing has {rib} ways, the kernel {fib}"
        return Check(helped=bool(found), says=(says,))

    def _check_probes(self) -> Check:
        """Send probes, a few times while the other switches learn of it; all must arrive once."""
        apart = {c.number for part in self.others for c in self._plant.cables_of(part)}
        says = ""
        for _ in range(TRIES):
            probed = [
                one
                for one in probe(self.place, self._plant, flows_of(self._plant))
                if not apart & {cable.number for cable, _ in one.links}
            ]
            sent, lost = sum(one.sent for one in probed), sum(one.lost for one in probed)
            hit = sum(one.lost > 0 for one in probed)
            says = (
                f"{sent - lost:,} of {sent:,} probes arrive; {hit} of {len(probed)} flows lose any"
            )
            if probed and lost == 0:
                return Check(helped=True, says=(says,))
        return Check(helped=False, says=(says,))
