"""What devices say of themselves: how far it is believed, and what becomes of it over rounds."""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.fabric.build import build
from netloom.fabric.part_id import PartId
from netloom.ops.locate.device_findings import device_findings
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.read import observations_of
from netloom.ops.locate.telemetry import METRICS, read_window
from netloom.ops.locate.testimony import TRUST, Report, belief_in_counts, believed, storm
from netloom.ops.observe.observation import Observation, Reading, failed
from netloom.ops.observe.store import ObservationStore
from netloom.ops.plant import plant_of
from netloom.parts.load import load_catalog
from netloom.spec.observed import Observed, ObservedFlow
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from netloom.ops.locate.findings import Finding
    from netloom.ops.plant import Cable

START_S = 1_800_000_000.0
says = st.builds(Report, is_so=st.booleans(), num_looks=st.integers(1, 40))


@functools.cache
def network() -> DesignedNetwork:
    """16 nodes of 8 NICs on 4 leaves and 2 spines, with several cables between each pair."""
    asked = {"technology": "infiniband-ndr", "topology": {"kind": "fat-tree"}}
    cluster = Cluster.model_validate({"nodes": 16, "fabric": asked})
    made = network_of(cluster, load_catalog())
    fabric = build(made.design, made.node, made.scale_up)
    return DesignedNetwork(
        fabric=fabric, plant=plant_of(fabric), rate_bps=lambda cable: cable.rate_bps
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObservationStore]:
    with ObservationStore(tmp_path / "a.db") as made:
        yield made


def uplink() -> Cable:
    return network().by_device["leaf:1"][-1]


def look(
    store: ObservationStore, number: int, values: dict[tuple[str, str], float], source: str = "x"
) -> None:
    """Put the values of one look, ten seconds after the one before, into the store."""
    time_s = START_S + 10 * number
    seen = [Observation(time_s, part, metric, value) for (part, metric), value in values.items()]
    store.add(Reading(source=source, time_s=time_s, observations=seen, is_whole=True))


def found(store: ObservationStore, number: int) -> tuple[Finding, ...]:
    now_s = START_S + 10 * number
    return device_findings(network(), read_window(store, now_s - 600, now_s))


def links(state: Callable[[Cable, str], float]) -> dict[tuple[str, str], float]:
    return {
        (end, "link_up"): state(cable, end)
        for cable in network().plant.cables
        for end in network().ends[cable.number]
    }


@given(st.sampled_from(sorted(TRUST)), st.lists(says, max_size=4), says)
def test_a_witness_more_who_says_so_makes_surer_and_one_who_denies_less(
    kind: str, others: list[Report], one: Report
) -> None:
    before, after = believed(TRUST[kind], others), believed(TRUST[kind], [*others, one])
    assert after >= before if one.is_so else after <= before


def test_one_witness_alone_gives_what_bayes_rule_gives() -> None:
    trust = TRUST[Trouble.MISSING]
    # Odds 1e-5 to 1 - 1e-5, times 0.95 / 1e-4. Of those who are wrong 5 % stay so, of the others
    # half are so again: the second look is worth 1 / (0.05 + 0.95 / 2).
    odds = 1e-5 / (1 - 1e-5) * 0.95 / 1e-4 / (0.05 + 0.95 / 2)
    assert believed(trust, [Report(is_so=True, num_looks=2)]) == pytest.approx(odds / (1 + odds))


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_the_more_a_counter_rises_at_once_the_less_it_is_chance(one: float, more: float) -> None:
    # The density of bursts falls by e every 25 counts, that of faults as 1 / count: from 25 on.
    low, high = sorted((max(one, 25.0), max(more, 25.0)))
    assert (
        belief_in_counts(1e-3, [low], num_looks=9)
        <= belief_in_counts(1e-3, [high], num_looks=9) + 1e-12
    )


def test_few_errors_at_every_look_convict_where_one_burst_of_as_many_does_not() -> None:
    assert belief_in_counts(1e-3, [72.0], num_looks=6) < 0.5
    assert belief_in_counts(1e-3, [12.0] * 6, num_looks=6) > 0.9


def test_every_quiet_look_but_one_divides_the_odds_of_a_fault() -> None:
    # An ill port is quiet at 0.3 of the looks, a well one at 0.98; a look tells a quarter of that.
    # Two rises in 12 looks leave 10 quiet ones, of which 9 tell; in 2 looks none.
    odds = [
        belief / (1 - belief)
        for num_looks in (2, 3, 12)
        for belief in [belief_in_counts(1e-3, [12.0, 12.0], num_looks=num_looks)]
    ]
    assert odds[1] == pytest.approx(odds[0])
    assert odds[2] / odds[0] == pytest.approx((0.3 / 0.98) ** (9 / 4))


