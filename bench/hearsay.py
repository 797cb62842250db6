"""What devices say of a network with faults in it, look by look, with all that goes wrong there.

Statements go through the real store, so that what is missing, stale, late, doubled, reset or
contradictory is met as a watch meets it. All of the noise is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.observe.observation import Observation, Reading

if TYPE_CHECKING:
    import numpy as np

    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.observe.store import ObservationStore
    from netloom.ops.plant import Cable

NUM_LOOKS = 12
EVERY_S = 10.0
START_S = 1_800_000_000.0
KINDS = (
    *("missing", "dead switch", "miswired", "slow", "flapping", "symbol errors", "damage"),
    *("no manager", "deaf", "lost paths"),
)
Values = dict[tuple[str, str], float]


@dataclass(frozen=True, kw_only=True)
class Hearsay:
    """How bad the witnesses are.

    Attributes:
        false: Chance that a port says at a look that it is down, or a session so, falsely.
        sticks: That one who is wrong is so again at the next look.
        silent: That a device answers nothing at a look.
        missing: Share of ports that are never told of.
        stale: Share of devices that repeat their first answers all the time.
        late: Share of devices whose answers are one look old: their clocks differ.
        bursts: Share of ports whose error counters jump once, for no reason.
        burst_count: By how much on average.
        resets: Share of devices whose counters begin again once.
        races: Chance that routes and next hops are read across a change.
        lost: That the manager's answer is lost.
        doubled: That a look is delivered twice.
    """

    false: float = 1e-4
    sticks: float = 0.5
    silent: float = 1e-3
    missing: float = 0.1
    stale: float = 0.01
    late: float = 0.1
    bursts: float = 5e-3
    burst_count: float = 25.0
    resets: float = 0.02
    races: float = 1e-4
    lost: float = 1e-3
    doubled: float = 0.05


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A fault: since which look, what it is, and which findings name it."""

    name: str
    since: int
    parts: frozenset[str]
    kinds: frozenset[str]
    cable: Cable | None = None
    device: str = ""
    size: float = 0.0


def draw(network: DesignedNetwork, rng: np.random.Generator, name: str) -> Truth:
    """Return a fault that is there at two looks at least; a cable flaps twice at least."""
    since = int(rng.integers(1, NUM_LOOKS - (5 if name == "flapping" else 1)))
    cables = network.plant.cables
    uplinks = [c for c in cables if network.plant.devices[c.lower.device].role == "switch"]
    cable = uplinks[int(rng.integers(len(uplinks)))]
    if name in {"missing", "slow", "symbol errors", "damage", "flapping"}:
        cable = cables[int(rng.integers(len(cables)))]
    switches = network.plant.switches
    switch = switches[int(rng.integers(len(switches)))].name
    kinds = {
        "missing": Trouble.MISSING,
        "dead switch": Trouble.SILENT,
        "miswired": Trouble.MISWIRED,
        "slow": Trouble.WRONG_SPEED,
        "flapping": Trouble.FLAPPING,
        "symbol errors": Trouble.SYMBOL_ERRORS,
        "damage": FaultKind.LOSS,
        "no manager": Trouble.NO_MANAGER,
        "deaf": Trouble.SESSION_DOWN,
        "lost paths": FaultKind.LOST_PATHS,
    }
    whole = {"dead switch": switch, "lost paths": switch, "no manager": "subnet 0"}
    part = whole.get(name, f"cable:{cable.number}")
    return Truth(
        name=name,
        since=since,
        parts=frozenset({part}),
        kinds=frozenset({kinds[name].value}),
        cable=cable if part.startswith("cable:") else None,
        device=switch,
        size=float(10 ** rng.uniform(1.5, 5)),
    )


