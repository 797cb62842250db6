"""Whatever is given to ``netloom convert``, it is read or refused in a sentence, and soon."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from netloom.cli.main import main
from netloom.errors import NetloomError
from netloom.formats.register import formats_of
from netloom.formats.training.recipe import Recipe, RecipeText

if TYPE_CHECKING:
    import pytest

RECIPES = Path(__file__).parents[1] / "data" / "recipes"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(RECIPES.iterdir())}
LIMITS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CPU_S = 2.0  # of all formats together; 30,000 characters take a quarter of it at most
SHELL = st.lists(
    st.sampled_from(
        [
            *(
                "'",
                '"',
                "`",
                "$",
                "${",
                "}",
                "$(",
                "$((",
                ")",
                "(",
                "\\",
                "\n",
                " ",
                "#",
                ";",
                "&&",
            ),
            *("|", "=", "+=", "A", "B=", "A=(", "${A[@]}", "${A:-", "${A:=", "$A", "<<EOF", "EOF"),
            *("if ", "then ", "else ", "fi", "for ", "do ", "done", "[ ", " ]", "[[ ", "sh -c "),
            *("eval ", "torchrun ", "x.py ", "--num-layers ", "--hidden-size ", "--bf16 ", "8 "),
            *("--moe-layer-freq ", "([0]*3+[1]*5)", "--num-experts ", "export ", "A[0]=", "{ "),
        ]
    ),
    max_size=60,
).map("".join)


def _parsed(text: str, name: str) -> None:
    """Read *text* as every format: each gives a recipe or an error with a sentence, and soon."""
    began = time.thread_time()
    for known in formats_of("recipe"):
        known.sniff(text)
        assert known.parse is not None
        try:
            found = known.parse(RecipeText(text=text, name=name))
        except NetloomError as error:
            found = str(error)
        assert isinstance(found, Recipe) or found
    assert time.thread_time() - began < CPU_S


@LIMITS
@given(SHELL)
@example("A=$B\nB=$A\n" * 50 + "x.py --num-layers $A --hidden-size 8")
@example("A=xx\n" + "A=$A$A\n" * 60)
@example("${" * 5000)
@example("$((" * 5000)
@example("'" * 5001)
@example('"$(' * 5000)
@example("if " * 5000)
@example("sh -c " * 5000)
@example("eval " * 5000)
@example("x.py --num-layers 9" + "9" * 5000)
@example("x.py --bf16 --pipeline-model-parallel-layout " + "((t|)*9999)*9999")
def test_shell_of_any_kind_is_read_or_refused(text: str) -> None:
    _parsed(text, "x.sh")


@LIMITS
@given(st.text(max_size=300))
@example("a: &a [*a]")
@example("a: ${a}")
@example("model: {x: '${train.y}'}\ntrain: {y: '${model.x}'}")
@example("[[" * 3000)
@example("{" * 3000)
@example('{"a":' * 3000)
@example("[training]\nseq_len = 1e400\n")
@example('{"train_batch_size": 1e308, "bf16": 3}')
@example('{"model_type": null, "text_config": []}')
def test_text_of_any_kind_is_read_or_refused(text: str) -> None:
    _parsed(text, "x.txt")


@LIMITS
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_a_recipe_cut_off_or_changed_anywhere_is_read_or_refused(
    name: str, data: st.DataObject
) -> None:
    text = TEXTS[name]
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, min(len(text), at + 20)))
    put = data.draw(
        st.sampled_from(["", "-1", "0", "null", "[]", "{}", "'", '"', "$X", "9" * 40, ": "])
    )
    _parsed(text[:at] + put + text[end:], name)
    _parsed(text[:at], name)


@settings(LIMITS, max_examples=25)
@given(
    st.sampled_from([*sorted(TEXTS), "x.sh", "x.toml", "x.json", "x.yaml"]),
    st.binary(max_size=200),
    st.integers(0, 3000),
)
def test_the_command_exits_with_0_or_2_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, put: bytes, at: int
) -> None:
    content = TEXTS.get(name, "").encode()
    file = tmp_path / name
    file.write_bytes(content[:at] + put + content[at + len(put) :])
    code = main(["convert", str(file), "--gpus", "128", "--sequence", "2048", "--json"])
    printed = capsys.readouterr()
    assert code in {0, 2}
    assert code == 0 or printed.err.startswith("netloom: ")
    assert "Traceback" not in printed.err


def test_a_folder_a_pipe_and_a_large_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = tmp_path / "large.sh"
    large.write_text("x.py --bf16 " * 200_000)
    for file in (tmp_path, Path("/dev/zero"), large, tmp_path / "none"):
        assert main(["convert", str(file)]) == 2
        assert capsys.readouterr().err.startswith("netloom: ")
