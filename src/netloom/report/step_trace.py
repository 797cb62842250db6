"""One step as a Perfetto trace: a track for each pipeline stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.step.model import Step
    from netloom.step.timeline import BusyInterval, Timeline

__all__ = ["step_trace"]

_SEQUENCE: Final = 1  # one writer, so one packet sequence
_FIRST_TRACK: Final = 1
_MIN_NS: Final = 1


def step_trace(step: Step, *, title: str) -> bytes:
    """Return the schedule of *step* in Perfetto's protobuf form.

    Each stage has a track: its passes, inside a pass the communication it waits for, the bubble
    between passes, then the exposed data-parallel communication and the weight update.

    Raises:
        OutputError: the ``perfetto`` package is not installed.
    """
    builder = _builder()
    times = step.pipeline.timeline()
    for stage in range(len(times.stages)):
        _add_track(builder, stage, title=title)
        for name, start_s, end_s in _slices(step, times, stage):
            _add_slice(builder, stage, name=name, start_s=start_s, end_s=end_s)
    return bytes(builder.serialize())


def _builder() -> Any:
    try:
        from perfetto.trace_builder.proto_builder import TraceProtoBuilder  # noqa: PLC0415
    except ImportError as error:
        raise OutputError(
            option="--trace",
            what="needs the perfetto package",
            remedy="install it with: pip install netloom[trace]",
        ) from error
    return TraceProtoBuilder()


def _slices(step: Step, times: Timeline, stage: int) -> Iterator[tuple[str, float, float]]:
    """Yield (name, start, end) of a stage in order, an outer slice before those inside it."""
    passes = step.pipeline.stages[stage]
    waiting_s = {
        "forward": passes.forward_waiting_s / step.pipeline.virtual,
        "backward": passes.backward_waiting_s / step.pipeline.virtual,
        "weights": 0.0,
    }
    at_s = 0.0
    for one in times.stages[stage]:
        if one.start_s > at_s:
            yield "bubble", at_s, one.start_s
        yield _name(one), one.start_s, one.end_s
        if waiting_s[one.way]:
            yield "exposed communication", one.end_s - waiting_s[one.way], one.end_s
        at_s = one.end_s
    if times.makespan_s > at_s:
        yield "bubble", at_s, times.makespan_s
    yield from _after(step, times.makespan_s)


def _name(one: BusyInterval) -> str:
    return f"{one.way} {one.micro_batch}.{one.chunk}"


def _after(step: Step, start_s: float) -> Iterator[tuple[str, float, float]]:
    """Yield what follows the last pass on every stage."""
    updated_s = start_s + step.pipeline.after_s
    if step.pipeline.after_s:
        yield "exposed data communication", start_s, updated_s
    yield "optimizer", updated_s, updated_s + step.optimizer_s


def _add_track(builder: Any, stage: int, *, title: str) -> None:
    packet = builder.add_packet()
    packet.trusted_packet_sequence_id = _SEQUENCE
    packet.track_descriptor.uuid = _FIRST_TRACK + stage
    packet.track_descriptor.name = f"{title}: stage {stage}"


def _add_slice(
    builder: Any,
    stage: int,
    *,
    name: str,
    start_s: float,
    end_s: float,
) -> None:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent  # noqa: PLC0415

    start_ns = round(start_s * 1e9)
    for kind, at_ns in (
        (TrackEvent.TYPE_SLICE_BEGIN, start_ns),
        (TrackEvent.TYPE_SLICE_END, max(round(end_s * 1e9), start_ns + _MIN_NS)),
    ):
        packet = builder.add_packet()
        packet.timestamp = at_ns
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.type = kind
        packet.track_event.track_uuid = _FIRST_TRACK + stage
        if kind == TrackEvent.TYPE_SLICE_BEGIN:
            packet.track_event.name = name
