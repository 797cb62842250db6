from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from netloom.errors import SpecError
from netloom.spec.example import examples
from netloom.spec.load import load
from netloom.spec.schema import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

VALIDATOR = jsonschema.Draft202012Validator(schema())


def document(text: str) -> dict[str, Any]:
    plain: dict[str, Any] = YAML(typ="safe", pure=True).load(io.StringIO(text))
    return plain


def objects(part: object) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if "properties" in part:
            yield part
        for item in part.values():
            yield from objects(item)
    if isinstance(part, list):
        for item in part:
            yield from objects(item)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema())) == schema()


@pytest.mark.parametrize("name", list(examples()))
def test_every_example_follows_the_schema(name: str) -> None:
    VALIDATOR.validate(document(examples()[name]))


def test_every_field_is_described_and_every_mapping_is_closed() -> None:
    for part in objects(schema()):
        assert part["additionalProperties"] is False
        assert part["description"]
        for name, field in part["properties"].items():
            assert field.get("description"), name


def test_every_default_follows_the_schema_of_its_field() -> None:
    whole = schema()
    for part in objects(whole):
        for name, field in part["properties"].items():
            if "default" in field:
                own = {**field, "$defs": whole["$defs"]}
                jsonschema.Draft202012Validator(own).validate(field["default"])
                assert not isinstance(field["default"], dict), name


def test_defaults_are_written_with_their_units() -> None:
    reliability = schema()["$defs"]["Reliability"]["properties"]
    economics = schema()["$defs"]["Economics"]["properties"]
    assert reliability["restart"]["default"] == "5min"
    assert economics["lifetime"]["default"] == "4years"
    assert schema()["$defs"]["Placement"]["properties"]["displaced"]["default"] == "6.25%"


def test_the_schema_keeps_no_mark_of_our_own() -> None:
    assert "x-dimension" not in json.dumps(schema())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cluster.fabric.topology", {"groups": 4}),
        ("cluster.fabric.topology", {"kind": "ring"}),
        ("cluster.fabric.topology.oversubscription", 0.5),
        ("cluster.gpus", 8),
        ("cluster.nodes", 0),
        ("job.training.global_batch", "2048"),
        ("job.training.precision", "fp4"),
        ("job.parallel.zero", True),
        ("job.reliability", {"restart": "600"}),
        ("job.reliability", {"restart": 600}),
        ("job.reliability", {"restart_s": "600s"}),
        ("compare", []),
        ("compare", ["a\x1b[31m"]),
        ("name", "a\x9b31m"),
        ("surprise", 1),
    ],
)
def test_what_the_schema_refuses_is_refused_by_the_loader_too(path: str, value: object) -> None:
    data = document(examples()["llama-3.1-405b-16k"])
    *above, last = path.split(".")
    inner = data
    for key in above:
        inner = inner[key]
    inner[last] = value
    assert not VALIDATOR.is_valid(data)
    with pytest.raises(SpecError):
        load(data)
