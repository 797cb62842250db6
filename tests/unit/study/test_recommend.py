"""The recommendation in words: who wins, against whom, and what would turn it over."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

import netloom as nl
from netloom.provenance import Validity
from netloom.spec.load import parse
from netloom.study.compare import sensitivity
from netloom.study.compare.recommend import cheapest_to_buy, recommend
from netloom.study.compare.sensitivity import placement_doubt
from netloom.study.inputs import catalog_of
from netloom.validated.collective_errors import collective_error
from netloom.validated.collectives import CollectivePoint
from netloom.validated.intervals import ExposedWait, StepInterval
from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from netloom.engines.base import Engine
    from netloom.study.compare.candidate import Candidate
    from netloom.validated.steps import StepRow


@dataclass(frozen=True)
class Paced:
    """A step, as far as a recommendation looks at it."""

    duration_s: float = 10.0
    mfu: float = 0.4
    exposed_s: dict[Axis, float] = field(default_factory=dict)
    waits: tuple[ExposedWait, ...] = ()
    interval: StepInterval | None = None

    @property
    def basis(self) -> SimpleNamespace:
        return SimpleNamespace(waits=self.waits)


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A technology whose tokens cost *usd* a second of a step, *network_usd* of it the network."""

    name: str
    usd: float
    network_usd: float = 20.0
    network_capex_usd: float = 1e6
    step: Paced = field(default_factory=Paced)
    status: str = "shipping"
    num_nodes: int = 64
    validity: Validity = field(default_factory=Validity)

    @property
    def network(self) -> str:
        return self.name

    @property
    def technology(self) -> SimpleNamespace:
        return SimpleNamespace(status=self.status)

    @property
    def usd_per_trillion_tokens(self) -> float:
        return self.usd * self.step.duration_s

    @property
    def network_usd_per_trillion_tokens(self) -> float:
        return self.network_usd * self.step.duration_s


def told(*offers: Offer) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = recommend(cast("tuple[Candidate, ...]", offers), further_doubts=())
    return found.reasons, found.doubts


def test_the_choice_holds_until_the_network_has_eaten_the_lead_over_the_second() -> None:
    # 1,000 against 1,050 and 1,200 USD; of the 1,000 the network is 200: 50 / 200 = 25 %.
    _, doubts = told(
        Offer(name="far", usd=120.0), Offer(name="best", usd=100.0), Offer(name="near", usd=105.0)
    )
    (doubt,) = doubts
    assert doubt == (
        "The choice holds until the network of best costs 25% more than assumed; "
        "then near is cheaper a token."
    )


@pytest.mark.parametrize(
    "others",
    [
        (),  # nothing to turn to
        (Offer(name="new", usd=105.0, status="announced"),),  # nothing that can be bought
    ],
)
def test_without_another_on_the_market_no_price_turns_the_choice(others: tuple[Offer, ...]) -> None:
    assert told(Offer(name="best", usd=100.0), *others)[1] == ()


def test_a_network_that_costs_nothing_cannot_get_dearer() -> None:
    free = Offer(name="best", usd=100.0, network_usd=0.0)
    assert told(free, Offer(name="near", usd=105.0))[1] == ()


def test_what_is_not_on_the_market_wins_only_where_nothing_is() -> None:
    new = Offer(name="new", usd=90.0, status="announced")
    sold = Offer(name="sold", usd=100.0)
    assert cheapest_to_buy(cast("tuple[Candidate, ...]", (new, sold))).name == "sold"
    assert cheapest_to_buy(cast("tuple[Candidate, ...]", (new,))).name == "new"
    reasons, doubts = told(new, sold)
    assert reasons[0] == (
        "sold trains a trillion tokens for 1 thousand USD, the least of the technologies that can "
        "be bought: a step of 10.00 s at 40.0% MFU."
    )
    # 900 of 1,000 USD.
    assert doubts == ("new would be 10.0% cheaper a token, but it is not on the market at scale.",)
    alone = (Offer(name="other", usd=91.0, status="announced"), new)
    assert "for 900 USD, the least; none of these is on the market" in told(*alone)[0][0]


