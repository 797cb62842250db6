from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from importlib.resources import files
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from netloom.drivers.metrics_server import Server, parse_address
from netloom.drivers.prometheus import scrape
from netloom.errors import LabError, OutputError, SpecError
from netloom.formats.prometheus.exposition import parse_exposition
from netloom.formats.prometheus.metrics import DeviceIdentity, Now, PortNeighbour, Suspect, render
from netloom.ops.observe.metrics import METRICS
from netloom.ops.observe.store import Poll

SHIPPED = Path(str(files("netloom.app.watch"))) / "files"
DEVICES = {
    "leaf:0": DeviceIdentity(is_host=False, guid="0x0002", lid="3"),
    "nic:0": DeviceIdentity(is_host=True, guid="0x0001", lid="2"),
    "leaf:9": DeviceIdentity(is_host=False),
}
POLL = Poll(source="subnet", time_s=100.0, took_s=0.5, num_observations=9, error="")


def everything() -> Now:
    """Return every metric of a switch, a host, an Ethernet switch, and of what is no port."""
    parts = ("leaf:0[7]", "nic:0[1]", "leaf:9[2]", "leaf:9", "job:a/rank:0")
    return Now(
        values=[(part, metric.name, 8.0) for part in parts for metric in METRICS],
        devices=DEVICES,
        neighbours=[PortNeighbour(device="leaf:0", port=7, peer="nic:0", peer_port=1)],
        polls=(POLL,),
        good_polls=(POLL,),
        differences={"missing": 2},
        store_bytes=4096,
        findings=[Suspect(part="cable:3 (leaf:0 - spine:1)", kind="loss", confidence=0.97)],
    )


