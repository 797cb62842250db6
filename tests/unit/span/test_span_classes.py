"""Classes and streams of ``nl.span``: bounds beside the packet engine, and refusals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.span.lines import built_span
from netloom.fabric.span.optimal import optimal_schedule
from netloom.fabric.span.schedule import PeriodicStream, ScheduledLink, prove
from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.span.classes import ClassBound, class_bounds
from netloom.study.span.streams import scheduled_streams

if TYPE_CHECKING:
    from netloom.fabric.span.lines import BuiltSpan

PAIRS = (("a", "b"), ("b", "c"), ("c", "a"))
SPAN = """
  - between: [{one}, {other}]
    length: 100km
    waves: {{count: 1, rate: 100Gbps}}
    carried_by: {carried}
{rest}
"""


def _spans(*rests: str, carried: str = "{kind: tsn}") -> list[BuiltSpan]:
    spans = "".join(
        SPAN.format(one=one, other=other, carried=carried, rest=rest)
        for (one, other), rest in zip(PAIRS, rests, strict=False)
    )
    scenario = parse(
        "cluster: {nodes: 6, node: dgx-h100, fabric: {technology: rocev2-400g}}\n"
        "sites: [{name: a, nodes: 2}, {name: b, nodes: 2}, {name: c, nodes: 2}]\n"
        f"spans: {spans}"
        "job: {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}\n",
        name="scenario.yaml",
    )
    catalog = catalog_of(scenario)
    return [
        built_span(one, catalog, key=f"spans[{number}]")
        for number, one in enumerate(scenario.spans)
    ]


def _classes(*lines: str) -> str:
    return "    classes:\n" + "\n".join(f"      - {{{line}}}" for line in lines)


def _held(rows: tuple[ClassBound, ...], least: float) -> None:
    """Check that queueing in the packet engine is below its bound, and reaches a share of it."""
    for row in rows:
        assert row.delay_bound_s is not None, row.reason
        assert row.simulated_max_s is not None
        assert row.jitter_bound_s is not None
        assert row.simulated_max_s <= row.delay_bound_s
        queued_s = row.jitter_bound_s - (row.delay_bound_s - row.simulated_max_s)
        assert queued_s >= least * row.jitter_bound_s


LOW = "name: bulk, priority: 2, share: 0.6, burst: 1MB"
HIGH = "name: control, priority: 6, share: 0.2, burst: 100kB"


@pytest.mark.parametrize(
    ("carried", "low", "high", "least"),
    [
        ("{kind: ip}", LOW, HIGH, 0.9),
        ("{kind: flexe}", LOW, HIGH, 0.9),
        ("{kind: detnet}", f"{LOW}, shaper: ats", HIGH, 0.85),
        ("{kind: tsn}", f"{LOW}, shaper: cbs", f"{HIGH}, shaper: cbs", 0.85),
        ("{kind: tsn}", LOW, f"{HIGH}, preempts: true", 0.85),
        (
            "{kind: tsn, cycle: 50us}",
            f"{LOW}, window: {{begin: 15us, length: 35us}}",
            f"{HIGH}, window: {{length: 15us}}",
            0.1,
        ),
    ],
)
def test_the_packet_engine_stays_below_the_bound(
    carried: str, low: str, high: str, least: float
) -> None:
    _held(class_bounds(_spans(_classes(low, high), carried=carried)), least)


def test_a_class_that_goes_on_is_bounded_over_all_its_spans() -> None:
    rows = class_bounds(
        _spans(
            _classes(f"{LOW}, via: [c]"),
            _classes("name: other, priority: 2, share: 0.3, burst: 1MB"),
        )
    )
    alone = class_bounds(_spans(_classes(LOW)))
    _held(rows, 0.3)
    assert rows[0].delay_bound_s is not None
    assert alone[0].delay_bound_s is not None
    assert rows[0].delay_bound_s > 2 * alone[0].delay_bound_s


def test_classes_that_feed_each_other_in_a_circle_are_refused_and_shaping_helps() -> None:
    ring = [_classes(f"{LOW}, via: [{far}]".replace("0.6", "0.4")) for far in ("c", "a", "b")]
    with pytest.raises(
        SpecError, match=r"in a circle: .*a -> b.*shape at each hop \('shaper: ats'"
    ):
        class_bounds(_spans(*ring))
    shaped = [rest.replace("via", "shaper: ats, via") for rest in ring]
    _held(class_bounds(_spans(*shaped)), 0.2)  # bursts that start together do not meet at sites


def test_a_collective_has_no_bound_nor_has_what_is_sent_after_it() -> None:
    bulk, control = class_bounds(
        _spans(_classes(LOW, "name: collective, priority: 6, share: 0.2, deadline: 1ms"))
    )
    assert bulk.delay_bound_s is bulk.simulated_max_s is bulk.backlog_bound_bytes is None
    assert bulk.reason == "no bound: 'collective', which is sent before it, is not shaped"
    assert control.reason.startswith("no bound: its sources are not shaped, and a collective is")
    assert control.deadline_ok is False


def test_a_collective_of_low_priority_blocks_by_one_frame_alone() -> None:
    rows = class_bounds(_spans(_classes(HIGH, "name: collective, priority: 2, share: 0.2")))
    alone = class_bounds(_spans(_classes(HIGH)))
    assert rows[0].delay_bound_s is not None
    assert alone[0].delay_bound_s is not None
    assert rows[0].delay_bound_s - alone[0].delay_bound_s == pytest.approx(4_194 * 8 / 100e9)


@pytest.mark.parametrize(
    ("carried", "lines", "said"),
    [
        ("{kind: tsn}", ["via: [d]"], r"classes\[0\]\.via: no span leads from 'b' to 'd'; go by"),
        ("{kind: tsn}", ["via: [a, b]"], r"passes a span twice: a -> b -> a -> b; end its route"),
        ("{kind: tsn}", ["deadline: 100us"], r"deadline: 0\.1 ms, and propagation alone takes"),
        ("{kind: ip}", ["preempts: true"], r"ip has no preempts; use 'carried_by: \{kind: tsn\}'"),
        ("{kind: flexe}", ["shaper: cbs"], r"flexe has no cbs; use 'carried_by: \{kind: tsn\}'"),
        ("{kind: tsn}", ["window: {length: 9us}"], r"a window without a cycle; give 'carried_by"),
        (
            "{kind: tsn, cycle: 50us}",
            ["window: {length: 9us}", "priority: 5"],
            r"classes\[1\]\.window: 'c1' has none, and other classes of a -> b do; give it one",
        ),
        (
            "{kind: tsn, cycle: 50us}",
            ["window: {length: 9us}", "priority: 5, window: {begin: 8us, length: 9us}"],
            r"the window of 'c1' .*8 to 17 us\) overlaps .*by 1 us; begin it at 9 us or later",
        ),
        (
            "{kind: tsn, cycle: 50us}",
            ["window: {length: 90us}"],
            r"does not lie in the cycle of 50 us; move it, shorten it, or use a longer cycle",
        ),
        (
            "{kind: tsn, cycle: 50us}",
            ["window: {length: 0.1us}"],
            r"0\.1 us, and a frame of 4194 bytes takes 0\.33552 us; use a longer window",
        ),
        ("{kind: tsn}", ["shaper: cbs, preempts: true"], r"cbs and preempts at one port"),
        (
            "{kind: tsn}",
            ["shaper: cbs", "priority: 5"],
            r"classes\[1\]\.priority: 5, not below 3 of a class with a credit-based shaper",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_and_a_remedy(
    carried: str, lines: list[str], said: str
) -> None:
    texts = []
    for number, line in enumerate(lines):
        priority = "" if "priority" in line else "priority: 3, "
        texts.append(f"name: c{number}, {priority}share: 0.2, burst: 1MB, {line}")
    with pytest.raises(SpecError, match=said):
        class_bounds(_spans(_classes(*texts), carried=carried))


def _streams(*lines: str) -> str:
    return "    streams:\n" + "\n".join(f"      - {{{line}}}" for line in lines)


def test_streams_are_scheduled_and_run_as_scheduled() -> None:
    rows = scheduled_streams(
        _spans(
            _streams(
                "name: clock, period: 125us, size: 128B, deadline: 2ms",
                "name: sensor, period: 250us, size: 9000B, deadline: 2ms",
                "name: command, period: 500us, size: 1500B, deadline: 2ms",
            )
        )
    )
    assert [row.found_by for row in rows] == ["list"] * 3
    for row in rows:
        assert row.simulated_max_s == pytest.approx(row.delay_s, abs=1e-15)
        assert row.simulated_jitter_s == 0
        assert row.delay_s <= row.deadline_s
    offsets = sorted((row.offset_s, row.name) for row in rows)
    # 158 bytes at 100 Gb/s, and a gap of 12 bytes.
    assert offsets[0] == (0.0, "clock")
    assert offsets[1][0] == pytest.approx(170 * 8 / 100e9)


@pytest.mark.parametrize(
    ("line", "carried", "said"),
    [
        (
            "period: 125us, size: 128B, deadline: 10us",
            "{kind: tsn}",
            r"deadline: 10 us, and 's' takes",
        ),
        ("period: 125us, size: 128B, deadline: 9ms", "{kind: ip}", r"ip has no gates; use"),
        (
            "period: 100ns, size: 9kB, deadline: 9ms",
            "{kind: tsn}",
            r"booked to 723\.\d %, guards of",
        ),
    ],
)
def test_streams_that_cannot_be_scheduled_are_refused(line: str, carried: str, said: str) -> None:
    with pytest.raises((SpecError, InfeasibleError), match=rf"spans\[0\]\.streams.*{said}"):
        scheduled_streams(_spans(_streams(f"name: s, {line}"), carried=carried))


def test_the_solver_finds_what_the_list_scheduler_misses_or_says_that_it_is_missing() -> None:
    links = [ScheduledLink(name="l", rate_bps=10**9)]
    streams = [
        PeriodicStream(
            name=f"s{at}",
            period_ps=period * 1_000_000,
            size_bytes=size,
            route=(0,),
            deadline_ps=10**9,
        )
        for at, (period, size) in enumerate(((40, 2_500), (60, 2_500)))
    ]
    try:
        import ortools  # noqa: F401, PLC0415
    except ImportError:
        with pytest.raises(SpecError, match=re.escape("pip install 'netloom[schedule]'")):
            optimal_schedule(streams, links, guard_ps=0)
        return
    # 20 us every 40 and every 60: offsets 0 and 20 mod 20 meet at no time.
    found = optimal_schedule(streams, links, guard_ps=0)
    prove(found, links)
    assert found.by == "cp-sat"
