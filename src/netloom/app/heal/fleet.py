"""The devices of an inventory as a site: looked at by collectors, changed by writers."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from netloom.app.designs import design_of
from netloom.app.heal.fleet_actuator import FleetActuator
from netloom.app.heal.fleet_devices import open_devices
from netloom.app.heal.journal import FileJournal
from netloom.app.lab.drains import HEAL_LOG
from netloom.app.lab.store import default_folder
from netloom.app.locate.lab import clock_s
from netloom.app.watch.devices.collector import DeviceCollector
from netloom.app.watch.devices.inventory import open_inventory
from netloom.errors import LabError, NetloomError, SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.part_id import CABLE, PartId
from netloom.ops.heal.devices import SettingChange, parse_settings
from netloom.ops.heal.log import in_force
from netloom.ops.heal.plan import Act
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.device_findings import cables_away
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.collectors import CollectContext
from netloom.ops.observe.naming import Naming

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from netloom.app.heal.fleet_devices import FleetDevices, WritableDevice
    from netloom.app.heal.report import HealTarget
    from netloom.formats.slurm.nodes import SlurmNode
    from netloom.ops.heal.act import Actuator
    from netloom.ops.heal.actuators import ActContext
    from netloom.ops.heal.devices import ChangedSetting
    from netloom.ops.heal.log import LogEntry
    from netloom.ops.heal.plan import HealPlan
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.designed import Designed
    from netloom.ops.observe.devices import DeviceReport
    from netloom.ops.observe.observation import Reading
    from netloom.ops.plant import Port
    from netloom.parts.load import Catalog
    from netloom.spec.heal import Verb
    from netloom.spec.inventory.file import InventoryDevice
    from netloom.spec.scenario import Scenario

__all__ = ["FleetSite", "fleet_site"]

LOOKS: Final = 2  # counters say something once they were read twice
APART_S: Final = 1.0  # between these; assumed
WORKERS: Final = 32  # devices that are asked for their settings at the same time
_COUNTED: Final = frozenset({FaultKind.LOSS.value, Trouble.SYMBOL_ERRORS.value})
HANDED: Final[frozenset[Verb]] = frozenset({"reroute", "ticket"})


@runtime_checkable
class KnowsNodes(Protocol):
    """A scheduler: it tells every machine, and which of them take no jobs."""

    def nodes(self) -> tuple[SlurmNode, ...]:
        """Return them; may raise a LabError."""


@dataclass(kw_only=True, eq=False)
class FleetSite:
    """Devices of one inventory.

    Attributes:
        designed: What should be there.
        inventory: The file.
        path: The folder of log, plans and tickets.
        naming: What devices and ports are called there.
    """

    designed: Designed
    inventory: Path
    path: Path
    naming: Naming

    @property
    def name(self) -> str:
        """As :attr:`HealSite.name`."""
        return f"inventory {self.inventory.name!r}"

    @property
    def born_at_s(self) -> float:
        """As :attr:`HealSite.born_at_s`: real devices stay the same."""
        return 0.0

    @property
    def tells_requests(self) -> bool:
        """As :attr:`HealSite.tells_requests`."""
        return True

    @cached_property
    def devices(self) -> FleetDevices:
        """Those that may be changed."""
        return open_devices(self.inventory, self.designed.plant, self.naming)

    @property
    def verbs(self) -> frozenset[Verb]:
        """As :attr:`HealSite.verbs`."""
        return self.devices.verbs | HANDED

    def check(self) -> None:
        """As :meth:`HealSite.check`; makes the folder."""
        if len(self.devices.devices) == 0 and not self.inventory.is_file():
            raise SpecError(file=str(self.inventory), what="is no file", remedy="name another")
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(
                file=str(self.path),
                what=f"cannot be made a folder ({error.strerror})",
                remedy="name another with --dir",
            ) from error

    def can(self, act: Act) -> bool:
        """As :meth:`HealSite.can`: routing works around what is down, and anyone has tickets."""
        return act.verb in HANDED or bool(self.devices.changes_of(act))

    def actuator(self, context: ActContext) -> Actuator:
        """As :meth:`HealSite.actuator`."""
        return FleetActuator(
            devices=self.devices, desk=context.desk, away_now=self.away_now, others=context.others
        )

    def look(self, target: HealTarget) -> Snapshot:
        """As :meth:`HealSite.look`."""
        return self._seen(target, lambda _: True)

    def look_again(self, target: HealTarget, plan: HealPlan, sight: Snapshot) -> Snapshot:
        """As :meth:`HealSite.look_again`: the devices at the ends of the parts are asked.

        Counters need not rise within a second: what they showed holds while its cable is up.
        """
        del sight
        again = self._seen(target, self._concerned([act.part for act in plan.acts]))
        kept = {(f.part.whole, f.kind) for f in again.findings}
        own = plan.finding
        if (own.part.whole, own.kind) not in kept and own.part.whole not in again.away:
            return Snapshot(
                findings=(*again.findings, own) if own.kind in _COUNTED else again.findings,
                taken_s=again.taken_s,
                away=again.away,
                doubts=again.doubts,
                cordoned=again.cordoned,
                num_nodes=again.num_nodes,
            )
        return again

    def still_drained(self, drained: Collection[PartId], sight: Snapshot) -> set[PartId]:
        """As :meth:`HealSite.still_drained`: those whose devices say so, or do not answer."""
        del sight
        return {part for part in drained if self._is_out(part)}

    def state_of(self, entry: LogEntry) -> tuple[str, ...]:
        """As :meth:`HealSite.state_of`: each device is asked."""
        if not entry.token:
            return ()
        try:
            name, settings = parse_settings(entry.token)
        except LabError as error:
            return (str(error),)
        return tuple(self.devices_say(name, settings))

    def devices_say(self, name: str, settings: Iterable[ChangedSetting]) -> Iterable[str]:
        """Give which configuration each device has: the old, the new, or the new for now."""
        for one in settings:
            try:
                device = self.devices.named(one.device, one.kind)
                state = device.writer.state(one.change, name)
            except NetloomError as error:
                yield f"{one.device} cannot be asked ({error})"
                continue
            if state == "unconfirmed":
                yield f"{one.device} has the new configuration, not confirmed: it goes back itself"
            elif state == one.change.wanted:
                yield f"{one.device} has the new configuration ({one.change.words})"
            else:
                old = one.change.with_use(in_use=one.was_in_use)
                yield f"{one.device} has the old configuration ({old.words})"

    def away_now(self, parts: Collection[PartId]) -> frozenset[PartId] | None:
        """Return the cables at those parts' devices that carry nothing; None if nothing tells."""
        readings = self._readings(self._concerned(parts), num_looks=1)
        if not any(reading.observations for reading in readings):
            return None
        return self._away(window_of(readings), frozenset())

    def _is_out(self, part: PartId) -> bool:
        """Return whether a device has a part out of use; so it is taken where none answers."""
        verbs: tuple[Verb, ...] = ("drain", "shut")
        for device, change in (
            one for verb in verbs for one in self.devices.changes_of(Act(verb=verb, part=part))
        ):
            try:
                if device.writer.state(change) == "out-of-use":
                    return True
            except NetloomError:
                return True
        return False

    def _seen(self, target: HealTarget, wanted: Callable[[InventoryDevice], bool]) -> Snapshot:
        taken_s = clock_s()
        readings = self._readings(wanted, num_looks=LOOKS)
        heard = window_of([one for one in readings if one.is_whole or one.observations])
        doubts = [f"{one.source}: {one.error}" for one in readings if one.error]
        cordoned, num_nodes = self._cordoned(doubts)
        planned = self._planned()
        away = self._away(heard, planned) | self._shifted(doubts)
        return Snapshot(
            findings=locate_all(self._network, heard, None, target.technology, planned),
            taken_s=taken_s,
            away=tuple(sorted(away)),
            doubts=tuple(dict.fromkeys(doubts)),
            cordoned=cordoned,
            num_nodes=num_nodes,
        )

    @cached_property
    def _network(self) -> DesignedNetwork:
        return DesignedNetwork(
            fabric=self.designed.fabric,
            plant=self.designed.plant,
            rate_bps=lambda cable: cable.rate_bps,
        )

    def _away(self, heard: TelemetryWindow, planned: Collection[int]) -> frozenset[PartId]:
        """Return the cables that carry nothing: down, without session, or with a port shut."""
        gone = set(cables_away(self._network, heard, planned))
        for part, track in heard.of("admin_up").items():
            cable = self._network.at.get(part)
            if cable is not None and track.last == 0:
                gone.add(cable.number)
        return frozenset(PartId.cable(number) for number in gone)

    def _shifted(self, doubts: list[str]) -> frozenset[PartId]:
        """Return the cables of switches that traffic is shifted away from, by anyone."""
        asked = [one for one in self.devices.devices if "switch" in one.writer.changes]

        def state(device: WritableDevice) -> str:
            try:
                return device.writer.state(SettingChange(kind="switch"))
            except NetloomError as error:
                return str(error)

        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            states = list(pool.map(state, asked))
        found: set[PartId] = set()
        for device, said in zip(asked, states, strict=True):
            if said == "out-of-use":
                found |= {
                    PartId.cable(c.number)
                    for c in self._network.by_device.get(device.names.device, ())
                }
            elif said not in ("in-use", "unconfirmed"):
                doubts.append(f"{device.name}: not known whether it is drained ({said})")
        return frozenset(found)

    def _cordoned(self, doubts: list[str]) -> tuple[tuple[PartId, ...], int]:
        """Return the machines that take no jobs, by anyone, and how many there are."""
        found: set[PartId] = set()
        asked = [one for one in self.devices.devices if isinstance(one.writer, KnowsNodes)]
        for device in asked:
            assert isinstance(device.writer, KnowsNodes)
            try:
                rows = device.writer.nodes()
            except NetloomError as error:
                doubts.append(f"{device.name}: {error}")
                continue
            parts = [self.devices.node_of(device, row.name) for row in rows if row.is_cordoned]
            found |= {part for part in parts if part is not None}
        fabric = self.designed.fabric
        is_gpu = fabric.vertex_kind == VertexKind.GPU
        num_nodes = int(fabric.vertex_node[is_gpu].max()) + 1 if asked and is_gpu.any() else 0
        return tuple(sorted(found)), num_nodes

    def _planned(self) -> frozenset[int]:
        """Return the cables that healing drained, where the devices still have it so."""
        entries = FileJournal(path=self.path / HEAL_LOG).entries()
        parts = {entry.part for entry in in_force(entries) if entry.verb in ("drain", "shut")}
        return frozenset(
            cable.number
            for part in parts
            if self._is_out(part)
            for cable in self.designed.plant.cables_of(part)
        )

    def _cable_ends(self, part: PartId) -> Iterable[Port]:
        return [port for cable in self.designed.plant.cables_of(part) for port in cable.ends]

    def _concerned(self, parts: Collection[PartId]) -> Callable[[InventoryDevice], bool]:
        """Return which devices stand at the ends of some parts, or tell of no one device."""
        plant = self.designed.plant
        cabled = [part for part in parts if part.kind == CABLE or part.kind in self._tiers]
        names = {plant.devices[p.device].name for part in cabled for p in self._cable_ends(part)}
        known = {device.name for device in plant.devices}

        def wanted(device: InventoryDevice) -> bool:
            own = {str(p).partition("[")[0] for p in device.ports.values() if isinstance(p, str)}
            own.add(device.part or self.naming.device(device.name))
            return bool(own & names) or own.isdisjoint(known)  # the latter tell of whole fabrics

        return wanted

    @cached_property
    def _tiers(self) -> frozenset[str]:
        return frozenset(one.name.partition(":")[0] for one in self.designed.plant.devices)

    def _readings(
        self, wanted: Callable[[InventoryDevice], bool], *, num_looks: int
    ) -> list[Reading]:
        """Ask the devices, once or a few times in a row."""
        with tempfile.TemporaryDirectory(prefix="netloom-") as scratch, ExitStack() as closing:
            context = CollectContext(
                designed=self.designed,
                naming=self.naming,
                scratch=Path(scratch),
                fresh_s=float("inf"),
                closing=closing,
            )
            opened = open_inventory(self.inventory, context, wanted=wanted)
            for one in opened.collectors:
                if isinstance(one, DeviceCollector):
                    one.look = self._remembering(one, one.look)
            found: list[Reading] = []
            for number in range(num_looks):
                if number:
                    time.sleep(APART_S)
                found += [one.read(clock_s(), "") for one in opened.collectors]
            return found

    def _remembering(
        self, collector: DeviceCollector, look: Callable[[], DeviceReport]
    ) -> Callable[[], DeviceReport]:
        """Return *look* with the labels of ports kept: by these the device knows them."""

        def remembered() -> DeviceReport:
            report = look()
            for one in report.values:
                part = collector.names.port(one.port, report.aliases.get(one.port, ""))
                if one.port and part:
                    self.devices.seen.setdefault(part, one.port)
            return report

        return remembered


def fleet_site(
    scenario: Scenario | Designed,
    inventory: Path,
    *,
    folder: Path | None = None,
    naming: Naming | None = None,
    catalog: Catalog | None = None,
) -> FleetSite:
    """Return the devices of an inventory as a site.

    Args:
        scenario: What the network should be.
        inventory: The file.
        folder: For log, plans and tickets; default: under ``$XDG_STATE_HOME/netloom/fleets``.
        naming: What devices and ports are called there.
        catalog: The parts to build it from.

    Raises:
        SpecError: the inventory cannot be read or is wrong.
    """
    site = FleetSite(
        designed=design_of(scenario, catalog),
        inventory=inventory,
        path=folder or default_folder().parent / "fleets" / inventory.stem,
        naming=naming or Naming(),
    )
    site.devices  # noqa: B018  (an inventory that is wrong is told now)
    return site
