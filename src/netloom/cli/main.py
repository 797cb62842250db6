"""The command line: parse, call the library, print; no logic of its own.

Commands are named by import path, so that ``netloom --help`` imports none of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING, Final

from netloom.cli.exits import Exit
from netloom.cli.running import run_as
from netloom.commands import COMMANDS, command_in
from netloom.errors import NetloomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App, CycloptsError

__all__ = ["main"]

_DISK_TROUBLES: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def build_app() -> App:
    """Return the command line with every command registered, none of them imported."""
    from cyclopts import App, Parameter  # noqa: PLC0415  (slow: Ctrl-C meanwhile is ours to meet)

    app = App(
        name="netloom",
        help="The workbench for the networks that train large AI models.",
        version=_version,
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=()),  # --json needs no --no-json
    )
    for command in COMMANDS:
        app.command(command.run, name=command.name, help=command.help)
    app.command(
        "netloom.cli.about.completion:install_completion",
        name="--install-completion",
        help="Let the shell complete commands and options.",
    )
    return app


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415  (slow, and only --version needs it)

    return version("netloom")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, one of :class:`netloom.cli.exits.Exit`.

    With ``--json`` an error is also printed as JSON, to standard output.

    Args:
        argv: The arguments after the program's name; those of the process when left out.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    command = command_in(words)
    try:
        with run_as(command):
            result = build_app()(words)
        print(end="", flush=True)  # while a failure can still be reported
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        return Exit.PIPE  # rich has met it first
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (no user sees a traceback)
        code, message = _verdict(error)
        if "--json" in words and message:
            _fail_in_json(command, error, message)
        return _fail(message, code)
    return result if isinstance(result, int) else Exit.OK


def _fail_in_json(command: str, error: BaseException, message: str) -> None:
    from netloom.cli.output import print_json  # noqa: PLC0415  (slow)
    from netloom.results.envelope import error_envelope  # noqa: PLC0415

    with contextlib.suppress(OSError, ValueError):  # standard error still says it
        print_json(error_envelope(command, error, message=message))
        print(end="", flush=True)


def _verdict(error: Exception | KeyboardInterrupt) -> tuple[int, str]:
    """Return the exit code for *error*, and what to say about it."""
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED, "interrupted"
    from cyclopts import CycloptsError  # noqa: PLC0415  (slow)

    match error:
        case CycloptsError():
            return Exit.USER, _usage(error)
        case NetloomError() | MemoryError():
            return Exit.USER, _memory(error) if isinstance(error, MemoryError) else str(error)
        case BrokenPipeError():
            _abandon_output()
            return Exit.PIPE, ""
        case OSError(errno=number) if number in _DISK_TROUBLES:
            _abandon_output()
            return Exit.USER, f"cannot write the output ({error.strerror}); free some space"
        case _:
            return Exit.BUG, _bug(error)


def _usage(error: CycloptsError) -> str:
    """Return what is wrong with the command line, and where to read on."""
    from netloom.cli.renamed import successor  # noqa: PLC0415  (cyclopts is slow)

    error.verbose = False
    said = str(error)
    renamed = successor(error)
    if renamed:
        return renamed
    if "--why requires an argument" in said:
        said = "--why requires an argument: a field of the JSON, or all."
    if "requires an argument" in said and _names_negative(error.root_input_tokens or ()):
        said += " A value that begins with '-' is joined by '=', as in --length=-1m."
    command = " ".join(("netloom", *(error.command_chain or ())))
    return f"{said} Try '{command} --help'."


def _names_negative(words: Sequence[str]) -> bool:
    return any(word[:1] == "-" and word[1:2].isdigit() for word in words)


def _abandon_output() -> None:
    """Point standard output at nothing, so that Python's own last flush stays quiet."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def _fail(message: str, code: int) -> int:
    with contextlib.suppress(OSError):  # the reader is gone
        if message:
            print(f"netloom: {message}", file=sys.stderr)
    return code


def _memory(error: MemoryError) -> str:
    what = f"out of memory ({error})" if str(error) else "out of memory"
    return f"{what}; ask for fewer endpoints or transfers, or use more memory"


def _bug(error: BaseException) -> str:
    if os.environ.get("NETLOOM_DEBUG") == "1":
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "please report it with the output of the same command under NETLOOM_DEBUG=1"
    return f"this is a bug in netloom ({what}); {hint}"


if __name__ == "__main__":
    sys.exit(main())