def test_less_than_one_percent_a_token_is_called_equal() -> None:
    best = Offer(name="best", usd=100.0, network_usd=50.0)
    near, far = Offer(name="near", usd=100.9), Offer(name="far", usd=101.1)
    _, doubts = told(best, far, near)
    assert doubts[0].startswith("Within 1% a token, less than the model can tell apart: near. ")
    # 9 USD of 500.
    assert "costs 2% more than assumed; then near is cheaper" in doubts[1]
    assert not any("Within" in doubt for doubt in told(best, far)[1])


def test_the_fastest_and_the_cheapest_to_build_are_held_against_the_best() -> None:
    best = Offer(name="best", usd=100.0, network_capex_usd=10e6)
    fastest = Offer(name="fast", usd=130.0, network_capex_usd=14.5e6, step=Paced(8.0))
    cheapest = Offer(name="plain", usd=84.0, network_capex_usd=6e6, step=Paced(12.5))
    middle = Offer(name="middle", usd=105.0, network_capex_usd=9e6)
    reasons, _ = told(best, fastest, cheapest, middle)
    # 8.0 of 10 s; 14.5 less 10 million; 130 x 8 = 1,040 over 1,000 USD. 12.5 of 10 s; 6 less 10
    # million; 84 x 12.5 = 1,050.
    assert reasons[1:3] == (
        "fast is 20.0% faster and its network costs 4.5 million USD more to build: +4.0% a token.",
        "plain is 25.0% slower and its network costs 4 million USD less to build: +5.0% a token.",
    )
    assert len(reasons) == 4  # the headline, these two, and what separates them all


def test_a_rival_within_one_percent_is_as_fast_and_costs_the_same() -> None:
    best = Offer(name="best", usd=100.0, network_capex_usd=10e6)
    twin = Offer(name="twin", usd=101.5, network_capex_usd=10.05e6, step=Paced(9.95))
    assert told(best, twin)[0][1] == (
        # 101.5 x 9.95 = 1,009.925
        "twin is as fast and its network costs the same to build: +1.0% a token."
    )


def test_what_separates_the_technologies_is_the_axis_with_the_widest_span() -> None:
    # Data: 0.1 to 0.9 s; tensor: 2.0 to 2.3 s. The widest span is data's, 0.8 s of 10.
    def offer(name: str, data_s: float, tensor_s: float) -> Offer:
        exposed_s = {Axis.DATA: data_s, Axis.TENSOR: tensor_s}
        return Offer(name=name, usd=100.0, step=Paced(exposed_s=exposed_s))

    reasons, _ = told(offer("a", 0.5, 2.0), offer("b", 0.1, 2.3), offer("c", 0.9, 2.1))
    assert reasons[-1] == (
        f"What separates the technologies is mostly {Axis.DATA.value} communication: a step waits "
        "0.10 s for it on b, 0.90 s on c."
    )
    # 0.09 s of 10 are less than 1 %; 0.11 s are more.
    assert "hardly separates" in told(offer("a", 0.5, 2.0), offer("b", 0.59, 2.0))[0][-1]
    assert "mostly" in told(offer("a", 0.5, 2.0), offer("b", 0.61, 2.0))[0][-1]
    assert len(told(offer("a", 0.5, 2.0))[0]) == 1


def test_an_axis_that_one_technology_does_not_wait_for_counts_as_nothing() -> None:
    waits = Offer(name="b", usd=100.0, step=Paced(exposed_s={Axis.DATA: 0.5}))
    assert "waits 0.00 s for it on a, 0.50 s on b" in told(Offer(name="a", usd=100.0), waits)[0][-1]