def test_a_pause_that_congestion_makes_too_is_no_storm() -> None:
    assert storm(0.3) < 0.1
    assert storm(0.95) > 0.95


def test_a_healthy_network_has_no_findings(store: ObservationStore) -> None:
    for number in range(3):
        look(store, number, links(lambda *_: 1.0))
        assert found(store, number) == ()


def test_a_cable_that_both_ends_call_down_is_missing_at_once(store: ObservationStore) -> None:
    look(store, 0, links(lambda cable, _: float(cable != uplink())))
    (one,) = found(store, 0)
    assert (one.part, one.kind) == (network().part(uplink()), Trouble.MISSING)
    # Prior odds 1e-5, two witnesses of 0.95 / 1e-4 each.
    odds = 1e-5 * (0.95 / 1e-4) ** 2
    assert one.confidence == pytest.approx(odds / (1 + odds), rel=1e-4)


def test_ends_that_contradict_each_other_convict_nobody(store: ObservationStore) -> None:
    lower, _ = network().ends[uplink().number]
    for number in range(6):
        look(store, number, links(lambda _, end: float(end != lower)))
        assert found(store, number) == ()


def test_one_end_alone_convicts_only_after_several_looks(store: ObservationStore) -> None:
    lower, upper = network().ends[uplink().number]
    state = links(lambda _, end: float(end != lower))
    del state[upper, "link_up"]
    confident = []
    for number in range(9):
        look(store, number, state)
        confident.append(bool(found(store, number)))
    assert confident[0] is False
    assert confident[-1] is True


def test_a_dead_switch_is_one_finding_and_its_cables_none(store: ObservationStore) -> None:
    dead = {cable.number for cable in network().by_device["spine:1"]}
    look(store, 0, links(lambda cable, _: float(cable.number not in dead)))
    (one,) = found(store, 0)
    assert (one.part, one.kind) == (PartId("spine", 1), Trouble.SILENT)


def test_a_switch_that_does_not_answer_but_whose_neighbours_ports_are_up_is_well(
    store: ObservationStore,
) -> None:
    for number in range(4):
        look(store, number, {**links(lambda *_: 1.0), ("spine:1", "device_silent"): 1.0})
        assert found(store, number) == ()


def test_the_cable_of_a_host_that_is_gone_is_missing_and_hurts_its_gpu(
    store: ObservationStore,
) -> None:
    (cable,) = network().by_device["nic:5"]
    own, far = network().ends[cable.number]
    state = links(lambda _, end: float(end != far))
    del state[own, "link_up"]
    look(store, 0, {**state, ("nic:5", "device_silent"): 1.0})
    (one,) = found(store, 0)
    assert one.part == network().part(cable)
    assert one.hurts == (5,)


def test_symbol_errors_beyond_the_specification_are_found_and_fewer_are_not(
    store: ObservationStore,
) -> None:
    _, upper = network().ends[uplink().number]
    # 1e-12 of 400 Gbit/s is 0.4 errors a second: 4 a look, with three deviations 10.
    for number, count in enumerate((0, 4, 9, 12)):
        look(store, number, {(upper, "symbol_errors"): float(count)})
        assert found(store, number) == ()
    look(store, 4, {(upper, "symbol_errors"): 1246.0})
    (one,) = found(store, 4)
    assert (one.kind, one.part) == (Trouble.SYMBOL_ERRORS, network().part(uplink()))
    assert one.confidence > 0.95


def test_a_link_that_trains_again_and_again_is_flapping_though_it_never_went_down(
    store: ObservationStore,
) -> None:
    _, upper = network().ends[uplink().number]
    for number, count in enumerate((0, 0, 3, 3)):  # once may be a plug that was touched
        look(store, number, {(upper, "link_recoveries"): float(count)})
        assert found(store, number) == ()
    for number, count in enumerate((23, 43, 63), start=4):
        look(store, number, {(upper, "link_recoveries"): float(count)})
    (one,) = found(store, 6)
    assert (one.kind, one.part) == (Trouble.FLAPPING, network().part(uplink()))
    assert "trained its link again 63 times" in one.evidence[0]
    assert one.confidence > 0.9


