"""What commands print: JSON to standard output, and lines to standard error."""

from __future__ import annotations

import json
import sys

from netloom.results.plain import to_plain
from netloom.results.write import write_atomically

__all__ = ["announce", "emit_json", "to_plain", "write_atomically"]


def announce(line: str) -> None:
    """Say on standard error what is about to happen."""
    print(line, file=sys.stderr, flush=True)


def emit_json(value: object) -> None:
    """Print *value* as JSON, keys in the order given, with a newline at the end.

    Numbers that JSON cannot hold (NaN and the infinities) become null.
    """
    print(json.dumps(to_plain(value), indent=2, allow_nan=False))
