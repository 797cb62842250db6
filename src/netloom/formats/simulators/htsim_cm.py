"""Read htsim's connection matrices: flows, what triggers them, and failed cables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from netloom.engines import native
from netloom.errors import SpecError
from netloom.formats.simulators.htsim import SWITCH_TYPES, Failure
from netloom.formats.simulators.lines import TextLine, shown, unread_lines
from netloom.spec.problems import did_you_mean
from netloom.workload.dag import FIRST_PORT, NUM_PORTS
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Connections", "read_connections"]

COUNTS: Final = ("Nodes", "Connections", "Triggers", "Failures")
TriggerKind = Literal["oneshot", "multishot", "barrier"]
TRIGGER_KINDS: Final[tuple[TriggerKind, ...]] = ("oneshot", "multishot", "barrier")
FLOW_KEYS: Final = (
    "id",
    "start",
    "size",
    "trigger",
    "send_done_trigger",
    "recv_done_trigger",
    "prio",
)
PRIORITY: Final = 3  # of all flows: the class RoCE is commonly put on


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Connections:
    """A ``.cm`` file.

    Attributes:
        num_nodes: Hosts that the file was written for.
        transfers: Flows in the order of the file.
        failures: Cables that are down.
        num_prio: Flows that have a ``prio``. No switch of htsim's knows it: NDP's receivers pull by
            it, and main_uec.cpp passes it over.
        told: Pairs of flows: the first waits until the sender of the second knows that it has
            arrived (send_done_trigger), which *transfers* cannot say.
    """

    num_nodes: int
    transfers: Transfers
    failures: tuple[Failure, ...]
    num_prio: int
    told: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ties:
    """What a flow waits for and what it sets off; 0 for nothing."""

    trigger: int = 0
    send_done: int = 0
    recv_done: int = 0

    @property
    def fires(self) -> tuple[int, ...]:
        """The triggers that it fires, each once."""
        return tuple(dict.fromkeys(one for one in (self.send_done, self.recv_done) if one))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    line: TextLine
    source: int
    target: int
    size_bytes: int
    start_ps: int
    has_prio: bool
    ties: _Ties


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trigger:
    line: TextLine
    kind: TriggerKind
    count: int


@dataclass(slots=True)
class _Parts:
    """What is not a plain flow; flows with how many plain ones come before them."""

    counts: dict[str, int] = field(default_factory=dict)
    flows: list[tuple[int, _Flow]] = field(default_factory=list)
    triggers: dict[int, _Trigger] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FlowColumns:
    """Flows in the order of the file.

    Attributes:
        ties: Of the flows that have some, by their place.
    """

    name: str
    line: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    num_prio: int
    ties: dict[int, _Ties]

    def __len__(self) -> int:
        return len(self.line)

    def at(self, place: int) -> TextLine:
        """Return the line that a flow stands in, for a message."""
        return TextLine(where=f"{self.name}:{self.line[place]}", words=())


def read_connections(text: str, *, name: str) -> Connections:
    """Return the connection matrix in *text*; *name* opens the messages.

    Starts are in picoseconds. A flow that another triggers waits for its last byte; where the file
    says send_done it is among those that are *told*. A barrier waits for as many flows as fire it.
    The k-th flow of a multishot trigger waits for the k-th flow that fires it, in the order of the
    file, where htsim takes whichever is done k-th.

    Raises:
        SpecError: the text is wrong, or a trigger can never fire.
    """
    found = native.scan_connections(text)
    parts = _Parts()
    for position, line in unread_lines(found, text, name=name):
        _read_line(line, position, parts)
    flows = _columns(found, parts.flows, name)
    counted = (len(flows), len(parts.triggers), len(parts.failures))
    for key, count in zip(COUNTS[1:], counted, strict=True):
        if parts.counts.get(key, 0) != count:
            raise SpecError(
                file=name,
                what=f"{count} {key.lower()}, but the header says {parts.counts.get(key, 0)}",
                remedy="correct one of them",
            )
    _check_hosts(parts, flows)
    waits = _waits(parts, flows, _firing(parts, flows))
    return Connections(
        num_nodes=parts.counts["Nodes"],
        transfers=_transfers(flows, waits),
        failures=tuple(parts.failures),
        num_prio=flows.num_prio,
        told=_told(flows, waits),
    )


def _columns(found: dict[str, Any], others: list[tuple[int, _Flow]], name: str) -> _FlowColumns:
    """Return the flows that were scanned, and the others at their places among them."""
    before = np.array([position for position, _ in others], dtype=np.int64)
    number = [int(flow.line.where.rpartition(":")[2]) for _, flow in others]
    places = before + np.arange(len(others))  # in the file
    shift = np.searchsorted(before, found["tied"].astype(np.int64), side="right")
    tied = zip(
        (found["tied"].astype(np.int64) + shift).tolist(),
        *(found[column].tolist() for column in ("trigger", "send_done", "recv_done")),
        strict=True,
    )
    ties = {
        place: _Ties(trigger=trigger, send_done=sent, recv_done=received)
        for place, trigger, sent, received in tied
    }
    own = zip(places.tolist(), others, strict=True)
    ties |= {place: flow.ties for place, (_, flow) in own if flow.ties != _Ties()}

    def column(of_name: str) -> NDArray[Any]:
        return np.insert(found[of_name], before, [getattr(flow, of_name) for _, flow in others])

    return _FlowColumns(
        name=name,
        line=np.insert(found["line"].astype(np.int64), before, number),
        source=column("source"),
        target=column("target"),
        size_bytes=column("size_bytes"),
        start_ps=column("start_ps"),
        num_prio=found["num_prio"] + sum(flow.has_prio for _, flow in others),
        ties=dict(sorted(ties.items())),
    )


def _check_hosts(parts: _Parts, flows: _FlowColumns) -> None:
    """Raise unless there are flows, all of them between hosts that the file is for."""
    if "Nodes" not in parts.counts:
        raise SpecError(
            file=flows.name, what="the line 'Nodes N' is missing", remedy="is it a .cm file?"
        )
    if not len(flows):
        raise SpecError(
            file=flows.name,
            what="no connections",
            remedy="add a line such as '0->1 id 1 start 0 size 1000'",
        )
    most = parts.counts["Nodes"] - 1
    highest = np.maximum(flows.source, flows.target)
    if int(highest.max()) > most:
        first = int(np.argmax(highest > most))
        flows.at(first).refuse(f"host {highest[first]}; hosts are 0 to {most}")


def _read_line(line: TextLine, position: int, parts: _Parts) -> None:
    first = line.words[0]
    if "->" in first:
        parts.flows.append((position, _flow(line)))
    elif first in COUNTS:
        line.expect(2, f"{first} N")
        parts.counts[first] = line.whole(line.words[1], first.lower(), most=100_000_000)
    elif first == "trigger":
        number, trigger = _trigger(line)
        if number in parts.triggers:
            line.refuse(f"trigger {number} is defined twice; remove one")
        parts.triggers[number] = trigger
    elif first == "failure":
        parts.failures.append(_failure(line))
    else:
        known = (*COUNTS, "trigger", "failure", "A->B")
        line.refuse(f"{shown(first)} is not known; {did_you_mean(first, known)}")


def _pairs(line: TextLine, known: tuple[str, ...]) -> dict[str, str]:
    """Return the words after the first as keys and values."""
    words = line.words[1:]
    if len(words) % 2:
        line.refuse(f"{shown(words[-1])} has no value; every key is followed by one")
    found: dict[str, str] = {}
    for key, value in zip(words[::2], words[1::2], strict=True):
        if key not in known:
            line.refuse(f"{shown(key)} is not known; {did_you_mean(key, known)}")
        if key in found:
            line.refuse(f"{key} is given twice; remove one")
        found[key] = value
    return found


def _flow(line: TextLine) -> _Flow:
    ends = line.words[0].split("->")
    if len(ends) != 2:
        line.refuse(f"{shown(line.words[0])} has not the form 'A->B'")
    source, target = (line.whole(end, "host", most=1 << 20) for end in ends)
    if source == target:
        line.refuse(f"host {source} sends to itself; name two different hosts")
    given = _pairs(line, FLOW_KEYS)
    if ("start" in given) == ("trigger" in given):
        line.refuse("give a flow either 'start PS' or 'trigger ID'")
    if "size" not in given:
        line.refuse("a flow without end; add 'size BYTES'")
    if "id" in given:
        line.whole(given["id"], "flow id", least=1)
    if "prio" in given:
        line.whole(given["prio"], "prio")
    start_ps = line.number(given.get("start", "0"), "start in ps", most=10**16)
    ties = _Ties(
        trigger=line.whole(given.get("trigger", "0"), "trigger id", least="trigger" in given),
        **{
            f"{when}_done": line.whole(given[f"{when}_done_trigger"], "trigger id", least=1)
            for when in ("send", "recv")
            if f"{when}_done_trigger" in given
        },
    )
    return _Flow(
        line=line,
        source=source,
        target=target,
        size_bytes=line.whole(given["size"], "size in bytes", least=1),
        start_ps=int(start_ps),
        has_prio="prio" in given,
        ties=ties,
    )


def _trigger(line: TextLine) -> tuple[int, _Trigger]:
    kinds = [word for word in line.words if word in TRIGGER_KINDS]
    if len(kinds) != 1:
        line.refuse(f"a trigger is one of {', '.join(TRIGGER_KINDS)}")
    rest = tuple(word for word in line.words if word not in TRIGGER_KINDS)
    given = _pairs(TextLine(where=line.where, words=rest), ("id", "count"))
    if "id" not in given:
        line.refuse("a trigger without 'id N'; add it")
    count = line.whole(given.get("count", "0"), "count")
    if kinds[0] == "barrier" and not count:
        line.refuse("a barrier needs 'count N', at least 1")
    kind = next(known for known in TRIGGER_KINDS if known == kinds[0])
    number = line.whole(given["id"], "trigger id", least=1)
    return number, _Trigger(line=line, kind=kind, count=count)


def _failure(line: TextLine) -> Failure:
    given = _pairs(line, ("switch_type", "switch_id", "link_id"))
    kind = next((one for one in SWITCH_TYPES if one == given.get("switch_type")), None)
    if kind is None or not {"switch_id", "link_id"} <= set(given):
        line.refuse(
            "a failure has the form 'failure switch_type TOR|AGG|CORE switch_id N link_id N'"
        )
    return Failure(
        switch_type=kind,
        switch=line.whole(given["switch_id"], "switch id"),
        link=line.whole(given["link_id"], "link id"),
        where=line.where,
    )


def _firing(parts: _Parts, flows: _FlowColumns) -> dict[int, list[int]]:
    """Return the flows that fire each trigger."""
    firing: dict[int, list[int]] = {}
    for place, ties in flows.ties.items():
        for number in ties.fires:
            if number not in parts.triggers:
                flows.at(place).refuse(
                    f"trigger {number} is not defined; add 'trigger id {number}'"
                )
            firing.setdefault(number, []).append(place)
    return firing


def _told(flows: _FlowColumns, waits: Mapping[int, list[int]]) -> NDArray[np.int64]:
    """Return which flow waits for the sender of which other."""
    pairs = [
        (place, before)
        for place, awaited in waits.items()
        for before in awaited
        if flows.ties[before].send_done == flows.ties[place].trigger
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _transfers(flows: _FlowColumns, waits: Mapping[int, list[int]]) -> Transfers:
    count = len(flows)
    waiting = np.zeros(count + 1, dtype=np.int64)
    for place, awaited in waits.items():
        waiting[place + 1] = len(awaited)
    # One connection each; ports step through the range that RoCEv2 senders use.
    ports = FIRST_PORT + np.arange(count) * 7919 % NUM_PORTS
    return Transfers(
        source=flows.source,
        target=flows.target,
        size_bytes=flows.size_bytes,
        start_ps=flows.start_ps,
        delay_ps=np.zeros(count, dtype=np.int64),
        source_port=ports.astype(np.uint16),
        priority=np.full(count, PRIORITY, dtype=np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.cumsum(waiting),
        waits=np.array([index for one in waits.values() for index in one], dtype=np.int32),
    )


def _waits(
    parts: _Parts, flows: _FlowColumns, firing: Mapping[int, list[int]]
) -> dict[int, list[int]]:
    """Return what each flow that a trigger starts waits for."""
    turn: dict[int, int] = {}
    waits: dict[int, list[int]] = {}
    for place, ties in flows.ties.items():
        if not ties.trigger:
            continue
        trigger = parts.triggers.get(ties.trigger)
        if trigger is None:
            flows.at(place).refuse(f"trigger {ties.trigger} is not defined; add 'trigger id ...'")
        now = turn.setdefault(ties.trigger, 0)
        turn[ties.trigger] += 1
        waits[place] = _awaited(trigger, firing.get(ties.trigger, []), now, flows.at(place))
    return waits


def _awaited(trigger: _Trigger, firing: list[int], place: int, line: TextLine) -> list[int]:
    """Return what the flow in *line*, the *place*-th of its trigger, waits for."""
    if trigger.kind == "multishot":
        if place >= len(firing):
            line.refuse(
                f"its trigger is fired {len(firing)} times, too few for this flow; add a flow "
                "with recv_done_trigger"
            )
        return [firing[place]]
    wanted = trigger.count if trigger.kind == "barrier" else 1
    if len(firing) != wanted:
        trigger.line.refuse(
            f"{trigger.kind} is fired by {len(firing)} flows, not {wanted}; make them equal"
        )
    return firing
