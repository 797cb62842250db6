from __future__ import annotations

import json
import math

import pytest

import netloom as nl
from netloom.results.plain import to_plain
from netloom.spec.example import examples
from netloom.study.compare.explain import FIELDS
from netloom.study.predict.engines import engine_named

KEYS = {
    "technology",
    "latency_s",
    "step_time_s",
    "communication_share",
    "exposed_share",
    "mfu",
    "tokens_per_s",
    "network_capex_usd",
    "network_power_w",
    "goodput",
    "validity",
}


@pytest.fixture(scope="module")
def comparison() -> nl.Comparison:
    return nl.compare(nl.example())


def test_every_promised_key_is_there_and_finite(comparison: nl.Comparison) -> None:
    told = json.loads(json.dumps(to_plain(comparison.to_json()), allow_nan=False))
    assert [row["technology"] for row in told["technologies"]] == list(comparison.scenario.compare)
    for row in told["technologies"]:
        assert set(row) >= KEYS
        assert all(math.isfinite(row[key]) for key in KEYS - {"technology", "validity"})


def test_the_breakdown_adds_up_to_the_step(comparison: nl.Comparison) -> None:
    for contender in comparison.contenders:
        parts = contender.step.breakdown_s()
        assert sum(parts.values()) == pytest.approx(contender.step.duration_s, rel=1e-12)


def test_a_token_costs_lifetime_capital_and_power_over_tokens_kept(
    comparison: nl.Comparison,
) -> None:
    """Recomputed by hand from the row's own numbers."""
    contender = comparison.contender("infiniband-ndr")
    node = contender.network.node
    assert node.price_usd is not None
    capex = 2048 * node.price_usd + contender.network_capex_usd
    power_kw = (2048 * node.power_w + contender.network_power_w) / 1e3
    seconds = 1e12 / (contender.step.tokens_per_s * contender.goodput.share)
    per_s = capex / (4 * 365.25 * 86_400) + power_kw * 1.25 * 0.08 / 3600
    assert contender.usd_per_trillion_tokens == pytest.approx(seconds * per_s)
    assert contender.days_per_trillion_tokens == pytest.approx(seconds / 86_400)


def test_every_field_can_be_explained_down_to_sources(comparison: nl.Comparison) -> None:
    def leaves(why: nl.Why) -> list[nl.Why]:
        return [leaf for part in why.parts for leaf in leaves(part)] or [why]

    for field in FIELDS:
        why = comparison.why(f"{field}:rocev2-400g")
        assert leaves(why)
        if field != "largest_efficient_gpus":
            assert any(leaf.source is not None for leaf in leaves(why)), field


def test_the_explanation_of_a_number_is_that_number(comparison: nl.Comparison) -> None:
    contender = comparison.contender("uet-400g")
    for field, value in contender.to_json().items():
        if field.endswith("interval"):
            said = str(comparison.why(f"{field}:uet-400g").value).split()
            assert float(said[0]) == pytest.approx(value["low"], rel=0.01), field
            assert float(said[2]) == pytest.approx(value["high"], rel=0.01), field
        elif field in FIELDS:
            assert comparison.why(f"{field}:uet-400g").value == pytest.approx(value), field


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("step_tme_s", "did you mean 'step_time_s'"),
        ("mfu:token-ring", "'token-ring' is not compared here; it is one of infiniband-ndr"),
    ],
)
def test_a_question_about_nothing_is_answered_with_what_there_is(
    comparison: nl.Comparison, question: str, message: str
) -> None:
    with pytest.raises(nl.SpecError, match=message):
        comparison.why(question)


def test_the_table_has_a_row_a_technology_and_speaks_arrow(comparison: nl.Comparison) -> None:
    table = comparison.table()
    assert len(table) == len(comparison.contenders)
    assert comparison.__arrow_c_stream__() is not None
    assert "infiniband-ndr" in comparison._repr_html_()


def with_two_tiers(technologies: tuple[str, ...]) -> nl.Scenario:
    scenario = nl.example().comparing(technologies)
    topology = scenario.cluster.fabric.topology.model_copy(update={"tiers": 2})
    fabric = scenario.cluster.fabric.model_copy(update={"topology": topology})
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    return scenario.model_copy(update={"cluster": cluster})


def test_a_technology_that_cannot_be_built_is_left_out_with_the_reason() -> None:
    """Two tiers of 64 ports end at 64^2/2 = 2,048 NICs; two tiers of 512 hold 131,072."""
    found = nl.compare(with_two_tiers(("infiniband-ndr", "rocev2-100g")))
    assert [contender.name for contender in found.contenders] == ["rocev2-100g"]
    assert [refusal.technology for refusal in found.refused] == ["infiniband-ndr"]
    assert "2,048" in found.refused[0].reason


def test_a_cluster_that_nothing_can_build_is_refused_with_every_reason() -> None:
    with pytest.raises(nl.InfeasibleError, match="none of the technologies can do this"):
        nl.compare(with_two_tiers(("infiniband-ndr", "rocev2-400g")))


def test_equal_scenarios_give_equal_comparisons(comparison: nl.Comparison) -> None:
    assert nl.compare(nl.example()).to_json() == comparison.to_json()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sorted(examples())
        if (job := nl.example(name).job_given) is not None and job.training is not None
    ],
)
def test_every_shipped_example_with_a_job_compares(name: str) -> None:
    found = nl.compare(nl.example(name))
    assert found.recommendation.technology in found.scenario.compare
    assert found.recommendation.reasons


def test_a_step_that_rests_on_one_draw_of_the_hash_is_doubted() -> None:
    scenario = nl.example("gpt3-175b-1k").comparing(("infiniband-hdr", "rocev2-200g"))
    drawn = nl.compare(scenario, engine=engine_named("flow")).recommendation.doubts
    assert any("One draw of the hash decides the step of rocev2-200g;" in one for one in drawn)
    assert not any("draw" in one for one in nl.compare(scenario).recommendation.doubts)


def test_a_technology_is_compared_once_however_it_is_spelt() -> None:
    scenario = nl.example("gpt3-175b-1k").comparing(("infiniband-hdr", "INFINIBAND-HDR"))
    assert len(nl.compare(scenario).contenders) == 1


@pytest.mark.parametrize("name", ["cluster capex", "cluster power"])
def test_what_a_cluster_costs_and_draws_is_the_sum_of_what_is_said_of_it(
    comparison: nl.Comparison, name: str
) -> None:
    for technology in ("rocev2-400g", "iwarp-100g"):  # the node's own NICs, and others
        money = comparison.why(f"usd_per_trillion_tokens:{technology}")
        (found,) = (part for part in money.parts if part.name == name)
        said = [part.value for part in found.parts]
        assert sum(float(value) for value in said) == pytest.approx(found.value)
