"""The trace of a step, read back by Perfetto's own library."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from netloom.errors import OutputError
from netloom.report.step_trace import step_trace
from netloom.spec.scenario import Job
from netloom.step.predict import predict

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.step.model import Step

JOB = {
    "model": "any",
    "training": {"sequence": 2048, "global_batch": 128, "recompute": "full"},
    "parallel": {"tensor": 4, "pipeline": 4, "virtual_pipeline": 2},
}


@pytest.fixture
def step(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> Step:
    """Return a step on four stages: 8 micro-batches, two chunks of layers on each stage."""
    return predict(
        Job.model_validate(JOB),
        model=model_of("llama-3.1-8b", num_layers=16),
        network=network_of("H100", 256),
        engine=alpha_beta(),
    )


def slices_of(content: bytes) -> dict[int, list[tuple[str, int, int]]]:
    """Return (name, begin, end) in ns of every slice, by track."""
    trace = Trace()
    trace.ParseFromString(content)
    found: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
    open_: dict[int, list[tuple[str, int]]] = defaultdict(list)
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    # As Perfetto does: by time, ends before begins.
    ends = TrackEvent.TYPE_SLICE_END
    for packet in sorted(events, key=lambda p: (p.timestamp, p.track_event.type != ends)):
        event = packet.track_event
        if event.type == ends:
            name, begin = open_[event.track_uuid].pop()
            found[event.track_uuid].append((name, begin, packet.timestamp))
        else:
            open_[event.track_uuid].append((event.name, packet.timestamp))
    assert not any(open_.values())
    return dict(found)


def test_every_stage_is_a_track_with_all_its_passes(step: Step) -> None:
    tracks = slices_of(step_trace(step, title="test"))
    assert len(tracks) == 4
    for slices in tracks.values():
        names = [name for name, _, _ in slices]
        # 128 sequences over 16 copies: 8 micro-batches of 1, two chunks, two ways.
        assert sum(name.startswith(("forward", "backward")) for name in names) == 8 * 2 * 2
        assert names.count("optimizer") == 1
        assert "bubble" in names
        assert "exposed communication" in names


def test_the_trace_ends_when_the_step_does(step: Step) -> None:
    tracks = slices_of(step_trace(step, title="test"))
    # The logits make the last stage longer than the others; the closed form is exact for one
    # slower stage, up to rounding to nanoseconds.
    for slices in tracks.values():
        assert max(end for _, _, end in slices) == pytest.approx(step.duration_s * 1e9, rel=0.01)


def test_without_the_package_the_message_says_what_to_install(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "perfetto.trace_builder.proto_builder", None)
    with pytest.raises(OutputError, match=r"pip install netloom\[trace\]"):
        step_trace(step, title="test")
