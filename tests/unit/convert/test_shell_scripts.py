"""Shell scripts are read as a shell would expand them, line by line, and never run."""

from __future__ import annotations

import pytest

from netloom.errors import SpecError
from netloom.formats.training.arithmetic import layer_pattern, shell_sum
from netloom.formats.training.shell import ShellScript, read_script
from netloom.formats.training.shell_flow import condition_value


def _read(text: str, **variables: str) -> ShellScript:
    return read_script(text, variables, name="x.sh")


def _words(text: str, **variables: str) -> list[str]:
    return [word.text for word in _read(text, **variables).commands[-1].words]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("TP=8\nrun $TP ${TP}", ["run", "8", "8"]),
        ("run ${TP:-4} ${TP-5}", ["run", "4", "5"]),
        ("TP=2\nrun ${TP:-4} ${TP:+x}", ["run", "2", "x"]),
        ("A='a b'\nrun $A \"$A\"", ["run", "a", "b", "a b"]),
        ("A=(a 'b c')\nA+=(d)\nrun ${A[@]}", ["run", "a", "b", "c", "d"]),
        ("A=(a 'b c')\nrun \"${A[@]}\"", ["run", "a", "b c"]),
        ("N=3\nrun $(($N * 8)) $((N-1))", ["run", "24", "2"]),
        ("A=1\nA=2$A\nrun $A", ["run", "21"]),
        ("run a \\\n  b # c\n", ["run", "a", "b"]),
        ("cat <<EOF\nrun x\nEOF\nrun y", ["run", "y"]),
        ('C="run a $B"\neval $C', ["run", "a", "$B"]),
        ("sh -c 'cd /tmp && run x'", ["run", "x"]),
        ("run --a 1\n--b 2", ["run", "--a", "1", "--b", "2"]),
    ],
)
def test_words_are_those_that_the_command_would_get(script: str, expected: list[str]) -> None:
    assert _words(script) == expected


def test_what_the_surroundings_set_is_given_by_hand_and_wins() -> None:
    assert _words("run $TP", TP="8") == ["run", "8"]
    assert _words("TP=4\nrun $TP", TP="8") == ["run", "8"]
    assert _words("run $1 ${2:-x}", **{"1": "a"}) == ["run", "a", "x"]


@pytest.mark.parametrize("said", ["$X", "${X}", "$(nproc)", "`nproc`", "${X//a/b}", "$((X*2))"])
def test_what_cannot_be_expanded_stands_as_it_is_written(said: str) -> None:
    word = _read(f"run --n={said}").commands[0].words[1]
    assert word.text == f"--n={said.replace('${X}', '$X')}"
    assert word.unexpanded


def test_a_word_has_the_line_that_it_comes_from() -> None:
    script = 'A=(\n  --x 1\n  --y 2\n)\nB="\n  --z 3 \\\n  --w 4\n"\nrun ${A[@]} $B'
    lines = {word.text: word.line for word in _read(script).commands[0].words}
    assert lines == {
        "run": 9,
        "--x": 2,
        "1": 2,
        "--y": 3,
        "2": 3,
        "--z": 6,
        "3": 6,
        "--w": 7,
        "4": 7,
    }


@pytest.mark.parametrize(
    ("condition", "followed"),
    [
        ('[ "$A" = 1 ]', True),
        ('[[ "$A" == "2" ]]', False),
        ("[ $A -gt 0 ]", True),
        ('[ "$A" = 2 ] || [ "$A" = 1 ]', True),
        ('[ "$A" = 1 ] && [ "$A" = 2 ]', False),
        ('[ ! -z "$A" ]', True),
    ],
)
def test_a_branch_that_the_script_decides_is_followed(*, condition: str, followed: bool) -> None:
    script = f"A=1\nB=no\nif {condition}; then\n  B=yes\nelse\n  C=1\nfi\nrun $B ${{C:-0}}"
    assert _words(script) == (["run", "yes", "0"] if followed else ["run", "no", "1"])


def test_a_branch_that_it_does_not_decide_is_named_and_changes_nothing() -> None:
    script = _read('B=1\nif [ -n "$X" ]; then\n  B=2\nfi\nfor i in a b; do\n  B=3\ndone\nrun $B')
    assert script.conditional == [("B", 3), ("B", 6)]
    assert script.commands[-1].words[1].text == "1"


def test_of_several_branches_the_first_that_holds_is_followed() -> None:
    text = "if [ $A = 1 ]; then B=1; elif [ $A = 2 ]; then B=2; else B=3; fi\nrun $B"
    assert [_words(text, A=a)[1] for a in "123"] == ["1", "2", "3"]


@pytest.mark.parametrize("text", ["run 'a", 'run "a', "A=(a", "run ${A", "run $(a", "run `a"])
def test_a_quote_or_bracket_that_is_never_closed_is_told_with_its_line(text: str) -> None:
    with pytest.raises(SpecError, match=r"x\.sh:2: .* is never closed"):
        _read(f"true\n{text}")


def test_variables_that_double_again_and_again_are_refused() -> None:
    text = "A=aaaaaaaaaaaaaaaa\n" + "A=$A$A\n" * 40 + "run $A"
    with pytest.raises(SpecError, match="expand to more than"):
        _read(text)


def test_variables_that_refer_to_each_other_come_to_an_end() -> None:
    assert _words("A=$B\nB=$A\nA=$B\nrun $A") == ["run", "$B"]


def test_tests_that_need_the_machine_are_not_decided() -> None:
    assert condition_value([("[", True), ("-f", True), ("x", True), ("]", True)]) is None
    assert condition_value([("docker", True), ("ps", True)]) is None


def test_sums_are_whole_numbers_or_nothing() -> None:
    names = {"A": 6}
    assert shell_sum("A*(2+3)%7-1", names.get) == 1
    assert shell_sum("7/2", names.get) == 3
    for text in ("A/0", "B", "A**A", "f(A)", "9" * 30, "(" * 300):
        assert shell_sum(text, names.get) is None


def test_a_pattern_of_layers_is_written_out() -> None:
    assert layer_pattern("([0]*3+[1]*2)") == (0, 0, 0, 1, 1)
    for text in ("[1]*99999999", "[x]", "__import__('os')", "1", "[1]-[1]"):
        assert layer_pattern(text) is None
