"""What commands print: JSON to standard output, and lines to standard error."""

from __future__ import annotations

import json
import sys

from netloom.cli.running import running
from netloom.results.envelope import result_envelope
from netloom.results.plain import to_plain
from netloom.results.write import write_atomically

__all__ = [
    "announce",
    "emit_json",
    "print_json",
    "to_plain",
    "write_atomically",
]


def announce(line: str) -> None:
    """Say on standard error what is about to happen."""
    print(line, file=sys.stderr, flush=True)


def emit_json(result: object) -> None:
    """Print *result* as JSON in the envelope of the command that runs, with a newline at the end.

    Keys stay in the order given; numbers that JSON cannot hold (NaN, infinities) become null.
    """
    print_json(result_envelope(running(), result))


def print_json(value: object) -> None:
    """Print plain values as they are."""
    print(json.dumps(value, indent=2, allow_nan=False))
