"""Chakra traces: any graph comes back as it was, and no bytes make the reader fail otherwise."""

from __future__ import annotations

import contextlib
import gzip
import io
from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.formats.traces import chakra
from netloom.study.trace.table import tally
from netloom.workload.trace import NodeKind, TraceNode

if TYPE_CHECKING:
    from collections.abc import Callable

UINT64 = st.integers(0, 2**64 - 1)
INT64 = st.integers(-(2**63), 2**64 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
NAMES = st.sampled_from(["comm_src", "comm_size", "comm_type", "comm_dst", "tensor_size"]) | TEXT
VALUES = st.booleans() | INT64 | st.floats(allow_nan=False) | TEXT


@st.composite
def graphs(draw: st.DrawFn) -> list[TraceNode]:
    ids = draw(st.lists(UINT64, unique=True, max_size=6))
    return [
        TraceNode(
            node_id=node_id,
            name=draw(TEXT),
            kind=draw(st.sampled_from(NodeKind)),
            needs=tuple(draw(st.lists(UINT64, max_size=3))),
            follows=tuple(draw(st.lists(UINT64, max_size=3))),
            start_us=draw(UINT64),
            duration_us=draw(UINT64),
            attributes=draw(st.dictionaries(NAMES, VALUES, max_size=4)),
        )
        for node_id in ids
    ]


def typed(nodes: list[TraceNode]) -> list[tuple[TraceNode, list[type]]]:
    """Return the nodes with the types of their values, since True equals 1."""
    return [(node, [type(value) for value in node.attributes.values()]) for node in nodes]


@given(graphs(), st.sampled_from(chakra.VERSIONS), st.sampled_from([bytes, gzip.compress]))
def test_any_graph_comes_back_as_it_was(
    nodes: list[TraceNode], version: str, pack: Callable[[bytes], bytes]
) -> None:
    content = b"".join(chakra.render(nodes, version=version))
    stream = io.BytesIO(pack(content))
    found, back = chakra.parse(stream, where="x")
    assert found == version
    assert typed(list(back)) == typed(nodes)


def consume(content: bytes) -> None:
    with contextlib.suppress(SpecError):
        _, nodes = chakra.parse(io.BytesIO(content), where="x")
        tally(nodes, rank=0, where="x")


@given(st.binary(max_size=200))
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\x00")
def test_bytes_of_any_kind_are_read_or_refused(content: bytes) -> None:
    consume(content)
    consume(b"\x07\x0a\x050.0.4" + content)
    consume(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + content)


@given(graphs(), st.data())
def test_a_damaged_trace_is_read_or_refused(nodes: list[TraceNode], data: st.DataObject) -> None:
    content = bytearray(b"".join(chakra.render(nodes)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    consume(bytes(content))
    consume(bytes(content[: data.draw(st.integers(0, len(content)))]))
