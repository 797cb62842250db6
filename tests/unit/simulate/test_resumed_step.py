"""A step that was stopped goes on from the last state that was kept, to the same picosecond."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import netloom as nl
from netloom.app.simulate import resumed
from netloom.engines.packet.apart import running
from netloom.engines.packet.states import OneState, content_key
from netloom.errors import OutputError, SpecError
from netloom.parts.load import load_catalog
from netloom.results import state_file
from netloom.results.state_file import StateFile
from netloom.study.packet_step.case import step_case
from netloom.study.simulate.run import run_case

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.simulation import Simulation


def job(gpus: int, technology: str, topology: str, parallel: dict[str, int]) -> Scenario:
    """Return Llama 3.2 1B, two micro-batches a replica."""
    fabric = {"technology": technology, "topology": {"kind": topology}}
    batch = 2 * parallel["data"]
    training = {"sequence": 512, "global_batch": batch, "precision": "bf16"}
    return nl.load(
        {
            "cluster": {"gpus": gpus, "node": "dgx-h100", "fabric": fabric},
            "job": {"model": "llama-3.2-1b", "training": training, "parallel": parallel},
        }
    )


class KilledError(Exception):
    """Stands for the end of a process."""


@dataclass
class Memory:
    """Keeps states while the process lives, which is for so many of them."""

    lives_for: int
    states: dict[str, bytes] = field(default_factory=dict)

    def find(self, key: str) -> bytes | None:
        return self.states.get(key)

    def keep(self, key: str, state: bytes) -> None:
        if self.lives_for == 0:
            raise KilledError
        self.lives_for -= 1
        self.states[key] = state

    def is_due(self) -> bool:
        return True


def run(
    scenario: Scenario, states: Memory | StateFile | None, **how: Any
) -> tuple[Simulation, int]:
    """Return the step, and how many times it went on for a while."""
    count = 0

    def on_progress(_ps: int, _events: int) -> bool:
        nonlocal count
        count += 1
        return False

    case = step_case(scenario, load_catalog(), states=states, **how)
    return run_case(case, on_progress=on_progress), count


def check_goes_on(scenario: Scenario, *, lives_for: int, **how: Any) -> None:
    whole, times = run(scenario, None, **how)
    kept = Memory(lives_for=lives_for)
    with pytest.raises(KilledError):
        run(scenario, kept, **how)
    kept.lives_for = 1_000
    found, fewer = run(scenario, kept, **how)
    assert fewer <= times - lives_for + 2  # ends of rounds are kept too
    for name in ("start_ps", "finish_ps", "link_bytes"):
        np.testing.assert_array_equal(
            getattr(found.first.delivery, name), getattr(whole.first.delivery, name)
        )
    assert found.first.delivery.counters == whole.first.delivery.counters
    assert found.first.step == whole.first.step
    again, none = run(scenario, kept, **how)  # all of it is there: nothing runs
    assert none == 0
    assert again.first.step == whole.first.step


def test_a_step_of_all_packets_that_was_killed_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_CHUNK_EVENTS", 200_000)
    small = job(16, "rocev2-400g", "rail-only", {"tensor": 8, "data": 2})
    check_goes_on(small, lives_for=5, folds=False, skips=False)


def test_a_step_with_skips_that_was_killed_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # What meets is moved in a second round: the first is over when the process ends.
    monkeypatch.setattr(running, "_CHUNK_EVENTS", 10_000)
    large = job(
        128, "infiniband-ndr", "rail-fat-tree", {"tensor": 4, "pipeline": 4, "data": 8, "zero": 1}
    )
    check_goes_on(large, lives_for=12)


def test_a_state_is_there_for_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "_PIECE_BYTES", 4)
    path = tmp_path / "run"
    with StateFile(path, version="1", clock=lambda: 0.0) as states:
        states.keep("a", b"much longer than what follows")
        states.keep("a", b"0123456789")
        states.keep("b", b"")
        assert states.find("c") is None
    with StateFile(path, version="1", clock=lambda: 0.0) as states:
        assert states.find("a") == b"0123456789"
        assert states.find("b") == b""
    with StateFile(path, version="2", clock=lambda: 0.0) as states:
        assert states.find("a") is None


def test_keeping_takes_a_twentieth_of_the_time_at_most(tmp_path: Path) -> None:
    now = iter([0.0, 9.9, 10.0, 20.0, 24.0, 103.0, 104.0])
    with StateFile(tmp_path / "run", version="1", clock=lambda: next(now), every_s=10) as states:
        assert not states.is_due()  # at 9.9
        assert states.is_due()
        states.keep("a", b"x")  # from 20 to 24: 4 s are a twentieth of 80
        assert not states.is_due()
        assert states.is_due()  # at 104


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("of mine\n" * 1000)
    with pytest.raises(OutputError, match=r"notes\.txt"):
        StateFile(path, version="1", clock=lambda: 0.0)
    assert path.read_text().startswith("of mine")


def test_only_a_step_is_kept(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="--step"), resumed(tmp_path / "run", step=False):
        pass


def test_one_state_is_that_of_the_last_run() -> None:
    kept = OneState(store=Memory(lives_for=9), name="packets")
    kept.keep("aa", b"first")
    assert kept.find("aa") == b"first"
    kept.keep("bb", b"second")
    assert (kept.find("aa"), kept.find("bb")) == (None, b"second")


def test_a_key_tells_what_differs_and_nothing_else() -> None:
    ones = np.ones(3)
    assert content_key({"a": ones}, 1) == content_key({"a": ones.copy()}, 1)
    others = [{"a": ones.astype(np.float32)}, {"b": ones}, {"a": ones[:2]}, {"a": ones * 2}]
    assert len({content_key(one, 1) for one in ({"a": ones}, *others)}) == 5
    assert content_key(1) != content_key("1")
