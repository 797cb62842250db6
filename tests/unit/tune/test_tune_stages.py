"""Classes of a step: who leaves a node, who goes first, and how that is written."""

from __future__ import annotations

import json

import numpy as np
import pytest

import netloom as nl
from netloom.app.tune_files import class_files, service_classes
from netloom.errors import InfeasibleError, SpecError
from netloom.formats.infiniband.service_levels import service_levels
from netloom.ops.deploy.service_classes import ServiceClass, dscp_of
from netloom.spec.load import parse
from netloom.study.tune.stages.measure import window_of
from netloom.study.tune.stages.phases import StagePhase
from netloom.study.tune.stages.tuning import StagedSettings, candidates_of
from netloom.study.tune.stages.window import ServiceLevels
from netloom.study.tune.tuning import TuneRequest

MIXTURE = """
cluster: {gpus: 32, node: dgx-h100,
          fabric: {technology: rocev2-200g,
                   topology: {kind: fat-tree, tiers: 2, hosts_per_leaf: 16}}}
job: {model: mixtral-8x7b, training: {sequence: 2048, global_batch: 32},
      parallel: {tensor: 2, pipeline: 2, data: 8, expert: 8}}
"""


@pytest.fixture(scope="module")
def staged() -> StagedSettings:
    request = TuneRequest(verdict_seeds=3, search_seeds=1)
    found = nl.tune(parse(MIXTURE, name="m.yaml"), request=request, stages=True, workers=1)
    assert isinstance(found, StagedSettings)
    return found


def test_one_class_and_the_rule_are_tried_with_every_order(staged: StagedSettings) -> None:
    names = [name for name, _ in staged.tried]
    assert names[:2] == ["one class", "exposed first"]
    # 3 classes: one for all, 6 orders, weights, pieces and paths.
    assert len(names) == 1 + 6 + 3


def test_what_computation_waits_for_goes_before_gradients(staged: StagedSettings) -> None:
    values = dict(staged.tried)
    assert values["exposed first"] <= values["data > gather > pipeline"]
    assert min(values.values()) <= values["one class"]


def test_pieces_and_paths_move_the_same_bytes() -> None:
    window = window_of(parse(MIXTURE, name="m.yaml"))
    names = (*window.chain, *window.bulk)
    levels = dict.fromkeys(names, 3)
    whole, cut = (
        window.transfers(
            ServiceLevels(name="", level=levels, weights={}, slices=slices, qps={}),
            np.random.default_rng(0),
        )
        for slices in ({}, {"data": 4})
    )
    assert whole.size_bytes.sum() == cut.size_bytes.sum()
    assert (cut.job == 2).sum() == 4 * (whole.job == 2).sum()


def test_levels_are_written_for_every_system(staged: StagedSettings) -> None:
    files = class_files(staged)
    classes = service_classes(staged)
    for path in ("classes/nvue.sh", "classes/eos.conf", "classes/nics.sh"):
        for one in classes:
            assert str(one.dscp) in files[path], path
    told = files["classes/nccl-communicators.txt"]
    assert all(f"{one.name}: {one.traffic_class} " in told for one in classes)


def test_sonic_is_told_maps_schedulers_and_queues() -> None:
    text = MIXTURE.replace("rocev2-200g", "rocev2-400g")
    from netloom.formats.sonic.class_tables import class_tables  # noqa: PLC0415

    del text
    classes = (
        ServiceClass(name="pipeline", priority=6, weight=0.0, qps=4),
        ServiceClass(name="data", priority=4, weight=20.0, qps=4),
    )
    tables = json.loads(class_tables(classes, ["Ethernet0"]))
    assert tables["DSCP_TO_TC_MAP"]["AZURE"] == {"50": "6", "34": "4"}
    assert tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "4,6"
    assert tables["SCHEDULER"]["scheduler.6"] == {"type": "STRICT"}
    assert tables["SCHEDULER"]["scheduler.4"] == {"type": "DWRR", "weight": "20"}


def test_priority_3_has_the_code_point_of_roce() -> None:
    assert dscp_of(3) == 26


def test_the_first_class_has_infiniband_s_high_table_to_itself() -> None:
    classes = tuple(
        ServiceClass(name=name, priority=level, weight=0.0, qps=1)
        for name, level in (("pipeline", 6), ("expert", 5), ("data", 4))
    )
    said = service_levels(classes)
    assert "qos_vlarb_high 0:255\n" in said
    assert "qos_high_limit 255\n" in said
    assert "qos_vlarb_low 0:255,1:63,2:15\n" in said
    # Service level 6 on lane 0, 5 on 1, 4 on 2.
    assert "qos_sl2vl 0,0,0,0,2,1,0,0,0" in said


def test_a_change_must_take_effect_within_a_hundredth_of_its_phase() -> None:
    phase = StagePhase(name="data", count=1, phase_s=20e-3)
    assert phase.within_s == pytest.approx(200e-6)
    assert len(phase.can_change) == 2  # code points, and queue pairs in 100 us


def test_more_than_four_classes_swap_neighbours_alone() -> None:
    found = candidates_of(("a", "b", "c", "d", "e"))
    assert len(found) == 2 + 4 + 3


def test_traffic_has_no_stages_and_one_class_no_order() -> None:
    with pytest.raises(SpecError, match="no job of its own"):
        nl.tune(nl.example("incast-rocev2"), stages=True, workers=1)
    text = MIXTURE.replace("tensor: 2, pipeline: 2, data: 8, expert: 8", "tensor: 8, data: 4")
    text = text.replace("mixtral-8x7b", "llama-3.1-8b").replace("data: 4", "data: 4, zero: 0")
    with pytest.raises(InfeasibleError, match="1 class"):
        nl.tune(parse(text, name="x"), stages=True, workers=1)
