"""Devices are changed one after the other, and a bad one is undone and hides no other."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import LabError
from netloom.formats.frr.reload import parse_difference
from netloom.ops.deploy.changes import apply_all, file_changes, of_kinds, plan_all


@dataclass
class Device:
    """A device that fails where it is told to."""

    name: str
    runs: str = "old"
    wanted: str = "new"
    fails: tuple[str, ...] = ()
    acts: list[str] = field(default_factory=list)

    def _act(self, act: str) -> None:
        self.acts.append(act)
        if act in self.fails:
            message = f"{self.name} fails to {act}"
            raise LabError(message)

    def difference(self) -> tuple[str, ...]:
        self._act("answer")
        return () if self.runs == self.wanted else (f"- {self.runs}", f"+ {self.wanted}")

    def snapshot(self) -> str:
        return self.runs

    def change(self) -> None:
        self.runs = self.wanted
        self._act("change")

    def verify(self, before: str) -> None:
        self._act("verify")
        if "interrupt" in self.fails:
            raise KeyboardInterrupt

    def restore(self, before: str) -> None:
        self._act("restore")
        self.runs = before


def test_a_device_that_fails_is_undone_and_the_others_are_done() -> None:
    devices = [
        Device("good"),
        Device("silent", fails=("answer",)),
        Device("refuses", fails=("change",)),
        Device("breaks", fails=("verify",)),
        Device("stuck", fails=("verify", "restore")),
        Device("ready", runs="new"),
        Device("last"),
    ]
    done = {one.device: one for one in apply_all(devices)}
    assert {name: one.state for name, one in done.items()} == {
        "good": "applied",
        "silent": "refused",
        "refuses": "rolled back",
        "breaks": "rolled back",
        "stuck": "failed",
        "ready": "unchanged",
        "last": "applied",
    }
    assert [one.runs for one in devices] == ["new", "old", "old", "old", "new", "new", "new"]
    assert done["stuck"].error == (
        "stuck fails to verify; and undoing it failed too: stuck fails to restore"
    )
    assert [name for name, one in done.items() if one.is_good] == ["good", "ready", "last"]


def test_a_device_is_not_touched_before_the_one_before_it_is_done() -> None:
    first, second = Device("first"), Device("second")
    done = apply_all([first, second])
    next(done)
    assert first.acts == ["answer", "change", "verify"]
    assert second.acts == []


def test_an_interrupt_undoes_what_was_begun() -> None:
    device = Device("one", fails=("interrupt",))
    with pytest.raises(KeyboardInterrupt):
        list(apply_all([device]))
    assert device.runs == "old"


def test_a_plan_touches_nothing_and_says_who_does_not_answer() -> None:
    devices = [Device("one"), Device("silent", fails=("answer",)), Device("ready", runs="new")]
    plans = plan_all(devices)
    assert [one.lines for one in plans] == [("- old", "+ new"), (), ()]
    assert [one.error for one in plans] == ["", "silent fails to answer", ""]
    assert all(one.acts == ["answer"] for one in devices)


def test_files_differ_line_by_line_and_missing_ones_are_new() -> None:
    running = {"switches/a/frr.conf": "one\ntwo\n"}
    wanted = {
        "switches/a/frr.conf": "one\n2\n",
        "switches/b/frr.conf": "x\n",
        "switches/b/eos.conf": "y\n",
    }
    changes = file_changes(running, of_kinds(running, wanted))
    assert [(one.device, one.lines) for one in changes] == [
        ("switches/a/frr.conf", ("-two", "+2")),
        ("switches/b/frr.conf", ("+x",)),
    ]


# What frr-reload.py of FRR 8.4.4 printed for a changed timer, with its log between.
PRINTED = """2026-11-15 07:24:18,346  INFO: Loading Config object from file leaf0.conf

Lines To Delete
===============
no hostname vm
router bgp 4200000000
 no timers bgp 1 3

Lines To Add
============
router bgp 4200000000
 timers bgp 2 6
bfd
 profile fabric
  transmit-interval 300
bfd
 profile fabric
  receive-interval 450
hostname leaf000
"""


def test_what_always_differs_is_left_out_of_a_difference() -> None:
    assert parse_difference(PRINTED) == (
        "- router bgp 4200000000 / no timers bgp 1 3",
        "+ router bgp 4200000000 / timers bgp 2 6",
        "+ bfd / profile fabric / receive-interval 450",
    )


@given(st.text(alphabet="LinesToAddDelete =-:\n 2026hostname", max_size=200))
def test_whatever_frr_reload_prints_gives_lines_with_a_sign(text: str) -> None:
    assert all(line[:2] in {"- ", "+ "} for line in parse_difference(text))


def test_no_difference_is_an_empty_one() -> None:
    assert parse_difference("") == ()