def test_what_accrued_while_netloom_did_not_run_is_no_burst(store: ObservationStore) -> None:
    _, upper = network().ends[uplink().number]
    look(store, 0, {(upper, "symbol_errors"): 0.0})
    # 24 hours at 0.2 errors a second, half of what is allowed.
    look(store, 8640, {(upper, "symbol_errors"): 17_280.0})
    assert found(store, 8640) == ()


def test_a_counter_that_falls_convicts_nobody(store: ObservationStore) -> None:
    _, upper = network().ends[uplink().number]
    for number, count in enumerate((60_000, 60_000, 900, 900)):
        look(store, number, {(upper, "receive_errors"): float(count)})
        assert found(store, number) == ()


def test_an_answer_that_got_lost_is_no_rise(store: ObservationStore) -> None:
    """A scan that misses a port leaves zeros; once it is seen again nothing has happened."""
    ends = network().ends[uplink().number]
    for number, count in enumerate((5000, 5000, 0, 5000)):
        values = {(end, m): float(count) for end in ends for m in ("symbol_errors", "link_downs")}
        look(store, number, values)
        assert found(store, number) == ()
    look(store, 4, {(end, "link_downs"): 5002.0 for end in ends})
    (one,) = found(store, 4)
    assert one.magnitude == 2.0


def test_damaged_packets_name_the_direction(store: ObservationStore) -> None:
    _, upper = network().ends[uplink().number]
    for number in range(4):
        counts = {"receive_errors": 400.0 * number, "received_packets": 1e6 * number}
        look(store, number, {(upper, metric): value for metric, value in counts.items()})
    (one,) = found(store, 3)
    spine = network().devices_of(uplink())[1]
    assert str(one.part) == f"cable:{uplink().number} (leaf:1->{spine})"
    assert one.magnitude == pytest.approx(1200 / 3_001_200, rel=0.01)


def test_a_cable_that_comes_and_goes_is_flapping(store: ObservationStore) -> None:
    ends = network().ends[uplink().number]
    for number, up in enumerate((1, 0, 1, 0, 1)):
        look(store, number, {(end, "link_up"): float(up) for end in ends})
    (one,) = found(store, 4)
    assert (one.kind, one.magnitude) == (Trouble.FLAPPING, 2.0)


def test_flaps_between_looks_are_counted_by_the_ports(store: ObservationStore) -> None:
    ends = network().ends[uplink().number]
    for number, downs in enumerate((7, 10)):
        look(store, number, {(end, "link_downs"): float(downs) for end in ends})
    (one,) = found(store, 1)
    assert (one.kind, one.magnitude) == (Trouble.FLAPPING, 3.0)


def test_sessions_that_are_down_on_a_cable_that_is_up_are_a_loss(store: ObservationStore) -> None:
    ends = network().ends[uplink().number]
    state = {(end, metric): 1.0 for end in network().at for metric in ("bfd_up", "link_up")}
    for end in ends:
        state[end, "bfd_up"] = 0.0
    look(store, 0, state)
    look(store, 1, state)
    (one,) = found(store, 1)
    assert (one.part, one.kind) == (network().part(uplink()), FaultKind.LOSS)


def test_sessions_have_time_to_come_back_after_their_cable_was_down(
    store: ObservationStore,
) -> None:
    ends = network().ends[uplink().number]
    for number in range(9):
        up = float(number != 1)
        values = {(end, "link_up"): up for end in ends} | {(end, "bgp_up"): 0.0 for end in ends}
        look(store, number, values if number else dict.fromkeys(values, 1.0))
        kinds = [one.kind for one in found(store, number)]
        # Down at look 1, back at look 2: the sixth look since then is number 7.
        assert kinds == (
            [Trouble.MISSING] if number == 1 else [Trouble.SESSION_DOWN] * (number > 6)
        )


def test_a_switch_all_of_whose_sessions_are_down_is_the_finding(store: ObservationStore) -> None:
    state = {(end, "bgp_up"): float("spine:1[" not in end) for end in network().at}
    for cable in network().by_device["spine:1"]:
        for end in network().ends[cable.number]:
            state[end, "bgp_up"] = 0.0
    look(store, 0, state)
    assert [(f.part, f.kind) for f in found(store, 0)] == [(PartId("spine", 1), Trouble.SILENT)]


