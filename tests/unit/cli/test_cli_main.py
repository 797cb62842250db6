from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import netloom as nl
from netloom.cli import main as command_line
from netloom.cli.exits import Exit
from netloom.cli.main import main
from netloom.commands import COMMANDS, command_in
from netloom.results.schemas import JSON_COMMANDS
from netloom.spec.example import example_text, examples
from netloom.spec.schema import schema

if TYPE_CHECKING:
    from collections.abc import Callable

NETLOOM = [sys.executable, "-c", "import sys; from netloom.cli.main import main; sys.exit(main())"]


def run(command: list[str], *, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  (ourselves)
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=300
    )


def crash_with(error: BaseException) -> Callable[[], Callable[[list[str]], None]]:
    def app() -> Callable[[list[str]], None]:
        def crash(_: list[str]) -> None:
            raise error

        return crash

    return app


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for command in COMMANDS:
        assert command.name in out
        assert command.help in out


def test_every_command_can_be_imported_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert main([command.name, "--help"]) == 0
        assert f"netloom {command.name}" in capsys.readouterr().out


def test_help_imports_nothing_heavy() -> None:
    heavy = ("numpy", "pydantic", "jinja2", "ruamel", "nanoarrow", "netloom.spec")
    code = (
        "import sys\nfrom netloom.cli.main import main\nmain(['--help'])\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = run([sys.executable, "-c", code])
    assert done.stderr == "[]\n"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out[0].isdigit()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["schemas"], 'Unknown command "schemas". Did you mean "schema"?'),
        (["check"], "requires an argument"),
        (["check", "--qq", "x"], "Unknown option: --qq. Try 'netloom check --help'."),
        (["predict", "--own", "x"], "--own is now --catalog"),
        (["watch", "--most", "1GiB"], "--most is now --max-size"),
        (["predict", "--why"], "--why requires an argument: a field of the JSON, or all."),
        (["predict", "--why", "mfo"], "--why: there is no field 'mfo'; did you mean 'mfu'?"),
        (["predict", "--fail-if", "x"], "--fail-if: 'x' is no condition; write such as"),
        (["trace", "write"], "--out requires an argument. Try 'netloom trace write --help'."),
        (["compare", "--seed", "3"], "--seed: the closed form draws nothing"),
        (["compare", "--seeds", "2.5"], "'2.5' is not a whole number"),
        (["compare", "--technologies", ","], "--technologies: ',' names nothing"),
        (["compare", "--technologies", "tcp"], "netloom: --technologies: 'tcp': no such tech"),
        (["compare", "--why", ""], "--why: there is no field ''"),
        (["plan", "--technologies", "tcp"], "netloom: --technologies: 'tcp': no such technology"),
        (["plan", "--gpus", ","], "--gpus: ',' names nothing"),
        (["plan", "--memory", "70"], "--memory: '70' has no unit"),
        (["plan", "--resume", "/"], "--resume: /: a folder; name a file that it wrote"),
        (["place", "--nodes", "1.5"], "'1.5' is not a whole number"),
        (["place", "--nodes", "4", "--seed", "-1"], "--seed: -1 is negative"),
        (["validate", "steps", "--data", "/"], "/: a folder; name a CSV table of steps"),
        (["example", "--name"], "Did you mean --names?"),
        (["schema", "extra"], "extra"),
        (["example", "llama"], "example: 'llama' is not known; choose one of deepseek-v3-2k"),
        (["check", "none.yaml"], "none.yaml: cannot be read (No such file or directory)"),
    ],
)
def test_what_the_user_can_fix_exits_with_2_and_one_line(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    got = capsys.readouterr()
    assert got.out == ""
    assert got.err.startswith("netloom: ")
    assert says in got.err
    assert got.err.count("\n") == 1


def test_a_command_may_return_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_line, "build_app", lambda: lambda _: 1)
    assert main([]) == 1


def test_a_flag_has_no_opposite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example", "--help"]) == 0
    assert "--no-names" not in capsys.readouterr().out
    assert main(["example", "--no-names"]) == 2


def test_a_closed_output_is_no_bug() -> None:
    done = run(["/bin/sh", "-c", '"$@" >&-', "sh", *NETLOOM, "schema"])
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_exits_with_130_and_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "build_app", crash_with(KeyboardInterrupt()))
    assert main([]) == 130
    assert capsys.readouterr().err == "netloom: interrupted\n"


