"""The scenario a command works on, and where in its file an error belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from netloom.errors import NetloomError, OutputError
from netloom.spec.example import BUILT_IN, example
from netloom.spec.load import load, locate
from netloom.spec.scenario import Scenario

__all__ = ["scenario_at"]

_FIELD: Final = re.compile(
    r"(?:cluster|jobs|job|traffic|faults|serving|tenants|compare|economics|catalog)"
    r"(?:\.\w+)*(?=: )"
)


@contextmanager
def scenario_at(path: Path | None, *, built_in: str = BUILT_IN) -> Iterator[Scenario]:
    """Give the scenario in the file at *path*, or the *built_in* example when none is given.

    What turns out to be wrong with it inside the block is told with file, line and column.
    """
    if path is None:
        yield example(built_in)
        return
    scenario = load(path)
    try:
        yield scenario
    except OutputError:
        raise  # not the scenario's fault
    except NetloomError as error:
        if str(error).startswith("--"):
            raise  # nor is an option
        field = _FIELD.match(str(error))
        where = str(path) if field is None else locate(path, field[0])
        message = f"{where}: {error}"
        raise type(error)(message) from error