def families(now: Now) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    text = render(now).decode()
    return {
        sample.name: {
            tuple(sorted(one.labels.items())): one.value
            for family in text_string_to_metric_families(text)
            for one in family.samples
            if one.name == sample.name
        }
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


# The names that treydock/infiniband_exporter's own tests expect for switches.
FABRIC = [
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "receive_constraint_errors",
    "receive_data_bytes",
    "receive_errors",
    "receive_packets",
    "receive_remote_physical_errors",
    "receive_switch_relay_errors",
    "symbol_error",
    "transmit_constraint_errors",
    "transmit_data_bytes",
    "transmit_discards",
    "transmit_packets",
    "transmit_wait",
    "vl15_dropped",
]


def test_names_are_those_that_boards_ask_for() -> None:
    found = families(everything())
    for name in FABRIC:
        labels = (("guid", "0x0002"), ("port", "7"), ("switch", "leaf:0"))
        assert found[f"infiniband_switch_port_{name}_total"] == {labels: 8.0}
        labels = (("guid", "0x0001"), ("hca", "nic:0"), ("port", "1"))
        assert found[f"infiniband_hca_port_{name}_total"] == {labels: 8.0}
    recorded = Path(__file__).parents[2] / "data" / "watch" / "node_exporter.prom"
    theirs = {sample.name for sample in parse_exposition(recorded.read_text("utf-8")).samples}
    ours = {name for name in found if name.startswith("node_")}
    assert ours <= theirs  # what the real node_exporter 1.5 serves
    assert len([name for name in ours if "infiniband" in name]) == 19
    assert found["infiniband_switch_uplink_info"] == {
        (
            ("guid", "0x0002"),
            ("port", "7"),
            ("switch", "leaf:0"),
            ("uplink", "nic:0"),
            ("uplink_guid", "0x0001"),
            ("uplink_lid", "2"),
            ("uplink_port", "1"),
            ("uplink_type", "CA"),
        ): 1.0
    }


def test_rates_are_in_bytes_and_states_as_node_exporter_has_them() -> None:
    found = families(everything())
    assert found["infiniband_switch_rate_bytes_per_second"] == {(("guid", "0x0002"),): 1.0}
    labels = (("device", "nic:0"), ("port", "1"))
    assert found["node_infiniband_rate_bytes_per_second"] == {labels: 1.0}
    assert found["node_infiniband_state_id"] == {labels: 4.0}
    assert found["netloom_link_rate_bytes_per_second"][(("device", "leaf:9"), ("port", "2"))] == 1.0


def test_every_metric_is_told_under_some_name() -> None:
    for metric in METRICS:
        values = [(part, metric.name, 1.0) for part in ("leaf:0[7]", "leaf:9[2]", "job:a")]
        assert len(families(Now(values=values, devices=DEVICES))) > 1, metric.name


def test_our_own_parser_reads_what_we_serve() -> None:
    said = parse_exposition(render(everything()).decode())
    assert said.num_odd == 0
    assert len(said.samples) > 100


def test_promtool_finds_nothing_wrong_with_what_we_serve() -> None:
    done = promtool("check", "metrics", text=render(everything()))
    # Names that others chose are not ours to mend.
    complaints = [line for line in done.splitlines() if line.startswith("netloom_")]
    assert complaints == []


def promtool(*arguments: str, text: bytes = b"") -> str:
    path = shutil.which("promtool")
    if path is None:
        pytest.skip("apt-get install prometheus")
    done = subprocess.run(  # noqa: S603
        [path, *arguments], input=text, capture_output=True, check=False, timeout=300
    )
    return (done.stdout + done.stderr).decode()


def test_the_alert_rules_are_accepted_by_promtool() -> None:
    said = promtool("check", "rules", str(SHIPPED / "netloom-alerts.yml"))
    assert "SUCCESS" in said, said


# Port 7 counts 20 symbol errors in a minute, port 8 two; leaf:1 port 3 is down; the daemon of
# leaf:1 believes in two routes that its kernel lost.
RULE_TEST = """
rule_files: [{rules}]
evaluation_interval: 10s
tests:
  - interval: 10s
    input_series:
      - series: 'infiniband_switch_port_symbol_error_total{{switch="leaf:0",port="7"}}'
        values: '0x5 20x60'
      - series: 'infiniband_switch_port_symbol_error_total{{switch="leaf:0",port="8"}}'
        values: '0x5 2x60'
      - series: 'netloom_link_up{{device="leaf:1",port="3"}}'
        values: '1x5 0x60'
      - series: 'netloom_divergent_routes{{part="leaf:1"}}'
        values: '0x5 2x60'
      - series: 'netloom_finding_confidence{{part="cable:3 (leaf:0 - spine:1)",kind="loss"}}'
        values: '_x5 0.97x60'
      - series: 'netloom_finding_confidence{{part="cable:4 (leaf:0 - spine:1)",kind="loss"}}'
        values: '_x5 0.6x60'
      - series: 'netloom_findings_open'
        values: '0x5 2x60'
      - series: 'netloom_store_bytes'
        values: '4096x65'
    alert_rule_test:
      - eval_time: 3m
        alertname: PartBroken
        exp_alerts:
          - exp_labels: {{severity: page, part: "cable:3 (leaf:0 - spine:1)", kind: loss}}
            exp_annotations:
              summary: "cable:3 (leaf:0 - spine:1): loss, 97% sure"
              action: "'netloom locate --store' has the evidence, 'netloom heal' a plan"
      - eval_time: 3m
        alertname: ManyPartsBroken
        exp_alerts: []
      - eval_time: 3m
        alertname: InfinibandSymbolErrors
        exp_alerts:
          - exp_labels: {{severity: warning, switch: "leaf:0", port: "7"}}
            exp_annotations:
              summary: leaf:0 port 7 has symbol errors
              action: clean or replace the cable or its transceiver
      - eval_time: 3m
        alertname: LinkDown
        exp_alerts:
          - exp_labels: {{severity: page, device: "leaf:1", port: "3"}}
            exp_annotations:
              summary: leaf:1 port 3 is down
              action: "'netloom audit' names the cable with rack and port at both ends"
      - eval_time: 3m
        alertname: RoutesDiverge
        exp_alerts:
          - exp_labels: {{severity: page, part: "leaf:1"}}
            exp_annotations:
              summary: leaf:1 forwards 2 routes otherwise than it believes
              action: paths are lost in the kernel; restart zebra there
      - eval_time: 3m
        alertname: NetloomGone
        exp_alerts: []
"""


def test_the_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    path = tmp_path / "test.yml"
    path.write_text(RULE_TEST.format(rules=SHIPPED / "netloom-alerts.yml"), encoding="utf-8")
    assert "SUCCESS" in promtool("test", "rules", str(path))


def queries() -> list[str]:
    board = json.loads((SHIPPED / "netloom-dashboard.json").read_text("utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def test_the_board_asks_only_for_what_is_served() -> None:
    served = set(families(everything()))
    alerts = (SHIPPED / "netloom-alerts.yml").read_text("utf-8")
    asked = re.findall(r"\b(?:netloom|infiniband|node)_[a-z0-9_]+", "\n".join([*queries(), alerts]))
    assert len(set(asked)) > 20
    assert set(asked) <= served


def test_the_queries_of_the_board_are_promql(tmp_path: Path) -> None:
    plain = [q.replace("$__rate_interval", "5m").replace("$switch", ".*") for q in queries()]
    rules = [{"record": f"board:{n}", "expr": query} for n, query in enumerate(plain)]
    path = tmp_path / "board.yml"
    path.write_text(json.dumps({"groups": [{"name": "b", "rules": rules}]}), encoding="utf-8")
    said = promtool("check", "rules", str(path))
    assert "SUCCESS" in said, said


def test_panels_of_the_board_do_not_overlap() -> None:
    board = json.loads((SHIPPED / "netloom-dashboard.json").read_text("utf-8"))
    taken = [
        (x, y)
        for panel in board["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) < 24


def test_the_unit_is_accepted_by_systemd(tmp_path: Path) -> None:
    path = shutil.which("systemd-analyze")
    if path is None:
        pytest.skip("apt-get install systemd")
    unit = tmp_path / "netloom-watch.service"
    unit.write_bytes((SHIPPED / "netloom-watch.service").read_bytes())
    done = subprocess.run(  # noqa: S603
        [path, "verify", str(unit)], capture_output=True, check=False, timeout=300
    )
    said = (done.stdout + done.stderr).decode()
    assert "netloom-watch.service:" not in said, said
    rating = [path, "security", "--offline=yes", "--threshold=20", str(unit)]
    done = subprocess.run(rating, capture_output=True, check=False, timeout=300)  # noqa: S603
    assert done.returncode == 0, done.stdout.decode()[-400:]  # 2.0 of 10: little is exposed


@pytest.fixture
def server() -> Server:
    return Server("127.0.0.1", 0)


def test_metrics_and_health_are_served(server: Server) -> None:
    base = f"http://127.0.0.1:{server.port}"
    with pytest.raises(LabError, match="Service Unavailable"):
        scrape(f"{base}/health")
    server.put(render(everything()), {"status": "ok", "sources": []})
    assert len(scrape(f"{base}/metrics").samples) > 100
    with urllib.request.urlopen(f"{base}/health", timeout=300) as answer:  # noqa: S310
        assert json.load(answer) == {"status": "ok", "sources": []}
    with pytest.raises(LabError, match="Not Found"):
        scrape(f"{base}/etc/passwd")
    server.close()
    with pytest.raises(LabError, match="is it up"):
        scrape(f"{base}/metrics")


def test_an_address_that_is_taken_is_told(server: Server) -> None:
    with pytest.raises(OutputError, match="cannot be used"):
        Server("127.0.0.1", server.port)
    server.close()


@pytest.mark.parametrize("text", ["", "9787", ":9787", "host:port", "host:99999", "host:-1"])
def test_an_address_is_host_and_port(text: str) -> None:
    with pytest.raises(SpecError, match="--listen"):
        parse_address(text)
    assert parse_address("[::1]:9787") == ("::1", 9787)
