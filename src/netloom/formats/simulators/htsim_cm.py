"""Read htsim's connection matrices: flows, what triggers them, and failed cables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from netloom.errors import SpecError
from netloom.formats.simulators.htsim import SWITCH_TYPES, Failure
from netloom.formats.simulators.lines import TextLine, lines_of, shown
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
class _Flow:
    line: TextLine
    source: int
    target: int
    size_bytes: int
    start_ps: int
    has_prio: bool
    trigger: int
    fires: tuple[int, ...]
    send_done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trigger:
    line: TextLine
    kind: TriggerKind
    count: int


@dataclass(slots=True)
class _Parts:
    counts: dict[str, int] = field(default_factory=dict)
    flows: list[_Flow] = field(default_factory=list)
    triggers: dict[int, _Trigger] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


def read_connections(text: str, *, name: str) -> Connections:
    """Return the connection matrix in *text*; *name* opens the messages.

    Starts are in picoseconds. A flow that another triggers waits for its last byte; where the file
    says send_done it is among those that are *told*. A barrier waits for as many flows as fire it.
    The k-th flow of a multishot trigger waits for the k-th flow that fires it, in the order of the
    file, where htsim takes whichever is done k-th.

    Raises:
        SpecError: the text is wrong, or a trigger can never fire.
    """
    parts = _Parts()
    for line in lines_of(text, name=name):
        _read_line(line, parts)
    found = (len(parts.flows), len(parts.triggers), len(parts.failures))
    for key, count in zip(COUNTS[1:], found, strict=True):
        if parts.counts.get(key, 0) != count:
            raise SpecError(
                file=name,
                what=f"{count} {key.lower()}, but the header says {parts.counts.get(key, 0)}",
                remedy="correct one of them",
            )
    _check_hosts(parts, name)
    waits = _waits(parts, _firing(parts))
    return Connections(
        num_nodes=parts.counts["Nodes"],
        transfers=_transfers(parts.flows, waits),
        failures=tuple(parts.failures),
        num_prio=sum(flow.has_prio for flow in parts.flows),
        told=_told(parts.flows, waits),
    )


def _check_hosts(parts: _Parts, name: str) -> None:
    """Raise unless there are flows, all of them between hosts that the file is for."""
    if "Nodes" not in parts.counts:
        raise SpecError(file=name, what="the line 'Nodes N' is missing", remedy="is it a .cm file?")
    if not parts.flows:
        raise SpecError(
            file=name,
            what="no connections",
            remedy="add a line such as '0->1 id 1 start 0 size 1000'",
        )
    most = parts.counts["Nodes"] - 1
    for flow in parts.flows:
        if max(flow.source, flow.target) > most:
            flow.line.refuse(f"host {max(flow.source, flow.target)}; hosts are 0 to {most}")


def _read_line(line: TextLine, parts: _Parts) -> None:
    first = line.words[0]
    if "->" in first:
        parts.flows.append(_flow(line))
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
    triggers = [
        line.whole(given[key], "trigger id", least=1)
        for key in ("send_done_trigger", "recv_done_trigger")
        if key in given
    ]
    return _Flow(
        line=line,
        source=source,
        target=target,
        size_bytes=line.whole(given["size"], "size in bytes", least=1),
        start_ps=int(start_ps),
        has_prio="prio" in given,
        trigger=line.whole(given.get("trigger", "0"), "trigger id", least="trigger" in given),
        fires=tuple(dict.fromkeys(triggers)),
        send_done=0 if "send_done_trigger" not in given else triggers[0],
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


def _firing(parts: _Parts) -> dict[int, list[int]]:
    """Return the flows that fire each trigger."""
    firing: dict[int, list[int]] = {}
    for index, flow in enumerate(parts.flows):
        for number in flow.fires:
            if number not in parts.triggers:
                flow.line.refuse(f"trigger {number} is not defined; add 'trigger id {number}'")
            firing.setdefault(number, []).append(index)
    return firing


def _told(flows: list[_Flow], waits: list[list[int]]) -> NDArray[np.int64]:
    """Return which flow waits for the sender of which other."""
    pairs = [
        (index, before)
        for index, (flow, awaited) in enumerate(zip(flows, waits, strict=True))
        for before in awaited
        if flows[before].send_done == flow.trigger
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _transfers(flows: list[_Flow], waits: list[list[int]]) -> Transfers:
    offsets = np.cumsum([0, *(len(one) for one in waits)])
    count = len(flows)
    # One connection each; ports step through the range that RoCEv2 senders use.
    ports = FIRST_PORT + np.arange(count) * 7919 % NUM_PORTS
    return Transfers(
        source=np.array([flow.source for flow in flows], dtype=np.int32),
        target=np.array([flow.target for flow in flows], dtype=np.int32),
        size_bytes=np.array([flow.size_bytes for flow in flows], dtype=np.int64),
        start_ps=np.array([flow.start_ps for flow in flows], dtype=np.int64),
        delay_ps=np.zeros(count, dtype=np.int64),
        source_port=ports.astype(np.uint16),
        priority=np.full(count, PRIORITY, dtype=np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=offsets.astype(np.int64),
        waits=np.array([index for one in waits for index in one], dtype=np.int32),
    )


def _waits(parts: _Parts, firing: Mapping[int, list[int]]) -> list[list[int]]:
    turn: dict[int, int] = {}
    waits: list[list[int]] = []
    for flow in parts.flows:
        if not flow.trigger:
            waits.append([])
            continue
        trigger = parts.triggers.get(flow.trigger)
        if trigger is None:
            flow.line.refuse(f"trigger {flow.trigger} is not defined; add 'trigger id ...'")
        place = turn.setdefault(flow.trigger, 0)
        turn[flow.trigger] += 1
        waits.append(_awaited(trigger, firing.get(flow.trigger, []), place, flow.line))
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
