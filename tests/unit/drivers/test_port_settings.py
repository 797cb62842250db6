"""infiniband-diags beside a subnet manager that is busy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from netloom.drivers import ibdiags
from netloom.errors import LabError

# Printed by infiniband-diags 44 while OpenSM was stopped (SIGSTOP), and after it went on.
UNRESOLVED = "ibportstate: iberror: failed: can't resolve destination port 0x02006e6c00000120\n"
DONE = "Initial Switch PortInfo:\n# Port info: Lid 4 port 8\n\nAfter PortInfo set:\n"


@dataclass(frozen=True, kw_only=True)
class Answers(ibdiags.Client):
    """A client whose programs print these one after another."""

    said: list[str]
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, *argv: str) -> str:
        self.asked.append(argv)
        return self.said.pop(0)


def client(*said: str) -> Answers:
    return Answers(env={}, folder=Path(), said=[*said])


def test_a_port_is_set_once_the_manager_has_answered() -> None:
    busy = client(UNRESOLVED, UNRESOLVED, DONE, DONE)
    ibdiags.set_extended_speed(busy, 0x02006E6C00000120, 8, 2)
    assert busy.asked == [("ibportstate", "-G", "0x02006e6c00000120", "8", "espeed", "2")] * 3


def test_a_manager_that_never_answers_is_named_and_nothing_was_set() -> None:
    dead = client(*[UNRESOLVED] * ibdiags.MAX_TRIES)
    with pytest.raises(LabError, match="can't resolve destination port") as error:
        ibdiags.set_port(dead, 0x02006E6C00000120, 8, "disable")
    assert "sminfo" in str(error.value)
    assert dead.said == []