def test_a_job_on_one_node_is_told_that_it_needs_no_network() -> None:
    said = "The job fits one node: it uses no network between nodes at all."
    assert [told(Offer(name="a", usd=1.0, num_nodes=n))[1] for n in (1, 2)] == [(said,), ()]


def test_other_placements_are_named_where_another_would_win_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 100 x 10 s against 98 x 11 s as placed. Scattered, the first takes 12 s: 1,200 against 1,078.
    steps = {("a", "packed"): 10.0, ("a", "scattered"): 12.0}

    def step_on(network: str, moved: nl.Scenario, **_: object) -> Paced:
        placement = moved.job.placement
        assert placement.displaced == 0.0
        return Paced(steps.get((network, placement.kind), 11.0))

    monkeypatch.setattr(sensitivity, "step_on", step_on)
    offers = [Offer(name="a", usd=100.0), Offer(name="b", usd=98.0, step=Paced(11.0))]
    scenario = nl.example()
    given = (scenario, catalog_of(scenario), cast("list[Candidate]", offers))
    engine = cast("Engine", None)  # the step above asks no engine
    assert placement_doubt(*given, engine=engine) == (
        "The cheapest a token would be b if nodes were scattered over the cluster."
    )
    steps["a", "scattered"] = 10.5
    assert "is the same whether" in placement_doubt(*given, engine=engine)


# 64 MiB reduced over eight nodes: measured near by on several machines.
REDUCED = CollectivePoint(
    collective="all_reduce",
    node="dgx-h100",
    scale_up="nvswitch3",
    family="InfiniBand",
    num_nodes=8,
    size_bytes=64 * 2**20,
)


def waiting(name: str, wait_s: float, *, usd: float = 100.0) -> Offer:
    """Return a technology whose step of 10 s, give or take 1, waits *wait_s* for the network."""
    around = StepInterval(
        low_s=9.0,
        high_s=11.0,
        share=0.9,
        distance=1.0,
        widened=0.0,
        nearest=cast("StepRow", None),
    )
    step = Paced(waits=(ExposedWait(wait_s, REDUCED),), interval=around)
    return Offer(name=name, usd=usd, step=step)


def test_technologies_whose_intervals_overlap_cannot_be_told_apart() -> None:
    found = recommend(
        cast("tuple[Candidate, ...]", (waiting("one", 1.0), waiting("two", 1.01, usd=110.0))),
        further_doubts=(),
    )
    assert found.technology == "one"
    assert found.alike == ("two",)
    assert found.doubts[0].startswith("one and two cannot be told apart: the intervals")


def test_what_waits_ten_times_as_long_is_told_apart_though_whole_steps_overlap() -> None:
    # Steps of 9 to 11 s overlap; 1 and 10 s of waiting do not, unless rows were 10 times off.
    low, high, _ = collective_error(REDUCED)
    assert high / low < 10
    found = recommend(
        cast("tuple[Candidate, ...]", (waiting("one", 1.0), waiting("two", 10.0, usd=110.0))),
        further_doubts=(),
    )
    assert found.alike == ()
    assert found.doubts[0] == (
        "two can be told apart from one, although the intervals of whole steps overlap: what "
        "computation is off by is common to all."
    )


def test_nothing_is_said_of_intervals_where_nothing_is_exposed_between_nodes() -> None:
    _, doubts = told(Offer(name="best", usd=100.0), Offer(name="near", usd=105.0))
    assert not any("told apart:" in doubt for doubt in doubts)


def test_networks_that_a_job_of_one_node_does_not_use_are_alike() -> None:
    scenario = parse(
        """
        cluster: {gpus: 8, node: dgx-h100}
        job: {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}
        compare: [infiniband-ndr, rocev2-400g, tcp-400g]
        """,
        name="one.yaml",
    )
    found = nl.compare(scenario)
    assert len({one.step.duration_s for one in found.contenders}) == 1
    assert len(found.recommendation.alike) == 2
    assert not any("told apart" in doubt for doubt in found.recommendation.doubts)
