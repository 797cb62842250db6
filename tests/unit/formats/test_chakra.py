"""Chakra traces: recorded files, the real schema through protobuf's own library, and bad bytes."""

from __future__ import annotations

import gzip
import importlib
import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from netloom.errors import SpecError
from netloom.formats.traces import chakra
from netloom.workload.trace import NodeKind, TraceNode

RECORDED = Path(__file__).parents[2] / "data" / "recorded" / "chakra"
PLAIN = (RECORDED / "computes_and_reduces" / "input.et").read_bytes()
HEAD = b"\x07\x0a\x050.0.4"  # seven bytes: field 1, text of five


def read(content: bytes) -> tuple[str, list[TraceNode]]:
    version, nodes = chakra.parse(io.BytesIO(content), where="x.et")
    return version, list(nodes)


def plain(node: TraceNode) -> dict[str, object]:
    found = {field.name: getattr(node, field.name) for field in fields(node)}
    return {**found, "kind": node.kind.name, "needs": [*node.needs], "follows": [*node.follows]}


@pytest.mark.parametrize("situation", sorted(path.name for path in RECORDED.iterdir()))
def test_a_recorded_trace_is_read_as_expected(situation: str) -> None:
    version, nodes = read((RECORDED / situation / "input.et").read_bytes())
    expected = json.loads((RECORDED / situation / "expected.json").read_text())
    assert {"version": version, "nodes": [plain(node) for node in nodes]} == expected


def schema() -> dict[str, Any]:
    """Return the messages of et_def.proto that we write, made by protobuf's own library.

    Field numbers and types are those of mlcommons/chakra schema/protobuf/et_def.proto.
    """
    descriptor = importlib.import_module("google.protobuf.descriptor_pb2")
    factory = importlib.import_module("google.protobuf.message_factory")
    file = descriptor.FileDescriptorProto(name="et.proto", package="c", syntax="proto3")
    kinds = {"double": 1, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9}

    def add(message: str, *entries: tuple[str, int, str, bool]) -> None:
        made = file.message_type.add(name=message)
        for name, number, kind, repeated in entries:
            field = made.field.add(name=name, number=number, label=3 if repeated else 1)
            field.type = kinds.get(kind, 11)
            if kind not in kinds:
                field.type_name = f".c.{kind}"

    values = {"double": 3, "int32": 7, "int64": 9, "uint64": 13, "bool": 27, "string": 29}
    add("Attr", ("name", 1, "string", False), *((k, n, k, False) for k, n in values.items()))
    oneof = file.message_type[0].oneof_decl.add(name="value")
    assert oneof.name
    for field in file.message_type[0].field[1:]:
        field.oneof_index = 0
    add("Meta", ("version", 1, "string", False))
    add(
        "Node",
        ("id", 1, "uint64", False),
        ("name", 2, "string", False),
        ("type", 3, "int32", False),
        ("ctrl_deps", 4, "uint64", True),
        ("data_deps", 5, "uint64", True),
        ("start", 6, "uint64", False),
        ("duration_micros", 7, "uint64", False),
        ("attr", 10, "Attr", True),
    )
    made: dict[str, Any] = factory.GetMessages([file])
    return made


def test_the_protobuf_library_reads_what_we_write() -> None:
    node = TraceNode(
        node_id=300,
        name="all",
        kind=NodeKind.COLLECTIVE,
        needs=(1, 200),
        follows=(7,),
        start_us=5,
        duration_us=1 << 40,
        attributes={
            "is_cpu_op": False,
            "comm_size": 1 << 35,
            "comm_src": 3,
            "tensor_size": 9,
            "pg_name": "12",
            "ratio": 0.5,
            "offset": -2,
        },
    )
    head, message = chakra.render([node])
    known = schema()
    assert message[:2] == b"\x95\x01"  # 0x15 + 128
    assert known["c.Meta"].FromString(head[1:]).version == "0.0.4"
    seen = known["c.Node"].FromString(message[2:])  # 149 bytes: a length of two bytes
    assert (seen.id, seen.name, seen.type, seen.start) == (300, "all", 7, 5)
    assert seen.duration_micros == 1 << 40
    assert (list(seen.data_deps), list(seen.ctrl_deps)) == ([1, 200], [7])
    # The field of each value is the one that et_feeder_node.cpp reads.
    values = {a.name: (a.WhichOneof("value"), getattr(a, a.WhichOneof("value"))) for a in seen.attr}
    assert values == {
        "is_cpu_op": ("bool", False),
        "comm_size": ("int64", 1 << 35),
        "comm_src": ("int32", 3),
        "tensor_size": ("uint64", 9),
        "pg_name": ("string", "12"),
        "ratio": ("double", 0.5),
        "offset": ("int64", -2),
    }


