"""Real FRR in namespaces, watched and audited."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import LabUnderTest, roce_lab, wait_until

from netloom.app.watch.sources import collectors_in_lab
from netloom.cli.main import main
from netloom.cli.operate.designed import designed_at
from netloom.drivers import frr
from netloom.formats.prometheus.metrics import Now, families_of
from netloom.ops.lab import namespace_of
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lab

CABLES = 16  # 8 hosts on 4 leaves, each leaf on 2 spines


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with roce_lab(tmp_path_factory.mktemp("watch-roce")) as made:
        settle(made)
        yield made


@pytest.fixture(autouse=True)
def mended(lab: LabUnderTest) -> Iterator[None]:
    yield
    lab.fault("clear")
    settle(lab)


def settle(lab: LabUnderTest) -> None:
    """Return when leaf:0 has both of its sessions and all of its routes."""
    # 4 leaves with 2 hosts each: 2 routes over one interface, 6 over two.
    wanted = ({1.0}, {1.0}, {14.0}, {14.0})

    def settled() -> bool:
        metrics = ("bgp_up", "bfd_up", "rib_ways", "fib_ways")
        return tuple(set(seen(lab, "leaf:0", metric).values()) for metric in metrics) == wanted

    assert wait_until(settled)


def where(lab: LabUnderTest) -> list[str]:
    labs = lab.place.path.parent
    scenario = labs.parent / "rocev2-400g.yaml"
    return [str(scenario), "--lab", lab.place.name, "--dir", str(labs)]


def seen(lab: LabUnderTest, device: str, metric: str) -> dict[str, float]:
    """Return a metric of every part of a device, as its collectors see it now."""
    designed = designed_at(Path(where(lab)[0]), None)
    collectors = collectors_in_lab(lab.place, designed)
    mine = [c for c in collectors if c.source.endswith(f" {device}")]
    readings = [collector.read(0.0, "") for collector in mine]
    return {o.part: o.value for r in readings for o in r.observations if o.metric == metric}


def differences(lab: LabUnderTest, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, Any]]:
    capsys.readouterr()
    main(["audit", *where(lab), "--json"])
    found = json.loads(capsys.readouterr().out)["result"]
    return [(one["kind"], one["cables"]) for one in found["differences"]]


def test_a_lab_is_built_as_designed_and_all_of_it_is_seen(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert wait_until(lambda: differences(lab, capsys) == [])
    assert main(["watch", *where(lab), "--once", "--store", str(tmp_path / "s.db")]) == 0
    assert seen(lab, "leaf:0", "divergent_routes") == {"leaf:0": 0.0}


def test_cables_that_are_pulled_crossed_or_slowed_are_named(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    plant = lab.place.read_plant()
    one, other = plant.find("leaf:2")[-1].number, plant.find("leaf:3")[-1].number
    lab.fault("unlink", f"cable:{one}")
    assert wait_until(lambda: differences(lab, capsys) == [("missing", [one])])
    lab.fault("clear")
    lab.fault("slow-link", f"cable:{one}", "--factor", "4")
    assert wait_until(lambda: differences(lab, capsys) == [("wrong-speed", [one])])
    lab.fault("clear")
    lab.fault("miswire", f"cable:{one}", f"cable:{other}")
    assert wait_until(lambda: differences(lab, capsys) == [("swapped", [one, other])])


def test_a_link_that_drops_silently_is_up_but_its_session_is_not(lab: LabUnderTest) -> None:
    cable = lab.place.read_plant().find("leaf:0")[-1]
    part = f"leaf:0[{cable.lower.number}]"
    lab.fault("silent-drop", f"cable:{cable.number}")
    assert wait_until(lambda: seen(lab, "leaf:0", "bfd_up").get(part) != 1.0)
    assert wait_until(lambda: seen(lab, "leaf:0", "bgp_up")[part] == 0.0)
    assert seen(lab, "leaf:0", "link_up")[part] == 1.0


def test_a_kernel_that_lost_a_path_diverges_from_its_daemon(lab: LabUnderTest) -> None:
    space = namespace_of(lab.place.mark, "leaf:0")
    route = next(r for r in frr.fib(space) if len(r.interfaces) == 2 and r.prefix.endswith("/31"))
    command = ["ip", "-n", space, "route", "replace", route.prefix, "proto", "bgp", "metric", "20"]
    lost = [*command, "via", "169.254.0.1", "dev", route.interfaces[0], "onlink"]
    subprocess.run(lost, check=True, timeout=300)  # noqa: S603
    try:
        assert seen(lab, "leaf:0", "divergent_routes") == {"leaf:0": 1.0}
        assert seen(lab, "leaf:0", "rib_ways") == {"leaf:0": 14.0}
        assert seen(lab, "leaf:0", "fib_ways") == {"leaf:0": 13.0}
    finally:
        hops = [
            word
            for name in route.interfaces
            for word in ("nexthop", "via", "169.254.0.1", "dev", name, "onlink")
        ]
        subprocess.run([*command, *hops], check=True, timeout=300)  # noqa: S603
    assert seen(lab, "leaf:0", "divergent_routes") == {"leaf:0": 0.0}


def test_a_lab_of_another_scenario_is_refused(
    lab: LabUnderTest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = Path(where(lab)[0])
    other = tmp_path / "other.yaml"
    (tmp_path / "own.toml").write_bytes((given.parent / "own.toml").read_bytes())
    text = given.read_text(encoding="utf-8").replace("tiers: 2", "tiers: 3")
    other.write_text(text, encoding="utf-8")
    assert main(["audit", str(other), *where(lab)[1:]]) == 2
    assert "made from another scenario" in capsys.readouterr().err


def test_probes_carry_how_long_they_took_into_the_store_and_to_prometheus(
    lab: LabUnderTest, tmp_path: Path
) -> None:
    store = tmp_path / "latency.db"
    assert main(["watch", *where(lab), "--once", "--store", str(store)]) == 0
    before = latencies(store)
    assert len(before) == 8
    assert all(0 < p50 <= p99 < 1 for p50, p99 in before.values())
    # A round of one host's probes (some 50 kB) takes 0.2 s at 2 Mbit/s; no other's wait. The lab
    # ends after this test.
    space = namespace_of(lab.place.mark, "nic:0")
    command = ["tc", "-n", space, "qdisc", "replace", "dev", "eth0", "root", "tbf"]
    slow = ["rate", "2mbit", "burst", "5000", "latency", "400ms"]
    subprocess.run([*command, *slow], check=True)  # noqa: S603  (the lab's own)
    try:
        assert main(["watch", *where(lab), "--once", "--store", str(store)]) == 0
    finally:
        subprocess.run([*command[:4], "del", *command[5:8]], check=True)  # noqa: S603
    after = latencies(store)
    assert after["nic:0"][0] > 0.05
    assert min(after["nic:0"]) > max(p50 for part, (p50, _) in after.items() if part != "nic:0")


def latencies(path: Path) -> dict[str, tuple[float, float]]:
    """Return median and 99th percentile of each host's probes, as /metrics serves them."""
    with ObservationStore(path) as store:
        values = [(part, metric, value) for _, part, metric, value in store.latest()]
    served = {
        (name, labels): value
        for name, labels, value in families_of(Now(values=values, devices={})).samples()
    }
    return {
        part: (value, served["netloom_probe_latency_p99_seconds", f'{{part="{part}"}}'])
        for part, metric, value in values
        if metric == "probe_latency_p50_s"
    }