def test_ctrl_c_inside_a_command_exits_with_130_and_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser must not swallow it: the command itself is interrupted."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netloom.cli.about.example.example_text", interrupted)
    assert main(["example"]) == 130
    assert capsys.readouterr().err == "netloom: interrupted\n"


def test_too_little_memory_is_no_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "build_app", crash_with(MemoryError("2 GiB")))
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("netloom: out of memory (2 GiB); ask for fewer")


def test_a_bug_exits_with_70_and_shows_its_traceback_only_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "build_app", crash_with(ZeroDivisionError("by 0")))
    monkeypatch.delenv("NETLOOM_DEBUG", raising=False)
    assert main([]) == 70
    err = capsys.readouterr().err
    assert err.startswith("netloom: this is a bug in netloom (ZeroDivisionError: by 0); please")
    assert "Traceback" not in err
    monkeypatch.setenv("NETLOOM_DEBUG", "1")
    assert main([]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["schema"], ["--help"], ["catalog"]])  # print, and rich
def test_a_reader_that_goes_away_is_no_error_to_speak_of(argv: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run([*NETLOOM, *argv], stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_disk_is_reported_in_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = run([*NETLOOM, "schema"], stdout=full.fileno())
    assert done.returncode == 2
    assert done.stderr == (
        "netloom: cannot write the output (No space left on device); free some space\n"
    )


def test_schema_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


def test_example_prints_a_scenario_that_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["example"]) == 0
    out = capsys.readouterr().out
    assert out == example_text()
    path = tmp_path / "x.yaml"
    path.write_text(out)
    assert main(["check", os.fspath(path)]) == 0
    assert capsys.readouterr().out == f"{path}: ok\n"


def test_example_prints_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example", "--names"]) == 0
    assert capsys.readouterr().out.split() == list(examples())


def test_ctrl_c_while_the_command_line_is_still_imported_leaves_no_traceback() -> None:
    # Importing the library for the command line takes most of a tenth of a second.
    program = (
        "import sys, signal, importlib.abc\n"
        "class Meet(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'cyclopts': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Meet())\n"
        "from netloom.cli.main import main\n"
        "sys.exit(main(['example']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)  # noqa: S603, PLW1510
    assert done.returncode == 130
    assert done.stderr == "netloom: interrupted\n"


def _interrupted_at(module: str, *, before: str = "") -> subprocess.CompletedProcess[str]:
    """Return how the console script ends when Ctrl-C comes while *module* is looked for."""
    program = (
        f"import sys, importlib.abc, signal\n{before}"
        "class Meet(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Meet())\n"
        "sys.argv[1:] = ['example', '--names']\n"
        "from netloom.cli.start import main\n"
        "sys.exit(main())\n"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)  # noqa: S603, PLW1510


def test_ctrl_c_before_the_command_line_is_there_ends_it_in_silence() -> None:
    done = _interrupted_at("netloom.cli.main")
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    later = _interrupted_at("cyclopts")
    assert (later.returncode, later.stderr) == (130, "netloom: interrupted\n")


def test_a_program_that_is_to_ignore_ctrl_c_does() -> None:
    done = _interrupted_at(
        "netloom.cli.main", before="signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == list(examples())


def test_the_console_script_starts_with_next_to_nothing() -> None:
    # What is imported before Ctrl-C is met; the interpreter's own modules are there already.
    program = (
        "import sys\nbefore = set(sys.modules)\nimport netloom.cli.start\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)  # noqa: S603, PLW1510
    assert "typing" not in done.stdout.split()
    assert {"netloom", "netloom.cli", "netloom.cli.start"} <= set(done.stdout.split())


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["trace", "read", "prefix", "--json"], "trace read"),
        (["deploy", "--help"], "deploy"),
        (["predict", "--json", "x.yaml"], "predict"),
        (["predict", "write"], "predict"),  # a file called write
        (["--version"], ""),
        (["predicts"], ""),
    ],
)
def test_the_command_that_runs_is_known_by_its_full_name(argv: list[str], command: str) -> None:
    assert command_in(argv) == command


def test_every_command_has_the_acts_that_the_table_says() -> None:
    app = command_line.build_app()
    for command in COMMANDS:
        found = app[command.name].resolved_commands() if command.acts else {}
        names = {name for name in found if not name.startswith("-")}
        assert names == set(command.acts), command.name
        assert len(command.full_names) == max(1, len(names))


def test_a_result_says_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["netloom", "command", "schema", "result"]
    assert (found["netloom"], found["command"], found["schema"]) == (nl.__version__, "catalog", 1)


@pytest.mark.parametrize(
    ("argv", "kind", "what", "remedy"),
    [
        (["compare", "--technologies", ","], "spec", "names nothing", "separated by commas"),
        (["catalog", "QM1"], "catalog", "QM1", "catalog"),
        (["catalog", "--jso"], "usage", "Unknown option", ""),
    ],
)
def test_an_error_is_json_too_where_json_was_asked_for(
    argv: list[str], kind: str, what: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*argv, "--json"]) == Exit.USER
    got = capsys.readouterr()
    found = json.loads(got.out)
    assert list(found) == ["netloom", "command", "schema", "error"]
    assert found["command"] == argv[0]
    error = found["error"]
    assert error["kind"] == kind
    assert got.err == f"netloom: {error['message']}\n"
    (problem,) = error["problems"]
    assert {"file", "line", "column", "key"} <= problem["where"].keys()
    assert what in problem["what"]
    assert remedy in problem["remedy"]


