"""``netloom schema``."""

from __future__ import annotations

from netloom.cli.output import print_json
from netloom.spec import schema as spec_schema

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON schema of scenario files, for editors."""
    print_json(spec_schema.schema())
