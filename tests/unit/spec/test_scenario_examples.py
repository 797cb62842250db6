from __future__ import annotations

import pytest

from netloom.errors import SpecError
from netloom.spec.example import BUILT_IN, example, example_text, examples
from netloom.spec.scenario import DEFAULT_COMPARISON

# Both nodes that the examples name have eight GPUs.
GPUS_PER_NODE = 8


def test_the_built_in_example_is_llama_405b_on_16384_gpus() -> None:
    scenario = example()
    parallel = scenario.job.parallel
    assert scenario.job.model == "llama-3.1-405b"
    assert scenario.cluster.nodes == 2048
    assert (parallel.tensor, parallel.pipeline, parallel.data) == (8, 16, 128)
    # 2,048 sequences of 8,192 tokens: the 16M tokens of the Llama 3 report.
    assert scenario.job.trained.global_batch * scenario.job.trained.sequence == 2**24
    assert scenario.compare == DEFAULT_COMPARISON


WITH_JOBS = [name for name in examples() if example(name).job_given is not None]
TRAINED = [name for name in WITH_JOBS if example(name).job.training is not None]


def test_every_example_has_a_name_and_something_that_runs() -> None:
    assert len(WITH_JOBS) < len(examples())
    for name in examples():
        assert example(name).name
        assert name in WITH_JOBS or example(name).traffic


@pytest.mark.parametrize("name", TRAINED)
def test_the_degrees_of_every_example_multiply_out_to_its_gpus(name: str) -> None:
    scenario = example(name)
    parallel, cluster = scenario.job.parallel, scenario.cluster
    assert parallel.data is not None
    product = parallel.tensor * parallel.pipeline * parallel.context * parallel.data
    assert product == (cluster.gpus or (cluster.nodes or 0) * GPUS_PER_NODE)
    assert scenario.job.trained.global_batch % parallel.data == 0
    assert scenario.name


def test_the_examples_are_named_after_their_files() -> None:
    assert list(examples()) == sorted(examples())
    assert examples()[BUILT_IN] == example_text()
    assert {"deepseek-v3-2k", "gpt3-175b-1k", "trillion-3k"} < set(examples())


def test_an_unknown_example_names_the_closest() -> None:
    with pytest.raises(SpecError, match="did you mean 'trillion-3k'"):
        example("trilion-3k")
