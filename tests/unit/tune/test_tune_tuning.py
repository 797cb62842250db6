"""Tuning a scenario: common seeds, resumption, the verdict, and what is written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.errors import SpecError
from netloom.report.tune.page import tune_page
from netloom.results.store import AnswerStore
from netloom.spec.fabric.settings import OwnSettings
from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.tune.breaks import variations_of
from netloom.study.tune.knobs import settings_space, with_values
from netloom.study.tune.limits import TuneLimits, buffer_need_bytes
from netloom.study.tune.measure import jittered, shortened
from netloom.study.tune.result import TunedSettings
from netloom.study.tune.tuning import TuneRequest, tune_with
from netloom.study.tune.verdict import NO_GAIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from netloom.study.tune.plan import TrialRequest

SMALL = """
cluster: {gpus: 16, node: dgx-h100,
          fabric: {technology: rocev2-400g,
                   topology: {kind: fat-tree, tiers: 2, hosts_per_leaf: 8}}}
traffic: [{kind: incast, target: 0, first: 8, fan_in: 4, size: 100KB}]
"""
QUICK = TuneRequest(budget=4, verdict_seeds=2, search_seeds=1, over=("ecn",), explores=False)


def scenario() -> nl.Scenario:
    return parse(SMALL, name="small.yaml")


def made_up(value: Any) -> Any:
    """Return what answers trials by a formula of their scenario and seed."""

    def ask(requests: Sequence[TrialRequest]) -> list[Mapping[str, Any]]:
        return [
            {
                "value": value(one, seed),
                "lost": 0,
                "pause_share": 0.0,
                "data_packets": 1,
                "ended": True,
            }
            for one, _, seed in requests
        ]

    return ask


def alpha_of(one: nl.Scenario) -> float:
    settings = one.cluster.fabric.settings
    return (isinstance(settings, OwnSettings) and settings.alpha) or 0.125


def kmin_of(one: nl.Scenario) -> float:
    settings = one.cluster.fabric.settings
    return 1e6 if not isinstance(settings, OwnSettings) else float(settings.kmin_bytes or 1e6)


def test_settings_that_are_better_on_every_seed_are_found_and_sure() -> None:
    # The lower Kmin the better, by construction; the seed scales all alike.
    ask = made_up(lambda one, seed: (1 + seed % 7) * (1 + kmin_of(one) / 1e6))
    asked = scenario()
    request = TuneRequest(budget=40, over=("ecn",), explores=False)
    found = tune_with(asked, catalog_of(asked), ask, request)
    low = found.space.knobs[0].low
    assert found.is_better
    assert found.best.values["kmin_bytes"] == pytest.approx(low, rel=0.1)
    assert found.gain.mean == pytest.approx(1 - (1 + low / 1e6) / 2, rel=0.05)
    assert found.to_json()["settings"]["kmin_bytes"] == pytest.approx(low, rel=0.1)
    assert set(found.seeds).isdisjoint(range(100))


def test_noise_is_no_gain() -> None:
    def noisy(one: nl.Scenario, seed: int) -> float:
        mixed = [seed, round(kmin_of(one))]
        return float(np.random.default_rng(mixed).normal(1.0, 0.05))

    asked = scenario()
    request = TuneRequest(budget=30, over=("ecn",), explores=False)
    found = tune_with(asked, catalog_of(asked), made_up(noisy), request)
    assert found.verdict == NO_GAIN
    assert found.settings is None


def test_what_did_not_win_is_advised_nowhere() -> None:
    """The search's best is 1 % shorter on its own seeds and no different on the verdict's."""

    def lucky(one: nl.Scenario, seed: int) -> float:
        return 0.99 if seed < 100 and kmin_of(one) < 5e5 else 1.0

    asked = scenario()
    request = TuneRequest(budget=20, over=("ecn",), explores=False)
    found = tune_with(asked, catalog_of(asked), made_up(lucky), request)
    assert found.tuned.cluster.fabric.settings is not None
    assert not found.is_better
    assert found.advised == asked
    page = tune_page(found)
    assert "kmin:" not in page
    assert "the technology&#39;s own" in page


def test_a_knob_that_does_less_than_the_seeds_of_the_verdict_does_not_matter() -> None:
    """Seeds of the search agree; those of the verdict lie 10 % apart: half of that is noise."""

    def value(one: nl.Scenario, seed: int) -> float:
        return 1.0 + 0.01 * (kmin_of(one) > 5e5) + 0.1 * (seed >= 100 and seed % 2)

    asked = scenario()
    request = TuneRequest(budget=20, over=("ecn",))
    found = tune_with(asked, catalog_of(asked), made_up(value), request)
    kmin = next(one for one in found.sensitivity if one.knob == "kmin_bytes")
    assert kmin.effect == pytest.approx(0.01, abs=1e-3)
    assert kmin.noise == pytest.approx(0.05, rel=0.05)
    assert not kmin.matters


def test_a_published_setting_that_wins_is_named() -> None:
    def paper_wins(one: nl.Scenario, seed: int) -> float:
        del seed
        return 0.5 if one.cluster.fabric.settings == "dcqcn-paper" else 1.0

    asked = scenario()
    found = tune_with(asked, catalog_of(asked), made_up(paper_wins), QUICK)
    assert (found.chosen, found.gain.mean, found.settings) == ("dcqcn-paper", 0.5, "dcqcn-paper")


def test_a_default_that_breaks_a_limit_loses_to_one_that_keeps_it() -> None:
    def ask(requests: Sequence[TrialRequest]) -> list[Mapping[str, Any]]:
        return [
            {
                "value": 1.0,
                "lost": 3 if kmin_of(one) > 500_000 else 0,
                "pause_share": 0.0,
                "data_packets": 10,
                "ended": True,
            }
            for one, _, _ in requests
        ]

    asked = scenario()
    request = TuneRequest(budget=20, verdict_seeds=2, over=("ecn",), explores=False)
    found = tune_with(asked, catalog_of(asked), ask, request)
    assert found.default.broken == ("3 packets are lost",)
    assert (found.best.broken, found.is_better) == ((), True)
    assert found.verdict.startswith("the default breaks a limit")


def test_settings_that_take_more_buffer_than_allowed_lose() -> None:
    asked = nl.example("incast-rocev2")
    usual = buffer_need_bytes(nl.headroom(asked))
    # 128 ports: headroom, and alpha B / (1 + 128 alpha) each.
    settings = nl.headroom(asked).settings
    assert usual == settings.headroom_bytes + 128 * settings.xoff_at_bytes
    # The higher alpha the better, by construction, but for the buffer it takes.
    ask = made_up(lambda one, _: 1 / alpha_of(one))
    request = TuneRequest(
        budget=40,
        verdict_seeds=2,
        over=("pfc",),
        explores=False,
        limits=TuneLimits(max_buffer_bytes=usual),
    )
    found = tune_with(asked, catalog_of(asked), ask, request)
    assert found.best.broken == ()
    assert found.best.values.get("alpha", 0.125) <= 0.125 * (1 + 1e-6)
    free = tune_with(asked, catalog_of(asked), ask, replace(request, limits=TuneLimits()))
    assert free.best.values["alpha"] == pytest.approx(4.0)


def test_a_store_answers_the_same_command_without_running_anything(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    found = [nl.tune(scenario(), request=QUICK, store=file, workers=1) for _ in range(2)]
    assert found[0].to_json() == found[1].to_json()
    with AnswerStore(file) as kept:
        attempts = kept.attempts()
    # Default, published settings and trials: each simulated once, whoever asked again.
    assert len(attempts) > 10
    assert set(attempts.values()) == {1}


def test_marks_of_the_space_come_before_pauses() -> None:
    asked = nl.example("incast-rocev2")
    budget = nl.headroom(asked)
    kmin = settings_space(asked, catalog_of(asked), ("ecn",)).knobs[0]
    assert kmin.high < budget.settings.xoff_at_bytes
    highest = {"kmin_bytes": kmin.high, "kmax_ratio": 32.0, "pmax": 1.0}
    told = nl.headroom(with_values(asked, highest)).settings
    assert told.marking.kmax_bytes < told.alone_at_bytes


@pytest.mark.parametrize(
    ("over", "said"),
    [
        (("enc",), "did you mean 'ecn'"),
        (("weights",), "one priority"),
        (("chunk",), "no ring collective"),
    ],
)
def test_groups_with_nothing_to_turn_are_refused(over: tuple[str, ...], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        settings_space(scenario(), catalog_of(scenario()), over)


def test_networks_without_pauses_have_nothing_to_tune(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ib.yaml"
    file.write_text(SMALL.replace("rocev2-400g", "infiniband-ndr"))
    assert main(["tune", str(file)]) == 2
    assert "nothing to tune" in capsys.readouterr().err


def test_starts_are_drawn_by_the_seed_and_waits_stay() -> None:
    asked = scenario()
    from netloom.study.simulate.run import case_of  # noqa: PLC0415

    transfers = case_of(asked, catalog_of(asked)).traffic(0)
    one, two = (jittered(transfers, 10**7, np.random.default_rng(seed)) for seed in (1, 2))
    assert (one.start_ps != two.start_ps).any()
    assert 0 <= one.start_ps.min() <= one.start_ps.max() <= 10**7
    assert jittered(transfers, 0, np.random.default_rng(1)) is transfers


def test_half_the_length_is_half_the_bytes_or_the_time() -> None:
    short = shortened(scenario(), 0.5)
    assert short.traffic is not None
    assert getattr(short.traffic[0], "size_bytes", 0) == 65_536  # no shorter than that
    text = SMALL.replace(
        "{kind: incast, target: 0, first: 8, fan_in: 4, size: 100KB}",
        "{kind: poisson, load: 20%, duration: 100us}",
    )
    open_loop = shortened(parse(text, name="x"), 0.5).traffic
    assert open_loop is not None
    assert getattr(open_loop[0], "duration_s", 0) == pytest.approx(50e-6)


def test_everything_that_breaks_settings_is_made_worse() -> None:
    asked = nl.example("incast-rocev2")
    found = variations_of(asked, catalog_of(asked))
    assert {one.what for one in found} == {"incast degree", "size", "distance", "failed link"}
    degrees = [one.level for one in found if one.what == "incast degree"]
    assert degrees == [32, 64]


def test_the_command_writes_configurations_with_the_best_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    argv = ["tune", str(file), "--budget", "2", "--seeds", "2", "--over", "qps", "--workers", "1"]
    page = tmp_path / "tune.html"
    assert main([*argv, "--render", str(tmp_path / "site"), "--report", str(page)]) == 0
    said = capsys.readouterr().out
    assert "files in" in said
    assert (tmp_path / "site" / "settings.yaml").read_text().startswith("cluster:")
    assert "Which knob matters" in page.read_text()
    assert main([*argv, "--running", str(tmp_path / "site")]) == 0
    assert "files differ from what runs" in capsys.readouterr().out
    assert main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert {"objective", "default", "presets", "best", "gain", "gain_low", "gain_high"} <= set(
        result
    )


def test_the_result_is_a_table_and_explains_itself() -> None:
    found = nl.tune(scenario(), request=QUICK, workers=1)
    assert isinstance(found, TunedSettings)
    assert found.table().names[0] == "settings"
    assert len(found.why("gain").parts) == QUICK.verdict_seeds


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--max-buffer=0B", "--max-buffer: 0 bytes hold no packet; give more, such as 64MB"),
        ("--max-pauses=200%", "--max-pauses: 2 of the time is no share; give 0% to 100%"),
        ("--max-pauses=-1%", "--max-pauses: -0.01 of the time is no share; give 0% to 100%"),
        ("--jitter=-1us", "--jitter: -1e-06 s is no time to wait; give 0s or more, such as 10us"),
    ],
)
def test_limits_that_cannot_be_are_refused(
    option: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", option, "--budget", "2"]) == 2
    assert capsys.readouterr().err.strip() == f"netloom: {says}"
