"""A watch calls a link that degrades from what it has stored, and serves when it will drop."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.app.watch.optics import OpticsOutlook
from netloom.cli.main import main
from netloom.cli.operate.designed import designed_at
from netloom.drivers.clock import WallClock
from netloom.drivers.metrics_server import Server
from netloom.formats.prometheus.metrics import Now, render
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import read_window
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.retention import RetentionLimits, retain
from netloom.ops.observe.store import ObservationStore
from netloom.ops.optics.hourly import hourly

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
"""
ILL, WELL = "leaf:0[1]", "leaf:0[2]"
DAYS = 20
FALL_DB_D = 0.25  # in the last eight days: 2.0 of 3.0 dB


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO, encoding="ascii")
    return path


def fill(store: ObservationStore, end_s: float) -> None:
    """Write what a switch says of two transceivers each hour; one fades."""
    rng = np.random.default_rng(1)
    for hour in range(-24 * DAYS, 1):
        swing = 0.15 * math.sin(2 * math.pi * hour / 24)
        fades = {ILL: FALL_DB_D * max(0.0, hour / 24 + 8), WELL: 0.0}
        time_s = end_s + 3600.0 * hour
        seen = [
            Observation(time_s, part, "optic_receive_power_dbm", round(-1 + swing - fade + n, 2))
            for (part, fade), n in zip(fades.items(), 0.05 * rng.standard_normal(2), strict=True)
        ]
        store.add(Reading(source="leaf:0", time_s=time_s, observations=seen, is_whole=True))


def test_a_fading_link_is_a_finding_with_its_remedy(tmp_path: Path, scenario: Path) -> None:
    now_s = 1_800_000_000.0
    designed = designed_at(scenario)
    network = DesignedNetwork(
        fabric=designed.fabric, plant=designed.plant, rate_bps=lambda cable: cable.rate_bps
    )
    with ObservationStore(tmp_path / "watch.db") as store:
        fill(store, now_s)
        retain(store, now_s, RetentionLimits())  # older than two days: windows
        assert store.num_rows()["coarse"] > 0
        optics = OpticsOutlook(store=store)
        for late_s in (10.0, 20.0):
            store.add(optics.read(now_s + late_s, ""))
        heard = read_window(store, now_s - 600, now_s + 30)
        (one,) = locate_all(network, heard)
        latest = [(part, metric, value) for _, part, metric, value in store.latest()]
    assert (str(one.part.whole), one.kind) == (f"cable:{network.at[ILL].number}", "degrading")
    assert one.confidence > 0.9
    # 1 dB is left, less what the swing takes, at 0.25 dB a day: four days or a little less.
    assert 2 < one.magnitude / 86_400 < 5
    (text,) = one.evidence
    assert "dB of margin left by its light received" in text
    assert "remedy: clean the connectors at both ends" in text
    served = render(
        Now(
            values=latest,
            devices={},
            neighbours=[],
            polls=(),
            good_polls=(),
            differences=None,
            store_bytes=0,
        )
    ).decode()
    assert f'netloom_link_drop_expected_seconds{{part="{ILL}"}}' in served
    assert WELL not in "".join(line for line in served.splitlines() if "link_drop" in line)


def test_the_command_tells_it(
    tmp_path: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "watch.db"
    with ObservationStore(path) as store:
        fill(store, WallClock().now_s())
    server = Server("127.0.0.1", 0)
    server.put(b"node_load1 0.5\n", {"status": "ok"})
    target = f"http://127.0.0.1:{server.port}/metrics"
    options = ("--scrape", target, "--store", str(path), "--once", "--json")
    assert main(["watch", str(scenario), *options]) == 0
    server.close()
    (case,) = json.loads(capsys.readouterr().out)["result"]["findings"]
    assert case["kind"] == "degrading"
    assert "remedy:" in case["evidence"][0]


def test_hours_of_counters_are_what_they_rose(tmp_path: Path) -> None:
    with ObservationStore(tmp_path / "watch.db") as store:
        for hour, value in enumerate((5.0, 7.0, 7.0, 2.0)):  # cleared before the last
            seen = [Observation(3600.0 * hour + 1, ILL, "link_downs", value)]
            store.add(Reading(source="leaf:0", time_s=3600.0 * hour + 1, observations=seen))
        found = hourly(store, "link_downs", 4 * 3600.0, 5, is_counter=True)
    np.testing.assert_array_equal(found.values, [[np.nan, 0, 2, 0, 2]])
