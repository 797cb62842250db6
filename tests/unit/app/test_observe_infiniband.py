from __future__ import annotations

from netloom.app.locate.lab_infiniband import SubnetView, _compare, _errors, _View
from netloom.fabric.part_id import PartId
from netloom.formats.infiniband.diags import LinkRow, PortErrors
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.plant import Cable, Device, Plant, Port

# Two leaves with a cable to each of two spines: cables 0 to 3, by leaf and then by spine.
PLANT = Plant(
    devices=(
        *(Device(name=f"leaf:{n}", role="switch", tier=1, num_ports=4) for n in range(2)),
        *(Device(name=f"spine:{n}", role="switch", tier=2, num_ports=4) for n in range(2)),
    ),
    cables=tuple(
        Cable(
            number=2 * leaf + spine,
            lower=Port(leaf, 1 + spine),
            upper=Port(2 + spine, 1 + leaf),
            rate_bps=200e9,
        )
        for leaf in range(2)
        for spine in range(2)
    ),
)
Jack = tuple[str, int]
WIRES: list[tuple[Jack, Jack]] = [
    (("leaf:0", 1), ("spine:0", 1)),
    (("leaf:0", 2), ("spine:1", 1)),
    (("leaf:1", 1), ("spine:0", 2)),
    (("leaf:1", 2), ("spine:1", 2)),
]


def state(jack: Jack, *, peer: str = "", name: str = "Active") -> LinkRow:
    return LinkRow(
        guid=1,
        name=jack[0],
        lid=1,
        port=jack[1],
        width="4X",
        lane_gbps=53.125,
        state=name,
        physical_state="LinkUp",
        peer_name=peer,
        peer_port=None,
        could_be=(),
    )


def view(peers: dict[Jack, Jack], states: dict[Jack, LinkRow] | None = None) -> _View:
    return _View(
        plant=PLANT,
        cables=PLANT.cables,
        peers=peers,
        states=states or {},
        devices=frozenset(jack[0] for jack in peers),
    )


def both(wires: list[tuple[Jack, Jack]]) -> dict[Jack, Jack]:
    return {**dict(wires), **{upper: lower for lower, upper in wires}}


def seen_of(of: _View) -> SubnetView:
    seen = SubnetView()
    _compare(seen, of)
    return seen


def told(seen: SubnetView) -> list[tuple[str, str]]:
    return [(str(one.part.whole), one.kind) for one in seen.findings]


def test_as_designed_there_is_nothing_to_tell() -> None:
    seen = seen_of(view(both(WIRES)))
    assert (seen.findings, seen.away, seen.disputes) == ([], [], [])


def test_a_cable_without_ends_is_missing() -> None:
    seen = seen_of(view(both(WIRES[1:])))
    assert told(seen) == [("cable:0", Trouble.MISSING)]
    assert seen.away == [PartId.cable(0)]


def test_a_cable_that_the_other_program_sees_is_in_dispute() -> None:
    lower = WIRES[0][0]
    seen = seen_of(view(both(WIRES[1:]), {lower: state(lower, peer="spine:0")}))
    assert [str(one.part) for one in seen.disputes] == ["cable:0"]
    down = seen_of(view(both(WIRES), {lower: state(lower, name="Down")}))
    assert [str(one.part) for one in down.disputes] == ["cable:0"]


def test_swapped_cables_name_one_another() -> None:
    swapped = [(WIRES[0][0], WIRES[3][1]), (WIRES[3][0], WIRES[0][1]), *WIRES[1:3]]
    seen = seen_of(view(both(swapped)))
    assert told(seen) == [("cable:0", Trouble.MISWIRED), ("cable:3", Trouble.MISWIRED)]
    assert "where cable:3 belongs" in seen.findings[0].evidence[0]


def test_an_end_that_sees_somebody_who_does_not_see_it_is_in_dispute_not_miswired() -> None:
    half = both(WIRES[1:]) | {WIRES[0][0]: ("", 1)}
    seen = seen_of(view(half))
    assert told(seen) == []
    assert [str(one.part) for one in seen.disputes] == ["cable:0"]
    assert "something without a name" in seen.disputes[0].says[0]


def test_a_switch_that_is_gone_is_one_finding_and_all_its_cables_are_away() -> None:
    seen = seen_of(view(both([WIRES[0], WIRES[2]])))
    assert told(seen) == [("spine:1", Trouble.SILENT)]
    assert seen.away == [PartId.cable(1), PartId.cable(3)]


def test_symbol_errors_count_from_one_in_a_million_million_bits() -> None:
    # 200 Gbit/s for 100 s are 2e13 bits: 20 errors are as many as are allowed.
    for count, wanted in ((20, []), (21, [("cable:0", Trouble.SYMBOL_ERRORS)])):
        seen = SubnetView()
        row = PortErrors(guid=1, name="leaf:0", port=1, counters={"SymbolErrorCounter": count})
        _errors(seen, view(both(WIRES)), (row,), 100.0)
        assert told(seen) == wanted


def test_a_cable_that_waits_for_a_manager_is_unused() -> None:
    lower, _ = WIRES[0]
    seen = seen_of(view(both(WIRES), {lower: state(lower, peer="spine:0", name="Initialize")}))
    assert told(seen) == [("cable:0", Trouble.UNUSED)]
    assert (seen.away, seen.disputes) == ([PartId.cable(0)], [])


def test_a_cable_that_is_active_at_both_ends_and_lets_nothing_through_is_a_black_hole() -> None:
    ends = {jack: state(jack) for jack in WIRES[0]}
    seen = seen_of(view(both(WIRES[1:]), ends))
    assert told(seen) == [("cable:0", FaultKind.BLACK_HOLE)]
    assert seen.away == []  # routes still lead into it
