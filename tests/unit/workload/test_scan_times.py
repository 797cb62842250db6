"""Layers without attention take what their kernels took on one H200."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

import pytest

from netloom.compute import roofline as rates
from netloom.compute.roofline import roofline
from netloom.parts.load import load_catalog
from netloom.parts.mixer import LinearMixer
from netloom.workload.hybrid import linear_attention
from netloom.workload.hybrid.linear_attention import linear_operators
from netloom.workload.operator import Shard

if TYPE_CHECKING:
    from netloom.workload.operator import Operator

TABLE = Path(__file__).parents[2] / "data" / "mixers" / "h200_mixers_bf16.csv"
FITTED = {
    "scan": {
        *("qwen3-next-80b-a3b", "qwen3-next tp2", "nemotron-3-nano-30b-a3b"),
        *("nemotron-3-nano tp4", "mamba2-2.7b"),
    },
    "mixer norm": {"nemotron-3-nano-30b-a3b"},
}
MACHINE = roofline(load_catalog().gpus["H200-SXM"], "bf16")


@dataclass(frozen=True)
class Timed:
    part: str
    model: str
    mixer: LinearMixer
    shard: Shard
    forward_s: float
    backward_s: float

    @property
    def is_fitted(self) -> bool:
        return self.model in FITTED[self.part]

    @property
    def operator(self) -> Operator:
        made = linear_operators(self.mixer, 4096, self.shard, share=1.0)
        return next(one for one in made if one.name == self.part)

    @property
    def errors(self) -> tuple[float, float]:
        forward_s = MACHINE.forward_s(self.operator) / self.forward_s
        return forward_s - 1, MACHINE.backward_s(self.operator) / self.backward_s - 1


def _timed(row: dict[str, str]) -> Timed:
    names = ("num_heads", "head_dim", "num_groups", "state", "chunk")
    mixer = LinearMixer.model_validate(
        {"kind": row["kind"], **{name: int(row[name]) for name in names}}
    )
    forward_s, both_s = float(row["fwd_ms"]) / 1e3, float(row["fwd_bwd_ms"]) / 1e3
    shard = Shard(micro_batch=int(row["batch"]), sequence=int(row["sequence"]))
    return Timed(row["part"], row["model"], mixer, shard, forward_s, both_s - forward_s)


def _rows(part: str, kind: str = "") -> list[Timed]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        found = [_timed(row) for row in csv.DictReader(file) if row["part"] == part]
    return [one for one in found if one.mixer.kind == kind or not kind]


def _worst_and_median(errors: list[float]) -> tuple[float, float]:
    sizes = [abs(error) for error in errors]
    return max(sizes), median(sizes)


def test_scans_of_models_that_were_not_fitted_take_what_they_took() -> None:
    judged = [one for one in _rows("scan") if not one.is_fitted]
    assert len(judged) == 8
    worst, middle = _worst_and_median([one.errors[0] for one in judged])
    assert worst < 0.10
    assert middle < 0.03
    worst, middle = _worst_and_median([one.errors[1] for one in judged])
    assert worst < 0.24
    assert middle < 0.16


@pytest.mark.parametrize(
    ("module", "name", "which"),
    [
        (linear_attention, "SCAN_BYTES", 0),
        (linear_attention, "SCAN_LAUNCHES", 0),
        (rates, "SCAN_SHARE", 0),
        (linear_attention, "SCAN_BACKWARD_BYTES", 1),
        (linear_attention, "SCAN_BACKWARD_FLOPS", 1),
        (linear_attention, "SCAN_BACKWARD_LAUNCHES", 1),
    ],
)
def test_no_number_near_by_fits_the_fitted_scans_better(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, which: int
) -> None:
    fitted = [one for one in _rows("scan") if one.is_fitted]
    assert len(fitted) == 13

    def off() -> float:
        return mean(abs(one.errors[which]) for one in fitted)

    best, value = off(), getattr(module, name)
    for factor in (0.85, 1.15):
        monkeypatch.setattr(module, name, factor * value)
        assert off() > best


def test_gated_norms_of_mamba_take_what_they_took() -> None:
    judged = [one for one in _rows("mixer norm", "mamba-2") if not one.is_fitted]
    assert len(judged) == 2
    assert max(abs(error) for one in judged for error in one.errors) < 0.10


def test_megatron_scans_gated_deltas_slower_than_their_kernels_and_mamba_as_they_are() -> None:
    for part in (one for one in _rows("scan") if one.shard.micro_batch == 4):
        plain = MACHINE.forward_s(part.operator)
        shard = Shard(micro_batch=4, sequence=4096, delta_excess=10.0)
        slow = MACHINE.forward_s(
            next(
                one
                for one in linear_operators(part.mixer, 4096, shard, share=1.0)
                if one.name == "scan"
            )
        )
        launches_s = 8 * rates.LAUNCH_S
        factor = 10.0 if part.mixer.kind == "gated-delta" else 1.0
        assert slow - launches_s == pytest.approx(factor * (plain - launches_s))
