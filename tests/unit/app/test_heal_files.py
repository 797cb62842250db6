from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.heal.journal import FileJournal
from netloom.app.heal.tickets import TicketQueue
from netloom.app.lab.probes import Flow, flows_of
from netloom.errors import LabError
from netloom.fabric.part_id import PartId
from netloom.formats.infiniband.paths import parse_path_key, parse_pkeys, parse_trace
from netloom.ops.heal.effect import Away, PlanEffect
from netloom.ops.heal.log import LogEntry
from netloom.ops.heal.plan import Act, HealPlan
from netloom.ops.locate.findings import Finding
from netloom.ops.plant import Cable, Device, Plant, Port
from netloom.spec.heal import HealPolicy

if TYPE_CHECKING:
    from pathlib import Path

# ibtracert 5 60 of infiniband-diags 44, on ibsim with 1,024 hosts.
TRACE = """From ca {0x02006e6c00000100} portnum 1 lid 5-5 "nic:15"
[1] -> switch port {0x02006e6c00004010}[16] lid 69-69 "leaf:0"
[64] -> switch port {0x02006e6c00004300}[2] lid 4-4 "spine:15"
[56] -> switch port {0x02006e6c000041c0}[64] lid 806-806 "leaf:27"
[32] -> ca port {0x02006e6c00003801}[1] lid 60-60 "nic:895"
To ca {0x02006e6c00003800} portnum 1 lid 60-60 "nic:895"
"""
# smpquery pkeys of the same, in a tenant's partition; 54 of 64 places left out.
PKEYS = """   0: 0x7fff 0x8001 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000
   8: 0x0000 0x0000
64 pkeys capacity for this port
"""
PATH = "PathRecord dump:\n\t\tpkey....................0x8001\n\t\tqos_class...............0x0\n"


def test_a_trace_has_every_node_with_its_ports() -> None:
    found = [(hop.out_port, hop.name, hop.in_port) for hop in parse_trace(TRACE)]
    assert found == [
        (1, "leaf:0", 16),
        (64, "spine:15", 2),
        (56, "leaf:27", 64),
        (32, "nic:895", 1),
    ]


def test_a_trace_that_did_not_arrive_is_no_path() -> None:
    assert parse_trace(TRACE.rpartition("To ca")[0]) == ()


def test_keys_are_those_that_are_set() -> None:
    assert parse_pkeys(PKEYS) == (0x7FFF, 0x8001)
    with pytest.raises(LabError, match="not understood"):
        parse_pkeys("ibwarn: nothing")


def test_a_path_has_a_key_and_no_path_has_none() -> None:
    assert parse_path_key(PATH) == 0x8001
    assert parse_path_key("") is None


@given(st.text(max_size=300))
def test_no_text_breaks_a_parser(text: str) -> None:
    parse_trace(text)
    parse_path_key(text)
    try:
        parse_pkeys(text)
    except LabError:
        return


def plant_of(num_hosts: int) -> Plant:
    hosts = [Device(name=f"nic:{n}", role="host", tier=0, num_ports=1) for n in range(num_hosts)]
    leaf = Device(name="leaf:0", role="switch", tier=1, num_ports=num_hosts)
    cables = [
        Cable(number=n, lower=Port(n, 1), upper=Port(num_hosts, n + 1), rate_bps=1e9)
        for n in range(num_hosts)
    ]
    return Plant(devices=(*hosts, leaf), cables=tuple(cables))


@given(st.integers(2, 40))
def test_every_host_sends_and_receives_probes_of_both_sizes(num_hosts: int) -> None:
    flows = flows_of(plant_of(num_hosts))
    assert not any(flow.source == flow.target for flow in flows)
    assert len(set(flows)) == len(flows)
    for large in (False, True):
        some: list[Flow] = [flow for flow in flows if flow.is_large == large]
        assert {flow.source for flow in some} == {flow.target for flow in some}
        assert {flow.source for flow in some} == set(range(num_hosts))


ENTRY = LogEntry(at_s=1.0, act=1, phase="before", verb="drain", part=PartId.cable(1))


def test_a_journal_keeps_what_was_written_and_mends_a_cut_line(tmp_path: Path) -> None:
    journal = FileJournal(path=tmp_path / "heal.jsonl")
    assert journal.entries() == ()
    journal.write(ENTRY)
    assert (journal.path.stat().st_mode & 0o777) == 0o600
    with journal.path.open("a", encoding="utf-8") as file:
        file.write('{"version": 1, "at_')  # a crash
    journal.write(ENTRY)
    assert journal.entries() == (ENTRY, ENTRY)


def test_a_journal_that_cannot_be_written_says_that_nothing_was_done(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="nothing was done"):
        FileJournal(path=tmp_path / "no" / "heal.jsonl").write(ENTRY)


def test_the_scheduler_is_called_with_arguments_and_no_shell(tmp_path: Path) -> None:
    commands = {"cordon": ("touch", f"{tmp_path}/n{{node}};x"), "uncordon": ("false",)}
    desk = TicketQueue(folder=tmp_path, policy=HealPolicy.model_validate({"commands": commands}))
    act = Act(verb="cordon", part=PartId.node(7))
    desk.apply(act)
    assert (tmp_path / "n7;x").exists()
    with pytest.raises(LabError, match="exit status 1"):
        desk.undo(act, "")
    with pytest.raises(LabError, match=r"heal\.commands\.restart-job"):
        desk.apply(Act(verb="restart-job", part=PartId.node(7)))


def test_tickets_are_numbered_and_say_what_to_mend(tmp_path: Path) -> None:
    none = Away(share=0.0, uplink_share=0.0, num_ports=0)
    effect = PlanEffect(healthy_s=1, before_s=1, after_s=1, away_before=none, away_after=none)
    finding = Finding(
        part=PartId("cable", 4, ends=("leaf:0", "spine:1")),
        kind="miswired",
        magnitude=1.0,
        confidence=0.99,
        evidence=("leaf:0[3] leads to spine:0[1]",),
        hurts=(),
        predicted_gain=0.0,
    )
    act = Act(verb="ticket", part=PartId.cable(4))
    plan = HealPlan(finding=finding, acts=(act,), effect=effect)
    desk = TicketQueue(folder=tmp_path / "tickets", policy=HealPolicy(), plan=plan)
    paths = [desk.apply(act)[1] for _ in range(2)]
    assert [path.rpartition("/")[2] for path in paths] == ["000001.md", "000002.md"]
    text = (tmp_path / "tickets" / "000001.md").read_text(encoding="utf-8")
    assert "cable:4 (leaf:0 - spine:1): miswired" in text
    assert "leaf:0[3] leads to spine:0[1]" in text
    desk.undo(act, paths[0])
    assert "undone" in (tmp_path / "tickets" / "000001.md").read_text(encoding="utf-8")
