"""``netloom schema``."""

from __future__ import annotations

from netloom.cli.output import print_json
from netloom.results.schemas import schema as schema_of

__all__ = ["schema"]


def schema(*command: str) -> None:
    """Print the JSON schema of scenario files, for editors; or of what a command prints.

    Args:
        command: A command, such as predict or trace read: the schema of its --json.
    """
    print_json(schema_of(" ".join(command)))
