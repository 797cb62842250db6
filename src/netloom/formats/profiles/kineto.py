"""Chrome traces of PyTorch's profiler (Kineto), one file a rank.

What is read: ``ProfilerStep#N`` ranges, kernels and copies with the launch they belong to, ranges
that the program named, and collectives (NCCL's kernels carry their operation, group and size; gloo
leaves a range). Everything else is passed over.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.study.explain.timeline import (
    CollectiveCall,
    GpuWork,
    HostWork,
    RankTimeline,
    TimeSpan,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["is_kineto", "operation_of_kernel", "parse_kineto"]

_STEP: Final = re.compile(r"ProfilerStep#\d+$")
_GPU: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_LAUNCHES: Final = frozenset({"cuda_runtime", "cuda_driver"})
_OPTIMIZER: Final = re.compile(r"Optimizer\.step#")
_HOST_CALL: Final = re.compile(r"(gloo|mpi):(\w+)$")
_NCCL_KERNEL: Final = re.compile(r"[nr]ccl\w{0,20}?Kernel_(\w+?)(?:_|\(|$)")
_OPERATIONS: Final = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "alltoallv": "all-to-all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "send": "send-recv",
    "recv": "send-recv",
    "sendrecv": "send-recv",
}
_VALUE_BYTES: Final = {
    "byte": 1, "char": 1, "bool": 1, "int8": 1, "float8": 1, "half": 2, "float16": 2,
    "bfloat16": 2, "short": 2, "float": 4, "float32": 4, "int": 4, "int32": 4, "double": 8,
    "float64": 8, "long": 8, "int64": 8,
}  # fmt: skip
Event = dict[str, Any]
MAX_US: Final = 1e17  # 3,000 years: what says more is damaged
MAX_COUNT: Final = 10**15  # ranks, or elements of a message
MAX_DIMENSIONS: Final = 16


def is_kineto(head: str) -> bool:
    """Whether a text begins as such a trace does."""
    return head.lstrip().startswith("{") and any(
        key in head for key in ('"deviceProperties"', '"traceEvents"', '"schemaVersion"')
    )


def parse_kineto(text: str, *, name: str = "trace") -> RankTimeline:
    """Return what one rank's trace says.

    Raises:
        SpecError: the text is no such trace, or no GPU work of a step is in it.
    """
    trace = _trace(text, name)
    events = [one for one in trace["traceEvents"] if _is_complete(one)]
    launched_s = _launches(events)
    work = tuple(sorted(_work(events, launched_s), key=lambda one: one.span.start_s))
    if not work:
        raise SpecError(
            file=name,
            what="has no kernel in it",
            remedy="record with ProfilerActivity.CUDA, and export after the profiler stopped",
        )
    ranges = _ranges(events)
    steps = tuple(_steps(ranges)) or (_whole(work),)
    world = trace.get("distributedInfo")
    world = world if isinstance(world, dict) else {}
    return RankTimeline(
        rank=_count(world.get("rank"), 0),
        num_ranks=_count(world.get("world_size"), 1),
        gpu=_gpu(trace),
        steps=steps,
        work=work,
        host=tuple(HostWork(name=str(one["name"]), span=_span(one)) for one in ranges),
        collectives=tuple(sorted(_collectives(events, world), key=lambda one: one.span.start_s)),
        optimizer=tuple(_optimizer(events)),
    )


def _trace(text: str, name: str) -> Event:
    try:
        trace = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(
            file=name,
            what=f"is no JSON ({error})",
            remedy="give the file that torch.profiler's export_chrome_trace wrote, whole",
        ) from error
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise SpecError(
            file=name,
            what="has no list 'traceEvents'",
            remedy="give the file that torch.profiler's export_chrome_trace wrote",
        )
    return trace


def _is_complete(event: object) -> bool:
    """Whether an event has a name, a start and a length."""
    return (
        isinstance(event, dict)
        and event.get("ph") == "X"
        and isinstance(event.get("name"), str)
        and all(_is_number(event.get(key)) for key in ("ts", "dur"))
        and event["dur"] >= 0
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) <= MAX_US


def _span(event: Event) -> TimeSpan:
    return TimeSpan(event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6)


def _args(event: Event) -> Event:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _launches(events: Iterable[Event]) -> dict[Any, float]:
    """Return when the host had asked for each piece of GPU work, by correlation."""
    return {
        _args(one).get("correlation"): _span(one).end_s
        for one in events
        if one.get("cat") in _LAUNCHES
    }


def _work(events: Iterable[Event], launched_s: dict[Any, float]) -> Iterator[GpuWork]:
    for one in events:
        if one.get("cat") in _GPU:
            yield GpuWork(
                name=one["name"],
                kind=kind_of(one["name"]) if one["cat"] == "kernel" else "copy",
                span=_span(one),
                launched_s=launched_s.get(_args(one).get("correlation")),
            )


def _ranges(events: Iterable[Event]) -> list[Event]:
    found = [one for one in events if one.get("cat") == "user_annotation"]
    return sorted(found, key=lambda one: one["ts"])


def _steps(ranges: Iterable[Event]) -> Iterator[TimeSpan]:
    return (_span(one) for one in ranges if _STEP.match(one["name"]))


def _whole(work: tuple[GpuWork, ...]) -> TimeSpan:
    return TimeSpan(work[0].span.start_s, max(one.span.end_s for one in work))


def _optimizer(events: Iterable[Event]) -> Iterator[TimeSpan]:
    for one in events:
        if one.get("cat") == "gpu_user_annotation" and _OPTIMIZER.match(one["name"]):
            yield _span(one)


def _gpu(trace: Event) -> str:
    devices = trace.get("deviceProperties")
    first = devices[0] if isinstance(devices, list) and devices else {}
    return str(first.get("name", "")) if isinstance(first, dict) else ""


def _count(value: object, default: int) -> int:
    return value if isinstance(value, int) and 0 <= value <= MAX_COUNT else default


def _collectives(events: Iterable[Event], world: Event) -> Iterator[CollectiveCall]:
    everyone = _count(world.get("world_size"), 0)
    for one in events:
        if one.get("cat") == "kernel" and kind_of(one["name"]) == "collective":
            yield _of_kernel(one)
        elif one.get("cat") == "user_annotation" and (call := _HOST_CALL.match(one["name"])):
            yield _of_host(one, call[2], everyone)


def _of_kernel(event: Event) -> CollectiveCall:
    args = _args(event)
    said = str(args.get("Collective name", ""))
    return CollectiveCall(
        operation=_operation(said) if said else operation_of_kernel(event["name"]),
        span=_span(event),
        size_bytes=_size(args.get("In msg nelems"), args.get("dtype")),
        group=str(args.get("Process Group Description") or args.get("Process Group Name") or ""),
        num_ranks=_count(args.get("Group size"), 0),
        rank_stride=_stride(args),
    )


def _stride(args: Event) -> int:
    """Return the ranks from one member of the group to the next; 0 where it is not known.

    ``Process Group Ranks`` is text, such as ``[0, 8, 16, ..., 120]``.
    """
    said = _count(args.get("Global rank stride"), 0)
    if said:
        return said
    members = re.findall(r"\d{1,12}", str(args.get("Process Group Ranks", ""))[:60])
    return max(0, int(members[1]) - int(members[0])) if len(members) > 1 else 0


def _of_host(event: Event, said: str, num_ranks: int) -> CollectiveCall:
    args = _args(event)
    shapes, types = args.get("Input Dims"), args.get("Input type")
    size_bytes = None
    if isinstance(shapes, list) and isinstance(types, list):
        sizes = [_size(_elements(s), t) for s, t in zip(shapes, types, strict=False)]
        size_bytes = sum(size for size in sizes if size) or None
    return CollectiveCall(
        operation=_operation(said),
        span=_span(event),
        size_bytes=size_bytes,
        num_ranks=num_ranks,
    )


def operation_of_kernel(name: str) -> str:
    """Return the collective that a kernel of that name runs."""
    found = _NCCL_KERNEL.search(name)
    return _operation(found[1] if found else "")


def _operation(said: str) -> str:
    plain = re.sub(r"[^a-z]", "", said.lower())
    plain = next((key for key in sorted(_OPERATIONS, key=len, reverse=True) if key in plain), "")
    return _OPERATIONS.get(plain, said or "collective")


def _elements(shape: object) -> int | None:
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        return None
    if not all(isinstance(one, int) and 0 <= one <= MAX_COUNT for one in shape):
        return None
    return math.prod(shape)


def _size(elements: object, dtype: object) -> int | None:
    plain = str(dtype).lower().removeprefix("c10::").split("_")[0]
    if not isinstance(elements, int) or plain not in _VALUE_BYTES:
        return None
    if not 0 < elements <= MAX_COUNT:
        return None
    return elements * _VALUE_BYTES[plain]
