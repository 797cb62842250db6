from __future__ import annotations

import subprocess
import sys

import pytest

import netloom as nl


def test_every_public_name_is_there_and_listed() -> None:
    assert dir(nl) == nl.__all__ == sorted(nl.__all__)
    assert all(getattr(nl, name) is not None for name in nl.__all__)
    assert nl.__version__


def test_importing_netloom_imports_nothing_heavy() -> None:
    code = "import netloom, sys; print(*sorted({'numpy', 'pydantic', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == ""


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        nl.nope  # noqa: B018


def test_results_introduce_themselves_in_one_line_and_as_tables() -> None:
    sizing = nl.size(nl.SizingRequest(num_gpus=1024))
    prediction = nl.predict(nl.example("gpt3-175b-1k"))
    for found in (sizing, prediction):
        assert len(repr(found)) < 200
        assert "\n" not in repr(found)
        assert found.__arrow_c_stream__() is not None
        assert found._repr_html_().startswith("<iframe")
        assert "<table>" in found._repr_html_()  # for where no script runs
    assert prediction.table().units["time_s"] == "s"
    assert sum(row["time_s"] for row in prediction.table().rows()) == pytest.approx(  # type: ignore[misc]
        prediction.step.duration_s
    )


def test_a_scenario_is_built_broken_and_mended_from_python() -> None:
    scenario = nl.load(
        {"cluster": {"nodes": 4}, "job": {"model": "gpt-2-1.5b", "training": {"global_batch": 32}}}
    )
    fabric = nl.build(scenario)
    broken = nl.fail(fabric, "leaf:0")
    assert (broken.link_state != fabric.link_state).sum() > 0
    assert (nl.restore(broken, "leaf:0").link_state == fabric.link_state).all()