def test_where_neighbours_are_both_without_sessions_neither_is_the_finding(
    store: ObservationStore,
) -> None:
    """leaf:0 and spine:1 have no session: either may be what is wrong, so cables are named."""
    between = [c for c in network().plant.cables if "leaf" in network().devices_of(c)[0]]
    bad = [c for c in between if {"leaf:0", "spine:1"} & set(network().devices_of(c))]
    state = {
        (end, "bgp_up"): float(cable not in bad)
        for cable in between
        for end in network().ends[cable.number]
    }
    for number in range(2):
        look(store, number, state)
    # Of 4 leaves x 32 uplinks: the 32 of leaf:0, and 16 of each other leaf to spine:1.
    assert len(bad) == 32 + 3 * 16
    assert sorted((f.part, f.kind) for f in found(store, 1)) == sorted(
        (network().part(cable), Trouble.SESSION_DOWN) for cable in bad
    )


def test_routes_read_while_they_change_convict_less_than_those_that_stay(
    store: ObservationStore,
) -> None:
    state = {("leaf:1", "rib_ways"): 14.0, ("leaf:1", "fib_ways"): 13.0}
    sure = []
    for number in range(3):
        look(store, number, state)
        (one,) = found(store, number)
        sure.append(one.confidence)
    # Prior odds 1e-3, 0.95 / 1e-4 for the first look; by the third, of those who are wrong 5 % are
    # stuck and a hundredth of the others still wrong.
    odds = 1e-3 / 0.999 * 0.95e4
    later = odds / (0.05 + 0.95 / 100)
    assert sure[0] == pytest.approx(odds / (1 + odds))
    assert sure[2] == pytest.approx(later / (1 + later))


def test_a_lost_answer_of_the_manager_is_not_its_death(store: ObservationStore) -> None:
    for number, up in enumerate((1, 0, 1)):
        look(store, number, {("subnet 0", "sm_master"): float(up)})
        assert all(f.confidence < 0.6 for f in found(store, number))
    for number in range(3, 6):
        look(store, number, {("subnet 0", "sm_master"): 0.0})
    (one,) = found(store, 5)
    assert one.kind == Trouble.NO_MANAGER
    assert one.confidence > 0.9


def test_looks_that_failed_add_nothing(store: ObservationStore) -> None:
    look(store, 0, {("subnet 0", "sm_master"): 0.0})
    for number in range(1, 6):
        store.add(failed("x", START_S + 10 * number, "no answer", cursor=""))
    one = [f.confidence for f in found(store, 5)]
    assert one == pytest.approx([f.confidence for f in found(store, 0)])


def test_flows_that_lose_nothing_acquit_a_port_that_counts_errors(store: ObservationStore) -> None:
    cable = uplink()
    _, upper = network().ends[cable.number]
    for number in range(2):
        counts = {"receive_errors": 400.0 * number, "received_packets": 1e4 * number}
        look(store, number, {(upper, metric): value for metric, value in counts.items()})
    heard = read_window(store, START_S - 600, START_S + 10)
    assert len(locate_all(network(), heard)) == 1
    lower_name, upper_name = network().devices_of(cable)
    other = next(
        c for c in network().by_device[upper_name] if "leaf:1" not in network().devices_of(c)
    )
    path = (
        "gpu:32->nic:32",
        "nic:32->leaf:1",
        f"{lower_name}->{upper_name}#{cable.number}",
        f"{upper_name}->{network().devices_of(other)[0]}#{other.number}",
    )
    flow = ObservedFlow(source="gpu:32", target="gpu:0", path=path, packets=100_000)
    seen = Observed(flows=(flow,) * 20)
    assert locate_all(network(), heard, seen) == ()


def halved_uplink() -> Observed:
    """Return flows from leaf:1 to leaf:0, four of them at half the rate over the last uplink."""
    ups = [c for c in network().by_device["leaf:1"] if network().devices_of(c)[0] == "leaf:1"]

    def flow(source: int, up: Cable) -> ObservedFlow:
        _, spine = network().devices_of(up)
        downs = [c for c in network().by_device[spine] if network().devices_of(c)[0] == "leaf:0"]
        target, down = source % 16, downs[source % len(downs)]
        path = (
            f"gpu:{source}->nic:{source}",
            f"nic:{source}->leaf:1",
            f"leaf:1->{spine}#{up.number}",
            f"{spine}->leaf:0#{down.number}",
            f"leaf:0->nic:{target}",
            f"nic:{target}->gpu:{target}",
        )
        return ObservedFlow(
            source=f"gpu:{source}",
            target=f"gpu:{target}",
            path=path,
            packets=100_000,
            slowdown=2.0 if up == uplink() else 1.0,
        )

    return Observed(flows=tuple(flow(s, up) for up in (*ups[:3], uplink()) for s in range(32, 36)))


