"""Losses too small for one look, on 16 hosts with real FRR: found by looks that add up.

A look takes some three seconds on two cores, so 20 of them are the minute, and 200 the ten minutes,
that docs/models/locate.md tells; looks are counted because a busy machine takes longer over each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from labs_under_test import OWN, LabUnderTest, lab_in, need, wait_until

from netloom.app.lab.labs import bring_down
from netloom.app.watch import watch
from netloom.app.watch.sources import WatchSources
from netloom.cli.operate.designed import designed_at
from netloom.drivers.clock import WallClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.app.watch.run import WatchReport

pytestmark = [pytest.mark.lab, pytest.mark.timeout(3600)]

EIGHT_PORTS = OWN.replace('{ count = 4, rate = "400Gbps" }', '{ count = 8, rate = "400Gbps" }')


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    need("roce")
    folder = tmp_path_factory.mktemp("small-loss")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labs_under_test.OWN", EIGHT_PORTS)
        made = lab_in(folder, "small", "rocev2-400g", 2)
    try:
        store = folder / "first.db"
        assert wait_until(lambda: not looked(made, store, 1).cases)
        yield made
    finally:
        bring_down(made.place)


def looked(lab: LabUnderTest, store: Path, rounds: int) -> WatchReport:
    """Return what so many looks find; the first finding ends it."""
    clock = WallClock()
    return watch(
        designed_at(lab.place.path.parent.parent / "rocev2-400g.yaml"),
        sources=WatchSources(lab=lab.place),
        store=store,
        every_s=0.5,
        rounds=rounds,
        clock=clock,
        say=lambda _: clock.stop(),
    )


def found_within(lab: LabUnderTest, folder: Path, share: str, looks: int) -> None:
    cable = f"cable:{lab.place.read_plant().find('leaf:2')[-1].number}"
    lab.fault("silent-drop", cable, "--share", share)
    try:
        report = looked(lab, folder / "s.db", looks)
    finally:
        lab.fault("clear")
    assert [str(case.part) for case in report.cases] == [cable]
    # Of a handful of lost packets all may have been large by chance: a known gap of the kind.
    assert report.cases[0].kind in {"loss", "large-packet loss"}


def test_a_loss_of_one_in_a_thousand_is_found_within_twenty_looks(
    lab: LabUnderTest, tmp_path: Path
) -> None:
    found_within(lab, tmp_path, "0.001", 20)


def test_three_healthy_looks_find_nothing_and_tell_the_smallest_loss(
    lab: LabUnderTest, tmp_path: Path
) -> None:
    report = looked(lab, tmp_path / "s.db", 3)
    assert report.cases == ()
    assert report.smallest_loss is not None
    per_s, share = report.smallest_loss
    assert 0 < share < 1
    assert share * per_s * 60 == pytest.approx(5.3)  # losses that are needed
    assert report.to_json()["smallest_loss_60s"] == {"packets_per_link_s": per_s, "share": share}


@pytest.mark.long
def test_a_loss_of_one_in_ten_thousand_is_found_within_two_hundred_looks(
    lab: LabUnderTest, tmp_path: Path
) -> None:
    found_within(lab, tmp_path, "0.0001", 200)
