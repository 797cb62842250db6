"""Starts that are drawn with the seed."""

from __future__ import annotations

import numpy as np
import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.study.simulate.jitter import jittered
from netloom.study.simulate.run import case_of

CATALOG = load_catalog()
INCAST = nl.example("incast-rocev2")


def test_starts_are_later_by_a_draw_of_the_seed() -> None:
    plain = case_of(INCAST, CATALOG)
    drawn = jittered(plain, 2e-6)
    later_ps = drawn.traffic(1).start_ps - plain.traffic(1).start_ps
    assert later_ps.min() >= 0
    assert later_ps.max() < 2_000_000
    assert len(np.unique(later_ps)) > 1
    again = jittered(plain, 2e-6).traffic(1).start_ps
    np.testing.assert_array_equal(drawn.traffic(1).start_ps, again)
    assert (drawn.traffic(2).start_ps != again).any()
    assert "drawn within 2us" in drawn.notes[-1]


def test_transfers_that_wait_begin_when_they_may() -> None:
    ring = {
        "cluster": {"gpus": 16, "node": "dgx-h100", "fabric": {"technology": "rocev2-400g"}},
        "traffic": [{"kind": "collective", "operation": "all-reduce", "size": "1MB"}],
    }
    plain = case_of(nl.load(ring), CATALOG)
    moved = jittered(plain, 1e-6).traffic(3)
    waits = np.diff(moved.wait_offsets) > 0
    assert (moved.start_ps[waits] == plain.traffic(3).start_ps[waits]).all()


def test_a_jitter_is_a_short_time() -> None:
    with pytest.raises(SpecError, match="jitter"):
        jittered(case_of(INCAST, CATALOG), 2.0)


def test_packets_say_what_they_saw_of_a_collective() -> None:
    job = {
        "cluster": {"gpus": 16, "node": "dgx-h100", "fabric": {"technology": "rocev2-400g"}},
        "job": {"model": "llama-3.2-1b", "training": {"sequence": 2048, "global_batch": 16}},
    }
    seen = nl.predict(nl.load(job), CATALOG, engine="packet")
    assert "first 1 MiB a hop" in seen.seen
    assert seen.to_json()["seen"] == seen.seen
    assert "seen" not in nl.predict(nl.load(job), CATALOG).to_json()