@dataclass(kw_only=True)
class World:
    """A network, its faults, and what its devices say of it."""

    network: DesignedNetwork
    truths: tuple[Truth, ...]
    noise: Hearsay
    rng: np.random.Generator
    ports: dict[str, list[str]] = field(default_factory=dict)
    wrong: set[tuple[str, str]] = field(default_factory=set)
    quiet: set[str] = field(default_factory=set)
    counts: Values = field(default_factory=dict)

    def play(self, store: ObservationStore) -> None:
        """Let every look be told into the store."""
        rng, noise = self.rng, self.noise
        names = [device.name for device in self.network.plant.devices]
        self.ports = {
            name: [
                end
                for cable in self.network.by_device[name]
                for end in self.network.ends[cable.number]
                if end.startswith(f"{name}[")
            ]
            for name in names
        }
        untold = {end for end in self.network.at if rng.random() < noise.missing}
        # Errors are counted at one end, and where that is not told nobody can know.
        untold -= {self.network.ends[t.cable.number][1] for t in self.truths if t.cable}
        stale = {name for name in names if rng.random() < noise.stale}
        late = {name for name in names if rng.random() < noise.late}
        resets = {n: int(rng.integers(1, NUM_LOOKS)) for n in names if rng.random() < noise.resets}
        bursts = {
            (end, metric): int(rng.integers(1, NUM_LOOKS))
            for end in self.network.at
            for metric in ("symbol_errors", "receive_errors")
            if rng.random() < noise.bursts
        }
        told: list[dict[str, Values]] = []
        for look in range(NUM_LOOKS):
            self._count(look, bursts, resets)
            now = {name: self._of_device(name, look) for name in names}
            told.append(now)
            self._turn_silent(names)
            heard: Values = {}
            for name in names:
                if name in self.quiet or self._is_dead(name, look):
                    continue
                then = told[0] if name in stale else told[max(0, look - (name in late))]
                heard |= {key: v for key, v in then[name].items() if key[0] not in untold}
            self._tell(store, look, heard)

    def _is_dead(self, name: str, look: int) -> bool:
        return any(
            t.name == "dead switch" and t.device == name and look >= t.since for t in self.truths
        )

    def _truths(self, name: str, look: int, end: str = "") -> bool:
        """Return whether a fault of that name is in force at a port now."""
        return any(
            t.name == name and look >= t.since and t.cable is not None
            and end in self.network.ends[t.cable.number]
            for t in self.truths
        )  # fmt: skip

    def _turn_silent(self, names: list[str]) -> None:
        chance = self.noise.silent
        self.quiet = {
            name
            for name in names
            if self.rng.random() < (self.noise.sticks if name in self.quiet else chance)
        }

    def _says(self, key: tuple[str, str], chance: float, *, is_so: bool) -> bool:
        """Return what a witness says of the truth, who may be wrong and stay so."""
        wrong = self.rng.random() < (self.noise.sticks if key in self.wrong else chance)
        (self.wrong.add if wrong else self.wrong.discard)(key)
        return is_so != wrong

    def _of_device(self, name: str, look: int) -> Values:
        said: Values = {}
        for end in self.ports[name]:
            cable = self.network.at[end]
            peers = self.network.devices_of(cable)
            down = self._truths("missing", look, end) or any(self._is_dead(p, look) for p in peers)
            down |= self._truths("flapping", look, end) and self._flap(look, end)
            said[end, "link_up"] = float(self._says((end, "up"), self.noise.false, is_so=not down))
            deaf = down or self._truths("deaf", look, end)
            said[end, "bgp_up"] = float(self._says((end, "bgp"), self.noise.false, is_so=not deaf))
            for metric in ("symbol_errors", "receive_errors", "received_packets"):
                said[end, metric] = self.counts.get((end, metric), 0.0)
        if self.network.plant.devices[self.network.plant.number(name)].role == "switch":
            lost = any(
                t.name == "lost paths" and t.device == name and look >= t.since for t in self.truths
            ) != (self.rng.random() < self.noise.races)
            said[name, "rib_ways"] = 64.0
            said[name, "fib_ways"] = 48.0 if lost else 64.0
        return said

    def _flap(self, look: int, end: str) -> bool:
        since = min(
            t.since
            for t in self.truths
            if t.name == "flapping" and t.cable and end in self.network.ends[t.cable.number]
        )
        return (look - since) % 2 == 0 and look < NUM_LOOKS - 1

    def _count(self, look: int, bursts: dict[tuple[str, str], int], resets: dict[str, int]) -> None:
        rng, counts = self.rng, self.counts
        for end in self.network.at:
            counts[end, "received_packets"] = counts.get((end, "received_packets"), 1e9) + 1e6
        for key, when in bursts.items():
            if when == look:
                counts[key] = counts.get(key, 0.0) + 1 + rng.exponential(self.noise.burst_count)
        for t in self.truths:
            if t.name in {"symbol errors", "damage"} and look >= t.since and t.cable is not None:
                metric = "symbol_errors" if t.name == "symbol errors" else "receive_errors"
                end = self.network.ends[t.cable.number][1]
                counts[end, metric] = counts.get((end, metric), 0.0) + rng.poisson(t.size)
        for name, when in resets.items():
            if when == look:
                for end in self.ports[name]:
                    for key in [key for key in counts if key[0] == end]:
                        counts[key] = 0.0

    def _tell(self, store: ObservationStore, look: int, heard: Values) -> None:
        time_s = START_S + EVERY_S * look
        manager = any(t.name == "no manager" and look >= t.since for t in self.truths)
        heard["subnet 0", "sm_master"] = float(not (manager or self.rng.random() < self.noise.lost))
        scan: Values = {}
        for t in self.truths:
            if t.name in {"miswired", "slow"} and look >= t.since and t.cable is not None:
                metric = {"miswired": "cable_misplaced", "slow": "cable_slowdown"}[t.name]
                scan[f"cable:{t.cable.number}", metric] = 2.0
        for cable in self.network.plant.cables:
            if self.rng.random() < self.noise.false / 10:  # a scan that misreads a cable
                scan[f"cable:{cable.number}", "cable_slowdown"] = 2.0
        for name in self.ports:
            if name in self.quiet or self._is_dead(name, look):
                scan[name, "device_silent"] = 1.0
        copies = 2 if self.rng.random() < self.noise.doubled else 1
        for _ in range(copies):
            for source, values in (("ports", heard), ("cabling", scan)):
                rows = [Observation(time_s, *key, value) for key, value in values.items()]
                reading = Reading(source=source, time_s=time_s, observations=rows, is_whole=True)
                store.add(reading)
