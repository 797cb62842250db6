"""``netloom simulate`` from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import pytest

import netloom as nl
from netloom.cli.design.simulate_progress import Watcher
from netloom.cli.main import main
from netloom.parts.load import load_catalog
from netloom.study.simulate.run import case_of, run_case

if TYPE_CHECKING:
    from pathlib import Path

TOPOLOGY = """6 2 5
4 5
0 4 100Gbps 0.001ms 0
1 4 100Gbps 0.001ms 0
2 5 100Gbps 0.001ms 0
3 5 100Gbps 0.001ms 0
4 5 400Gbps 0.001ms 0
"""
FLOWS = "2\n0 3 3 100 40000 2.000000\n1 2 3 100 40000 2.000010\n"
CONFIG = """CC_MODE 3
BUFFER_SIZE 32
U_TARGET 0.99
MI_THRESH 0
KMAX_MAP 2 100000000000 400 400000000000 1600
KMIN_MAP 2 100000000000 100 400000000000 400
PMAX_MAP 2 100000000000 0.2 400000000000 0.2
"""
SMALL = """
name: <b>small</b> & bold
cluster: {gpus: 16, fabric: {technology: rocev2-400g, topology: {kind: fat-tree}}}
traffic: [{kind: incast, fan_in: 12, first: 1, size: 400KB}]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (
        ("topology.txt", TOPOLOGY),
        ("flow.txt", FLOWS),
        ("config.txt", CONFIG),
        ("small.yaml", SMALL),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_scenario_is_run_and_written_every_way(
    engine: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["simulate", str(files / "small.yaml"), "--engine", engine, "--json", "--seeds", "2"]
    page, folder, fct = files / "r.html", files / "out", files / "fct.txt"
    extra = ["--report", str(page), "--out", str(folder), "--fct", str(fct)]
    assert main([*command, *extra]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["flows_finished"] == 12
    assert len(found["runs"]) == 2
    assert found["peak_rss_bytes"] > 1e6
    assert "over_seeds" in found
    html = page.read_text()
    assert "&lt;b&gt;small&lt;/b&gt; &amp; bold" in html
    assert "<b>small</b>" not in html
    assert {"flows.arrow", "links.arrow"} <= {file.name for file in folder.iterdir()}
    assert len(fct.read_text().splitlines()) == 12


def test_text_says_what_matters(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(files / "small.yaml")]) == 0
    text = capsys.readouterr().out
    assert "12 of 12 transfers ended" in text
    assert "slowdown" in text
    assert "leaf:0->gpu:0" in text


TREE = """Nodes 16
Tiers 2
Podsize 16
Tier 0
Downlink_speed_Gbps 400
Radix_Down 8
Radix_Up 8
Downlink_Latency_ns 1000
{queue}Tier 1
Downlink_speed_Gbps 400
Radix_Down 2
Downlink_Latency_ns 1000
"""
INCAST = "Nodes 16\nConnections 8\n" + "".join(
    f"{source}->0 id {source - 7} start 0 size 1000000\n" for source in range(8, 16)
)


def test_queue_sizes_of_a_topo_file_decide_how_much_is_trimmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trims: dict[str, int] = {}
    (tmp_path / "in.cm").write_text(INCAST)
    for name, queue in {"none": "", "small": "Queue_Down 40000\n"}.items():
        topology = tmp_path / f"{name}.topo"
        topology.write_text(TREE.format(queue=queue))
        command = f"simulate --topology {topology} --flows {tmp_path}/in.cm".split()
        assert main([*command, "--technology", "uet-400g", "--json"]) == 0
        trims[name] = json.loads(capsys.readouterr().out)["result"]["trims"]
    # A tenth of the usual 100 packets: up to 90 fewer wait, and each refill trims more.
    assert trims["small"] > trims["none"] + 90
    paused = f"simulate --topology {tmp_path}/small.topo --flows {tmp_path}/in.cm".split()
    assert main(paused) == 0  # rocev2-400g
    assert "queue sizes of the .topo file are not used" in capsys.readouterr().out


BROUGHT = "--topology topology.txt --flows flow.txt"
HPCC_CASE = f"{BROUGHT} --config config.txt"


def test_cables_lose_what_an_ns3_topology_says(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Node 0's cable loses a tenth of its packets either way; 10 or 11 of 40,000 bytes cross it,
    # and as many acknowledgements: about two are lost, and what was lost is sent again.
    lossy = TOPOLOGY.replace("0 4 100Gbps 0.001ms 0\n", "0 4 100Gbps 0.001ms 0.1\n")
    (files / "lossy.txt").write_text(lossy)
    brought = ["--topology", str(files / "lossy.txt"), "--flows", str(files / "flow.txt")]
    assert main(["simulate", *brought, "--technology", "rocev2-100g", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["lost"] > 0
    assert found["flows_finished"] == 2
    assert found["notes"] == []
    assert main(["simulate", *brought, "--engine", "flow"]) == 2
    assert "flows lose nothing" in capsys.readouterr().err


def test_a_case_of_hpcc_runs_as_it_is(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brought = ["--topology", str(files / "topology.txt"), "--flows", str(files / "flow.txt")]
    configured = [*brought, "--config", str(files / "config.txt"), "--json"]
    assert main(["simulate", *configured]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["settings"]["congestion_control"] == "hpcc"
    # Packets of 1000 + 48 + 42 bytes of telemetry, acknowledgements of 88: 40 packets at 100 Gb/s,
    # one at 400 and one at 100 again, three links of 1 us each way, the acknowledgement on all
    # three: 3488 + 21.8 + 87.2 + 6000 + 15.84 ns.
    assert found["fct_s"]["min"] == pytest.approx(9612.84e-9, abs=1e-15)
    # third.cc divides by 2 x 3 us, 1000 B on every link, and 40,000 B with 40 headers of 48 B at
    # 100 Gb/s: 6000 + 180 + 3353.6 ns.
    assert found["slowdown"]["max"] == pytest.approx(9612.84 / 9533.6, abs=1e-9)
    assert main(["simulate", *brought, "--engine", "flow", "--technology", "rocev2-100g"]) == 0


def test_a_configuration_stops_the_clock_and_loses_packets(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["simulate", *f"--topology {files}/topology.txt --flows {files}/flow.txt".split()]
    config = files / "config.txt"
    # The first flow has ended after 9.6 us, the second begins 10 us later and has not.
    config.write_text(CONFIG + "SIMULATOR_STOP_TIME 2.000012\n")
    assert main([*command, "--config", str(config), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["partial"], found["flows_finished"]) == (True, 1)
    assert found["simulated_s"] == pytest.approx(2.000012)
    assert main([*command, "--config", str(config), "--until", "3s", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["flows_finished"] == 2
    # That simulator has no timeouts: a flow that loses its last packet waits forever.
    config.write_text(CONFIG + "ERROR_RATE_PER_LINK 0.1\n")
    assert main([*command, "--config", str(config), "--until", "2.1s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["lost"] > 0
    assert found["timeouts"] == 0
    assert found["notes"] == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["--topology", "topology.txt"], "give a scenario, or --topology and --flows"),
        (["small.yaml", "--seeds", "0"], "seeds: 0 from 0; give at least 1"),
        (["small.yaml", "--until", "2"], "until: '2' has no unit"),
        (["small.yaml", "--until", "0s"], "until: 0s, but the first transfer starts at 0s"),
        (f"{BROUGHT} --until 1ms".split(), "until: 1ms, but the first transfer starts at 2s"),
        (f"{BROUGHT} --routes x.dump".split(), "routes: they are for a scenario's switches"),
        # The file is not at fault, and none of its lines is named.
        (["small.yaml", "--transport", "x"], "small.yaml: transport: 'x' is not known"),
        (["small.yaml", "--cc", "rccd"], "'rccd' is not known; did you mean 'rccc'?"),
        (["small.yaml", "--cc", "rccc", "--transport", "ndp"], "the transport is ndp; leave one"),
        (["small.yaml", "--technology", "rocev2-4g"], "rocev2-4g"),
        (
            [
                "--topology",
                "topology.txt",
                "--flows",
                "flow.txt",
                "--config",
                "config.txt",
                "--cc",
                "none",
            ],
            "--config says how everything behaves",
        ),
        (
            f"{HPCC_CASE} --technology infiniband-ndr".split(),
            "--config says how everything behaves",
        ),
        (f"{HPCC_CASE} --engine flow".split(), "--config sets up packets"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    command: list[str],
    message: str,
    files: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files)
    assert main(["simulate", *command]) == 2
    assert message in capsys.readouterr().err


def test_a_mistake_in_traffic_is_told_with_its_line(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = files / "wrong.yaml"
    wrong.write_text(SMALL.replace("fan_in: 12", "fan_in: 99"))
    assert main(["simulate", str(wrong)]) == 2
    assert f"{wrong}:4:" in capsys.readouterr().err


def test_check_reads_traffic_too(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(files / "small.yaml")]) == 0
    wrong = files / "wrong.yaml"
    wrong.write_text(SMALL.replace("fan_in: 12", "fan_in: 99"))
    assert main(["check", str(wrong)]) == 2
    assert "a fan-in of 99" in capsys.readouterr().err


def test_the_progress_line_tells_rate_and_time_left() -> None:
    watcher = Watcher(unit="events", total=1000)
    watcher(2_000_000, 250)
    # 250 of 1000 in 5 s: 50 a second, three times as long still to go.
    assert watcher.line(2_000_000, 5.0).startswith("simulated 2us, 50 events/s, about 15 s left")


def test_the_time_left_is_reckoned_by_the_payload_that_has_arrived() -> None:
    # Events are more than packets times links; of the payload a fifth is there after 10 s.
    watcher = Watcher(unit="events", total=0)
    watcher.tell(0.2)
    watcher(2_000_000, 1000)
    assert watcher.line(2_000_000, 10.0).startswith("simulated 2us, 100 events/s, about 40 s left")


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_shares_grow_up_to_all_that_is_sent(engine: Literal["packet", "flow"]) -> None:
    chain = {"kind": "collective", "operation": "all-reduce", "size": "256MB", "slices": 64}
    cluster = {"gpus": 16, "fabric": {"technology": "rocev2-400g"}}
    case = case_of(nl.load({"cluster": cluster, "traffic": [chain]}), load_catalog(), engine=engine)
    shares: list[float] = []
    run_case(case, on_share=shares.append)
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1


def test_the_progress_line_counts_runs_that_are_over() -> None:
    watcher = Watcher(unit="events", total=1000, num_runs=4)
    for count in (400, 1000, 500):  # one run to its end, and half of the next
        watcher(2_000_000, count)
    # 1500 of 4000 in 15 s.
    line = watcher.line(2_000_000, 15.0)
    assert line.startswith("seed 2 of 4, simulated 2us, 100 events/s, about 25 s left")
