"""The one form of JSON: what command, of which version, and its result or its error.

    {"netloom": "0.2.0", "command": "predict", "schema": 1, "result": {...}}
    {"netloom": "0.2.0", "command": "predict", "schema": 1, "error": {...}}

The command line prints it, and a web page answers with it.
"""

from __future__ import annotations

from typing import Any, Final

from netloom.errors import NetloomError, Problem
from netloom.results.plain import to_plain

__all__ = ["SCHEMA", "error_envelope", "error_json", "result_envelope"]

SCHEMA: Final = 1  # of the envelope; the keys of results have docs/json.md
BUG: Final = "bug"


def result_envelope(command: str, result: object) -> dict[str, Any]:
    """Return *result* as plain values, and whose it is."""
    return _head(command) | {"result": to_plain(result)}


def error_envelope(command: str, error: BaseException, *, message: str = "") -> dict[str, Any]:
    """Return *error* as plain values, and whose it is.

    Args:
        command: Its full name, such as ``trace read``; empty where it is not known.
        error: What was raised.
        message: What to say of it instead of its own text.
    """
    return _head(command) | {"error": error_json(error, message=message)}


def error_json(error: BaseException, *, message: str = "") -> dict[str, Any]:
    """Return the kind of *error*, its message, and its problems one by one."""
    said = message or str(error)
    problems = error.problems if isinstance(error, NetloomError) else ()
    found = [problem.to_json() for problem in problems or (Problem.of_message(said),)]
    return {"kind": _kind(error), "message": said, "problems": found}


def _head(command: str) -> dict[str, Any]:
    from importlib.metadata import version  # noqa: PLC0415  (slow, and needed only here)

    return {"netloom": version("netloom"), "command": command, "schema": SCHEMA}


def _kind(error: BaseException) -> str:
    """Return what sort of trouble it is; a bug where netloom did not raise it on purpose."""
    if isinstance(error, NetloomError):
        return error.kind
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return {"MemoryError": "memory", "OSError": "output"}.get(type(error).__name__, _usage(error))


def _usage(error: BaseException) -> str:
    """Return ``usage`` for what the parser of the command line raises."""
    names = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return "usage" if "cyclopts" in names else BUG
