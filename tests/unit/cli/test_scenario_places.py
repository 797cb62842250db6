"""Every section of a scenario keeps its line and column, whoever finds it wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from netloom.app.deploy import render as render_files
from netloom.cli.main import main
from netloom.cli.scenario import scenario_at
from netloom.errors import InfeasibleError, NetloomError, OutputError, Problem, SpecError
from netloom.ops.deploy.intent import intent_of
from netloom.spec.load import load, parse, problems_of
from netloom.spec.scenario import Scenario
from netloom.study.compare.comparison import compare
from netloom.study.inputs import catalog_of
from netloom.study.predict.prediction import predict
from netloom.study.serving.inference import infer
from netloom.study.simulate.run import case_of
from netloom.study.span.spanning import span
from netloom.study.whatif.share import share

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECTIONS = tuple(field.alias or name for name, field in Scenario.model_fields.items())

RIGHT = {
    "cluster": "cluster: {node: dgx-h100, nodes: 2, fabric: {technology: infiniband-ndr}}",
    "job": "job: {model: llama-3.1-8b, training: {global_batch: 16}}",
}


def text_with(section: str, lines: str) -> str:
    """Return a scenario that is right but for *lines*, which stand last, after a comment."""
    others = [text for name, text in RIGHT.items() if name != section]
    return "\n".join([*others, "# what follows is wrong", lines, ""])


def problem_of(text: str) -> Problem:
    (problem,) = problems_of(text, name="x.yaml")
    return problem


@pytest.mark.parametrize("section", SECTIONS)
def test_a_value_of_the_wrong_type_keeps_its_place_in_every_section(section: str) -> None:
    # A section is text, a mapping or a list; 7.5 is none of them.
    text = text_with(section, f"{section}: 7.5")
    problem = problem_of(text)
    line = text.split("\n").index(f"{section}: 7.5") + 1
    where = problem.where
    assert (where.file, where.line, where.column) == ("x.yaml", line, len(f"{section}: ") + 1)
    assert where.key == section
    assert problem.what.startswith("7.5 ")
    assert problem.remedy
    with pytest.raises(SpecError) as caught:
        parse(text, name="x.yaml")
    assert caught.value.problems == (problem,)


@dataclass(frozen=True, kw_only=True)
class Late:
    """What is wrong with a section only when somebody asks.

    Attributes:
        lines: The section, as it stands in the file.
        key: Of the problem.
        at: The text at whose beginning it is placed; its first occurrence.
        ask: Who finds it.
    """

    lines: str
    key: str
    at: str
    ask: Callable[[Scenario], object]


def simulate(scenario: Scenario) -> object:
    return case_of(scenario, catalog_of(scenario))


def deploy(scenario: Scenario) -> object:
    return intent_of(scenario, catalog_of(scenario))


def render(scenario: Scenario) -> object:
    fabric = scenario.cluster.fabric.model_copy(update={"technology": "rocev2-400g"})
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    return render_files(scenario.model_copy(update={"cluster": cluster}))


FLOW = "{kind: one-to-one, source: 0, target: 1, size: 1MB}"
LATE = {
    "cluster": Late(
        lines="cluster:\n  nodes: 2\n  node: dgx-x100",
        key="cluster.node",
        at="node: dgx",
        ask=predict,
    ),
    "job": Late(
        lines="job:\n  training: {global_batch: 16}\n  model: lama",
        key="job.model",
        at="model: lama",
        ask=predict,
    ),
    "traffic": Late(
        lines=f"traffic:\n- {FLOW}\n- {FLOW.replace('target: 1,', 'target: 999,')}",
        key="traffic.1",
        at="{kind: one-to-one, source: 0, target: 999",
        ask=simulate,
    ),
    "jobs": Late(
        lines="jobs:\n- nodes: 2\n  job: {training: {global_batch: 16}, model: lama}",
        key="jobs.0.job.model",
        at="model: lama",
        ask=share,
    ),
    "faults": Late(
        lines=f"traffic: [{FLOW}]\nfaults:\n- {{kind: down, part: laef:0, at: 1us}}",
        key="faults.0",
        at="{kind: down",
        ask=simulate,
    ),
    "packets": Late(
        lines=f"traffic: [{FLOW}]\npackets:\n  watchdog: 1ms",
        key="packets.watchdog",
        at="watchdog: 1ms",
        ask=simulate,
    ),
    "serving": Late(
        lines="serving:\n  prompt: 512\n  output: 64\n  decode: {tensor: 3}\n  batch: 8",
        key="serving.decode.tensor",
        at="tensor: 3",
        ask=infer,
    ),
    "site": Late(lines="site:\n  system: junos", key="site.system", at="system: junos", ask=render),
    "generation": Late(
        lines="generation:\n  height: 512\n  width: 512\n  steps: 4",
        key="generation",
        at="generation:",
        ask=infer,
    ),
    "sites": Late(
        lines="sites:\n- {name: north, nodes: 1}\n- {name: south, nodes: 7}",
        key="sites",
        at="sites:",
        ask=span,
    ),
    "spans": Late(
        lines="sites: [{name: north, nodes: 1}, {name: south, nodes: 1}]\nspans:\n- {between: "
        "[north, east], length: 500km, waves: {count: 4, rate: 800Gbps}}",
        key="spans[0].between",
        at="between:",
        ask=span,
    ),
    "tenants": Late(
        lines="tenants:\n- {name: one, nodes: 0-9}", key="tenants", at="tenants:", ask=deploy
    ),
    "compare": Late(lines="compare: [token-ring]", key="compare", at="compare", ask=compare),
    "catalog": Late(lines="catalog: none.toml", key="catalog", at="catalog", ask=predict),
}
# Nothing is looked up for these: what is wrong with them is wrong when they are read.
NEVER_LATE = {"published", "name", "economics"}


def test_the_table_has_every_section() -> None:
    assert set(LATE) | NEVER_LATE == set(SECTIONS)


@pytest.mark.parametrize("section", LATE)
def test_what_a_study_finds_keeps_its_place_in_every_section(section: str, tmp_path: Path) -> None:
    late = LATE[section]
    text = text_with(section, late.lines)
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    assert problems_of(text) == ()
    with pytest.raises(NetloomError) as caught, scenario_at(path) as scenario:
        late.ask(scenario)
    (problem,) = caught.value.problems
    begins = text.index(late.at, text.index("# what follows"))
    line = text[:begins].count("\n") + 1
    column = begins - text.rfind("\n", 0, begins)
    where = problem.where
    assert (where.file, where.line, where.column) == (str(path), line, column)
    assert where.key == late.key
    assert str(caught.value).startswith(f"{path}:{line}:{column}: {late.key}: {problem.what}")


def test_a_key_that_the_file_leaves_out_is_found_at_the_nearest_above_it(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text_with("", ""), encoding="utf-8")
    with pytest.raises(SpecError) as caught, scenario_at(path):
        raise SpecError(key="job.parallel.tensor", what="is 3", remedy="use 4")
    (problem,) = caught.value.problems
    assert (problem.where.line, problem.where.column) == (2, 1)
    assert problem.where.key == "job.parallel.tensor"


def test_options_outputs_and_other_files_are_not_placed_in_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text_with("", ""), encoding="utf-8")
    with pytest.raises(SpecError) as option, scenario_at(path):
        raise SpecError(option="--seed", what="-1 is negative", remedy="use 0")
    assert str(option.value) == "--seed: -1 is negative; use 0"
    with pytest.raises(OutputError, match=r"^disk full$"), scenario_at(path):
        raise OutputError(what="disk full")
    with pytest.raises(InfeasibleError) as other, scenario_at(path):
        raise InfeasibleError(file="y.csv", line=3, what="no rows")
    assert str(other.value) == f"{path}: y.csv:3: no rows"


def test_all_problems_are_told_in_the_order_of_the_file() -> None:
    text = "cluster: {nodes: 0, nod: x}\njob: {model: 3}\nname: [1]\n"
    found = problems_of(text)
    keys = [(one.where.line, one.where.key) for one in found]
    assert keys == [(1, "cluster.nodes"), (1, "cluster.nod"), (2, "job.model"), (3, "name")]
    assert {one.where.file for one in found} == {"scenario"}
    assert all(one.remedy for one in found)


def test_a_right_scenario_has_no_problems(tmp_path: Path) -> None:
    text = text_with("", "")
    assert problems_of(text) == ()
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    assert load(path) == parse(text, name="x.yaml")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("cluster:\n  nodes: 2\n bad: 1\n", 3, "not valid YAML"),
        ("name: x\n\0", 2, "a NUL byte"),
        ("", 0, "is empty"),
        ("- 1\n", 0, "holds a list"),
    ],
)
def test_a_text_that_cannot_be_read_has_one_problem(text: str, line: int, what: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.where.file, problem.where.line) == ("scenario", line)
    assert problem.what.startswith(what)
    assert problem.remedy


def test_check_tells_what_every_study_would_refuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.yaml"
    late = f"{LATE['job'].lines}\n{LATE['packets'].lines}"
    path.write_text(text_with("job", late), encoding="utf-8")
    assert main(["check", str(path)]) == 2
    said = capsys.readouterr().err
    assert "x.yaml:8:3: packets.watchdog: " in said
    assert "x.yaml:5:3: job.model: 'lama': no such model; " in said


@pytest.mark.parametrize(
    ("lines", "key", "at", "says"),
    [
        (f"traffic:\n- {FLOW.replace('target: 1', 'target: x')}", "traffic[0].target", "x, s", ""),
        (f"traffic:\n- {FLOW.replace('size', 'sise')}", "traffic[0].sise", "sise", "'size'"),
        ("faults:\n- {kind: down, parts: leaf:0}", "faults[0].parts", "parts", "'part'"),
        ("jobs:\n- {nodes: 1, jobb: 1}", "jobs[0].jobb", "jobb", "'job'"),
        ("tenants:\n- {name: a, node: 1}", "tenants[0].node", "node: 1", "'nodes'"),
    ],
)
def test_what_is_wrong_in_an_item_of_a_list_keeps_its_own_place(
    lines: str, key: str, at: str, says: str
) -> None:
    text = text_with("", lines)
    (problem,) = [one for one in problems_of(text) if one.where.key == key]
    begins = text.index(at, text.index("# what follows"))
    place = (text[:begins].count("\n") + 1, begins - text.rfind("\n", 0, begins))
    assert (problem.where.line, problem.where.column) == place
    assert says in problem.remedy
