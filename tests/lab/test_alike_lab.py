"""watch, locate and heal say the same of a lab, and are as sure of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import LabUnderTest, infiniband_lab, roce_lab, wait_until

from netloom.app.lab.infiniband import subnets_of
from netloom.cli.main import main
from netloom.drivers import ibsim

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.lab
FILES = {"infiniband": "infiniband-ndr.yaml", "roce": "rocev2-400g.yaml"}
Said = dict[tuple[str, str], float]
MOST_APART = 0.15  # a watch has looked more often


class Answers:
    """What the three commands say of one lab, by part and kind: how sure they are."""

    def __init__(self, lab: LabUnderTest, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        labs = lab.place.path.parent
        scenario = labs.parent / FILES[lab.place.read().kind]
        self.lab, self.store, self.capsys = lab, store, capsys
        self.where = [str(scenario), "--lab", lab.place.name, "--dir", str(labs)]

    def _asked(self, *arguments: str) -> Any:
        self.capsys.readouterr()
        main([arguments[0], *self.where, *arguments[1:], "--json"])
        return json.loads(self.capsys.readouterr().out)["result"]

    def watch(self, *, rounds: int = 1) -> Said:
        told = [self.watched() for _ in range(rounds)]
        return _said(told[-1]["findings"])

    def watched(self) -> Any:
        return self._asked("watch", "--store", str(self.store), "--once")

    def locate(self) -> Said:
        return _said(self._asked("locate")["findings"])

    def heal(self) -> Said:
        """Nothing is done: no policy allows it."""
        return _said([plan["finding"] for plan in self._asked("heal")["plans"]])

    def are_clean(self) -> bool:
        return self.watch(rounds=3) == {} and self.locate() == {}

    def are_alike(self, wanted: set[tuple[str, str]]) -> bool:
        said = [self.watch(rounds=3), self.locate(), self.heal()]
        if any(one.keys() != wanted for one in said):
            return False
        spreads = [max(s[key] for s in said) - min(s[key] for s in said) for key in wanted]
        return max(spreads, default=0.0) <= MOST_APART


def _said(findings: list[dict[str, Any]]) -> Said:
    return {(one["part"].split(" (")[0], one["kind"]): one["confidence"] for one in findings}


@pytest.fixture(scope="module")
def infiniband(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with infiniband_lab(tmp_path_factory.mktemp("alike-ib")) as made:
        yield made


@pytest.fixture(scope="module")
def roce(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with roce_lab(tmp_path_factory.mktemp("alike-roce")) as made:
        yield made


INFINIBAND = [
    (("unlink",), "missing cable"),
    (("slow-link", "--factor", "2"), "wrong speed"),
]


@pytest.mark.parametrize(("fault", "kind"), INFINIBAND, ids=str)
def test_a_cable_of_infiniband(
    infiniband: LabUnderTest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    fault: tuple[str, ...],
    kind: str,
) -> None:
    answers = Answers(infiniband, tmp_path / "s.db", capsys)
    part = f"cable:{infiniband.place.read_plant().find('leaf:3')[-1].number}"
    assert wait_until(answers.are_clean)
    infiniband.fault(fault[0], part, *fault[1:])
    try:
        assert wait_until(lambda: answers.are_alike({(part, kind)}))
    finally:
        infiniband.fault("clear")


def test_a_switch_and_a_manager_of_infiniband(
    infiniband: LabUnderTest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = Answers(infiniband, tmp_path / "s.db", capsys)
    assert wait_until(answers.are_clean)
    try:
        infiniband.fault("dead-switch", "spine:0")
        assert wait_until(lambda: answers.are_alike({("spine:0", "silent device")}))
        infiniband.fault("clear")
        assert wait_until(answers.are_clean)
        infiniband.fault("dead-sm")
        assert wait_until(lambda: answers.are_alike({("opensm-0.0", "dead subnet manager")}))
    finally:
        infiniband.fault("clear")


def test_a_few_symbol_errors_convict_for_none_and_many_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a lab of its own: counters keep what they counted after a fault is cleared."""
    with infiniband_lab(tmp_path) as made:
        answers = Answers(made, tmp_path / "s.db", capsys)
        part = f"cable:{made.place.read_plant().find('leaf:2')[-1].number}"
        assert wait_until(answers.are_clean)
        made.fault("symbol-errors", part, "--count", "72")
        assert [answers.watch(), answers.locate(), answers.heal()] == [{}, {}, {}]
        made.fault("symbol-errors", part, "--count", "5000")
        said = [answers.watch(), answers.locate(), answers.heal()]
        assert [set(one) for one in said] == [{(part, "symbol errors")}] * 3
        sure = [one[part, "symbol errors"] for one in said]
        assert max(sure) - min(sure) <= MOST_APART


@pytest.mark.parametrize(
    ("fault", "part", "kind"),
    [("unlink", "cable", "missing cable"), ("dead-switch", "spine:1", "silent device")],
)
def test_frr(
    roce: LabUnderTest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    fault: str,
    part: str,
    kind: str,
) -> None:
    answers = Answers(roce, tmp_path / "s.db", capsys)
    if part == "cable":
        part = f"cable:{roce.place.read_plant().find('leaf:3')[-1].number}"
    assert wait_until(answers.are_clean)
    roce.fault(fault, part)
    try:
        assert wait_until(lambda: answers.are_alike({(part, kind)}))
    finally:
        roce.fault("clear")


def test_a_dark_cable_of_infiniband(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # In a lab of its own: what its ports counted meanwhile stays counted.
    with infiniband_lab(tmp_path) as lab:
        answers = Answers(lab, tmp_path / "s.db", capsys)
        part = f"cable:{lab.place.read_plant().find('leaf:3')[-1].number}"
        assert wait_until(answers.are_clean)
        lab.fault("silent-drop", part)
        assert wait_until(lambda: answers.are_alike({(part, "black hole")}))


@pytest.mark.parametrize(
    ("counter", "count", "kind"),
    [
        ("LinkDownedCounter", 2, "flapping"),
        ("LocalLinkIntegrityErrors", 3, "symbol errors"),
        ("PortRcvErrors", 5000, "loss"),
        ("ExcessiveBufferOverrunErrors", 4, "congestion"),
        ("PortXmitDiscards", 5000, "congestion"),
        ("VL15Dropped", 5000, ""),
    ],
)
def test_a_counter_that_rises_on_one_port_of_infiniband(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], counter: str, count: int, kind: str
) -> None:
    """Raised behind netloom's back; what it held before the watch says nothing."""
    with infiniband_lab(tmp_path) as lab:
        plant = lab.place.read_plant()
        (network,) = subnets_of(lab.place, lab.place.read(), plant)
        (cable, *_) = plant.find("link:leaf:1-spine:0")

        def raised(value: int) -> None:
            place = (network.simulator, "leaf:1", cable.lower.number)
            assert ibsim.set_counter(*place, f"PortCounters.{counter}", value) == value

        answers = Answers(lab, tmp_path / "s.db", capsys)
        raised(3)
        assert wait_until(lambda: answers.watch(rounds=3) == {})
        raised(3 + count)
        found = {(f"cable:{cable.number}", kind)} if kind else set()
        told = answers.watched()
        assert {*_said(told["findings"])} == (set() if kind == "congestion" else found)
        full = {(one["part"].split(" (")[0], "congestion") for one in told["congestion"]}
        assert full == (found if kind == "congestion" else set())