def test_a_bug_and_an_interruption_are_json_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, kind, code in (
        (ZeroDivisionError("by 0"), "bug", Exit.BUG),
        (KeyboardInterrupt(), "interrupted", Exit.INTERRUPTED),
        (MemoryError("2 GiB"), "memory", Exit.USER),
    ):
        monkeypatch.setattr(command_line, "build_app", crash_with(error))
        assert main(["predict", "--json"]) == code
        assert json.loads(capsys.readouterr().out)["error"]["kind"] == kind


@pytest.mark.parametrize(
    ("condition", "code"),
    [("switches>47", Exit.VERDICT), ("switches>48", Exit.OK), ("switch>1", Exit.USER)],
)
def test_a_condition_that_holds_exits_with_1(
    condition: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["size", "--gpus", "1024", "--fail-if", condition, "--json"]) == code
    got = capsys.readouterr()
    if code == Exit.VERDICT:
        assert json.loads(got.out)["result"]["switches"] == 48
        assert got.err == "netloom: --fail-if switches>47: it is 48\n"


@pytest.mark.parametrize(
    ("argv", "fields"),
    [
        (["predict"], ["step_time_s", "mfu", "tokens_per_s"]),
        (["size", "--gpus", "64"], ["switches", "capex_usd"]),
        (["goodput"], ["goodput"]),
        (["headroom"], ["port_headroom_bytes", "headroom_bytes", "pool_bytes", "xoff_at_bytes"]),
        (["span"], ["step_time_s", "efficiency", "latency_s"]),
        (["infer"], ["time_to_first_token_s", "time_per_token_s", "tokens_per_s_per_gpu"]),
    ],
    ids=lambda value: value[0],
)
def test_why_explains_a_field_of_the_json_by_its_key(
    argv: list[str], fields: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    for field in fields:
        assert main([*argv, "--why", field, "--json"]) == 0
        tree = json.loads(capsys.readouterr().out)["result"]
        assert tree["value"] == pytest.approx(result[field]), field
    assert main([*argv, "--why", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["parts"]


EXPLAINED = (
    *("compare", "predict", "infer", "goodput", "size", "whatif", "expect", "headroom"),
    *("span", "tune"),
)
LOOKED_AT = (*EXPLAINED, "plan", "share", "place", "sweep", "simulate", "validate")


@pytest.mark.parametrize("name", [name for command in COMMANDS for name in command.full_names])
def test_an_option_has_one_name_in_every_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*name.split(), "--help"]) == 0
    words = set(capsys.readouterr().out.replace("\u2502", " ").split())
    assert ("--json" in words) == (name in JSON_COMMANDS)
    assert ("--why" in words) == (name in EXPLAINED)
    assert name not in LOOKED_AT or {"--report", "--fail-if"} <= words
    assert "--own" not in words
    assert "without." not in words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["headroom", "--cable", "1"], "--cable: '1' has no unit; a length is written as '30m'"),
        (["headroom", "--cable", "-1m"], "A value that begins with '-' is joined by '='"),
        (["headroom", "--cable=-1m"], "--cable: -1 m; give a length over 0"),
        (["explain", "x.yaml", "--measured", "1e300s"], "no time of a step, above zero"),
        (["convert", "x.yaml"], "x.yaml: not a file that holds a framework's training job"),
        (["predict", "x.yaml"], "cluster.nodes: 1e308 is a number; it must be a whole number\n"),
    ],
)
def test_an_impossible_value_is_named_with_its_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text("cluster: {nodes: 1e308, node: dgx-h100}\n")
    assert main(words) == Exit.USER
    assert said in capsys.readouterr().err