def test_we_read_what_the_protobuf_library_writes() -> None:
    made = schema()["c.Node"](id=4, name="n", type=4, data_deps=[1, 2], duration_micros=9)
    made.attr.add(name="num_ops", int64=-5)
    message = made.SerializeToString()
    _, nodes = read(HEAD + bytes([len(message)]) + message)
    assert nodes == [
        TraceNode(
            node_id=4,
            name="n",
            kind=NodeKind.COMPUTE,
            needs=(1, 2),
            duration_us=9,
            attributes={"num_ops": -5},
        )
    ]


def test_lists_and_unknown_fields_are_passed_over() -> None:
    # Attribute "d" with a bool_list (field 28), then inputs (8) and a field of tomorrow (15).
    attribute = b"\x0a\x01d\xe2\x01\x03\x0a\x01\x01"
    body = b"\x08\x01\x18\x04\x52" + bytes([len(attribute)]) + attribute + b"\x42\x00\x78\x05"
    _, nodes = read(HEAD + bytes([len(body)]) + body)
    assert nodes == [TraceNode(node_id=1, name="", kind=NodeKind.COMPUTE)]


@pytest.mark.parametrize(
    ("content", "at_byte", "what"),
    [
        (b"", 0, "empty"),
        (b"\x07\x0a\x059.9.9", 1, "version '9.9.9'"),
        (HEAD + b"\x05\x08", 9, "cut off: 5 bytes announced, 1 there"),
        (HEAD + b"\x80", 8, "cut off inside a length"),
        (HEAD + b"\xff\xff\xff\xff\x0f", 8, "a message of 4,294,967,295 bytes"),
        (HEAD + b"\xff" * 11, 8, "no length of a message"),
        (HEAD + b"\x02\x18\x63", 9, "type 99"),
        (HEAD + b"\x04\x18\x04\x12\x05", 11, "field 2 runs over the end"),
        (HEAD + b"\x03\x12\x01\xff", 11, "not UTF-8"),
        (HEAD + b"\x03\x0a\x01\x01", 11, "bytes where a number belongs"),
        (HEAD + b"\x02\x10\x01", 9, "a number where bytes belong"),
        (HEAD + b"\x01\x0b", 9, "wire type 3"),
        (HEAD + b"\x02\x00\x00", 9, "a field numbered 0"),
        (HEAD + b"\x02\x18\x04\x02\x18\x04", 12, "a second node 0"),
    ],
)
def test_bad_bytes_are_refused_with_their_place_and_a_remedy(
    content: bytes, at_byte: int, what: str
) -> None:
    with pytest.raises(SpecError, match="write") as caught:
        read(content)
    assert str(caught.value).startswith(f"x.et: byte {at_byte}: ")
    assert what in str(caught.value)


def test_a_gzip_file_that_is_cut_off_or_damaged_is_refused() -> None:
    packed = bytearray(gzip.compress(PLAIN * 1))
    with pytest.raises(SpecError, match="cannot be read"):
        read(bytes(packed[:-9]))
    packed[20] ^= 0xFF
    with pytest.raises(SpecError, match=r"x\.et: byte"):
        read(bytes(packed))


def test_more_nodes_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chakra, "MAX_NODES", 1)
    with pytest.raises(SpecError, match="more than 1 nodes"):
        read(PLAIN)


def test_a_stream_larger_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chakra, "MAX_FILE_BYTES", 20)
    with pytest.raises(SpecError, match="more than 20 bytes unpacked"):
        read(gzip.compress(PLAIN))


def test_nodes_are_read_one_by_one() -> None:
    # The second node is cut off; the first is there before anyone notices.
    _, nodes = chakra.parse(io.BytesIO(PLAIN[:-1]), where="x.et")
    assert next(nodes).name == "fwd"
    with pytest.raises(SpecError, match="cut off"):
        next(nodes)


def test_groups_come_back_sorted() -> None:
    text = chakra.render_groups({"1": (0, 1), "2": (2, 3)})
    assert chakra.parse_groups(text, where="g") == {"1": (0, 1), "2": (2, 3)}
    assert chakra.parse_groups('{"1": [3, 0]}', where="g") == {"1": (0, 3)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"1": 3}',
        '{"1": []}',
        '{"1": [0, 0]}',
        '{"1": [-1]}',
        '{"1": [true]}',
        "[" * 9999,
    ],
)
def test_what_are_no_groups_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SpecError, match=r'^g: .*write \{"1": \[0, 1, 2, 3\]\}'):
        chakra.parse_groups(text, where="g")
