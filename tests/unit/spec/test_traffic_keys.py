"""A key of traffic that nothing comes of is refused, whichever file gave it."""

from __future__ import annotations

import pytest

import netloom as nl
from netloom.errors import SpecError

CLUSTER = {"gpus": 16, "fabric": {"technology": "rocev2-400g"}}


def _load(**piece: object) -> nl.Scenario:
    return nl.load({"cluster": CLUSTER, "traffic": [{"size": "1MB"} | piece]})


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        ({"kind": "one-to-one", "source": 0, "target": 8, "count": 3}, "'count' says who takes"),
        ({"kind": "collective", "operation": "all-gather", "algorithm": "tree"}, "in all-gather"),
        ({"kind": "collective", "operation": "all-to-all", "channels": 4}, "in all-to-all"),
        ({"kind": "collective", "operation": "all-reduce", "in_flight": 4}, "in all-reduce"),
        (
            {
                "kind": "collective",
                "operation": "all-reduce",
                "algorithm": "halving-doubling",
                "slices": 4,
            },
            "'slices' is of no use in halving-doubling all-reduce",
        ),
    ],
)
def test_what_nothing_comes_of_is_refused(piece: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        _load(**piece)


@pytest.mark.parametrize(
    "piece",
    [
        {"kind": "collective", "operation": "all-gather", "algorithm": "ring", "channels": 2},
        {"kind": "collective", "operation": "all-reduce", "algorithm": "tree", "slices": 4},
        {"kind": "collective", "operation": "all-to-all", "in_flight": 4, "channels": 1},
        {"kind": "one-to-one", "source": 0, "target": 8, "first": 0},
    ],
)
def test_what_is_used_or_as_it_would_be_anyway_is_taken(piece: dict[str, object]) -> None:
    assert _load(**piece).traffic is not None
