"""Memory over the step: the chart of ``predict --report``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.errors import InfeasibleError
from netloom.step.memory import memory_course

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["llama-3.1-405b-16k", "gpt3-175b-1k", "deepseek-v3-2k"])
def test_the_course_begins_and_ends_with_the_states_and_peaks_at_the_memory(name: str) -> None:
    step = nl.predict(nl.example(name)).step
    course = memory_course(step.memory, step.pipeline, duration_s=float(step.duration_s))
    assert course is not None
    assert course.held_bytes[0] == course.held_bytes[-1] == course.states_bytes
    assert max(course.held_bytes) == pytest.approx(step.memory.total_bytes)
    assert list(course.times_s) == sorted(course.times_s)
    few = course.thinned(100)
    assert len(few.times_s) <= 100
    assert max(few.held_bytes) == max(course.held_bytes)


def test_the_report_draws_memory_over_the_step(tmp_path: Path) -> None:
    scenario, page = tmp_path / "a.yaml", tmp_path / "a.html"
    scenario.write_text(nl.spec.example.example_text("gpt3-175b-1k"), encoding="utf-8")
    assert main(["predict", str(scenario), "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    figure = re.search(r'<figure class="card" id="memory-over-time".*?</figure>', text, re.DOTALL)
    assert figure is not None
    assert "with activations" in figure[0]


def test_a_refusal_lists_remedies_by_the_step_they_give() -> None:
    scenario = nl.example("llama-3.1-405b-16k")
    parallel = scenario.job.parallel.model_copy(update={"pipeline": 4, "data": 512})
    job = scenario.job.model_copy(update={"parallel": parallel})
    with pytest.raises(InfeasibleError) as caught:
        nl.predict(scenario.model_copy(update={"job": job}))
    text = str(caught.value)
    assert "fastest step first" in text
    times = [float(found) for found in re.findall(r"\((\d+(?:\.\d+)?)s\)", text)]
    assert len(times) >= 3
    assert times == sorted(times)
    # Tensor ranks fill the node of 8 already.
    assert "tensor:" not in text
