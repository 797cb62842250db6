"""JSON schemas: of scenario files, and of what each command prints with ``--json``."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

from netloom.commands import COMMANDS
from netloom.errors import SpecError
from netloom.results.envelope import SCHEMA
from netloom.spec import schema as spec_schema

__all__ = ["JSON_COMMANDS", "result_schemas", "schema"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
KINDS: Final = "spec catalog infeasible output lab usage memory interrupted bug"
JSON_COMMANDS: Final = tuple(
    name
    for command in COMMANDS
    for name in command.full_names
    if command.name not in {"schema", "serve"}  # one prints a schema, the other serves JSON
)
_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}


def schema(command: str = "") -> dict[str, Any]:
    """Return the JSON schema of scenario files, or of what *command* prints with ``--json``.

    >>> import netloom as nl
    >>> nl.schema("predict")["properties"]["command"]
    {'const': 'predict'}

    Args:
        command: With its act, such as ``trace read``; default: none, for scenario files.

    Raises:
        SpecError: there is no such command, or it prints no JSON.
    """
    if not command:
        return spec_schema.schema()
    if command not in JSON_COMMANDS:
        raise SpecError(
            key="schema",
            what=f"{command!r} prints no JSON",
            remedy=f"choose one of {', '.join(JSON_COMMANDS)}",
        )
    result = result_schemas()[command]
    return {
        "$schema": DIALECT,
        "title": f"netloom {command} --json",
        "type": "object",
        "properties": {
            "netloom": _TEXT,
            "command": {"const": command},
            "schema": {"const": SCHEMA},
            "result": {"anyOf": [result, {"$ref": "#/$defs/why"}]},
            "error": _ERROR,
        },
        "required": ["netloom", "command", "schema"],
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
        "additionalProperties": False,
        "$defs": {"why": _WHY},
    }


def result_schemas() -> dict[str, Any]:
    """Return the schema of every command's result, by its full name."""
    file = resources.files("netloom.results").joinpath("schemas.json")
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def _closed(properties: dict[str, Any], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of an object that has these keys, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
    }


_WHERE: Final = _closed(
    {"file": _TEXT, "line": _WHOLE, "column": _WHOLE, "key": _TEXT, "option": _TEXT},
    optional=("option",),
)
_PROBLEM: Final = _closed({"where": _WHERE, "what": _TEXT, "remedy": _TEXT})
_ERROR: Final = _closed(
    {
        "kind": {"enum": KINDS.split()},
        "message": _TEXT,
        "problems": {"type": "array", "items": _PROBLEM},
    }
)
# What --why prints in place of the result.
_WHY: Final = _closed(
    {
        "name": _TEXT,
        "value": {"type": ["number", "string", "null"]},
        "unit": _TEXT,
        "how": _TEXT,
        "source": {"type": ["object", "null"]},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/why"}},
    }
)
