"""The command line: parse, call the library, print; no logic of its own."""

from __future__ import annotations


def main() -> int:
    """Run the command line and return its exit code."""
    return 0