def with_flows(store: ObservationStore, number: int) -> list[tuple[PartId, str]]:
    heard = read_window(store, START_S - 600, START_S + 10 * number)
    return [(f.part, f.kind) for f in locate_all(network(), heard, halved_uplink())]


def test_flows_slowed_by_a_cable_that_runs_slow_are_no_second_finding(
    store: ObservationStore,
) -> None:
    slow = (network().part(uplink()), FaultKind.SLOW)
    assert with_flows(store, 0) == [slow]
    # Of a cable beside it: both, the flows' finding the surer.
    beside = network().by_device["leaf:1"][-2]
    for number in range(2):
        look(store, number, {(f"cable:{beside.number}", "cable_slowdown"): 2.0})
    assert with_flows(store, 1) == [slow, (network().part(beside), Trouble.WRONG_SPEED)]
    # Now the scan says it of the cable that the flows cross instead: one.
    for number in range(2, 4):
        look(store, number, {(f"cable:{uplink().number}", "cable_slowdown"): 2.0})
    assert with_flows(store, 3) == [(network().part(uplink()), Trouble.WRONG_SPEED)]


def test_a_dead_switch_explains_what_flows_over_its_cables_suffer(store: ObservationStore) -> None:
    dead = {cable.number for cable in network().by_device["spine:1"]}
    assert uplink().number in dead
    look(store, 0, links(lambda cable, _: float(cable.number not in dead)))
    assert with_flows(store, 0) == [(PartId("spine", 1), Trouble.SILENT)]


def test_what_ports_count_stands_beside_what_flows_lose(store: ObservationStore) -> None:
    # Three damaged packets of a million convict no port; flows that lose 1 % do convict the cable.
    _, upper = network().ends[uplink().number]
    for number in range(2):
        counts = {"receive_errors": 3.0 * number, "received_packets": 1e6 * number}
        look(store, number, {(upper, metric): value for metric, value in counts.items()})
    heard = read_window(store, START_S - 600, START_S + 10)
    assert device_findings(network(), heard) == ()
    flows = [
        flow.model_copy(update={"lost": 1000 if flow.slowdown == 2.0 else 0, "slowdown": None})
        for flow in halved_uplink().flows
    ]
    (one,) = locate_all(network(), heard, Observed(flows=tuple(flows)))
    assert one.kind == FaultKind.LOSS
    assert one.part.whole == PartId.cable(uplink().number)
    assert "its ports count 3 errors" in one.evidence


def test_confidence_is_never_certainty() -> None:
    sure = believed(TRUST[Trouble.MISSING], [Report(is_so=True, num_looks=1000)] * 8)
    assert sure < 1
    assert not math.isnan(believed(TRUST[Trouble.MISSING], [Report(is_so=False, num_looks=9999)]))


PARTS = st.sampled_from(
    [*sorted(network().at)[:6], "leaf:1", "spine:1", "nic:5", "subnet 0", "cable:4711", "x[1]", ""]
)
VALUES = st.sampled_from([0.0, 1.0, 2.0, 65_535.0, 2.0**32 - 1, 1e300, -1.0])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(st.tuples(PARTS, st.sampled_from(METRICS)), VALUES, max_size=8), max_size=5
    )
)
def test_whatever_devices_say_is_judged(
    tmp_path_factory: pytest.TempPathFactory, looks: Any
) -> None:
    """Nothing that a device can say ends the watch, and every confidence is one."""
    with ObservationStore(tmp_path_factory.mktemp("s") / "a.db") as store:
        for number, values in enumerate(looks):
            own = {key: v for key, v in values.items() if not key[1].startswith("cable_")}
            look(store, number, own)
            for one in found(store, number):
                assert 0.5 <= one.confidence <= 1
                assert one.evidence


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("leaf:1->leaf:0", "no such cable joins the two"),
        ("leaf:1->spine:1#416", "no such cable joins the two"),  # that one leads to spine:0
        # 32 uplinks to two spines in turn, 416 to 447: 16 to each, the first to spine:1 is 417.
        ("leaf:1->spine:1", "16 cables join the two; say which: leaf:1->spine:1#417 or another"),
    ],
)
def test_a_link_of_a_path_that_is_none_or_one_of_many_is_refused(link: str, says: str) -> None:
    path = ("gpu:32->nic:32", "nic:32->leaf:1", link)
    flow = ObservedFlow(source="gpu:32", target="gpu:0", path=path, packets=1)
    with pytest.raises(SpecError, match=re.escape(says)):
        observations_of(network().fabric, Observed(flows=(flow,)))
