"""The command line: parse, call the library, print; no logic of its own.

Commands are named by import path, so that ``netloom --help`` imports none of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App

__all__ = ["main"]

EXIT_OK: Final = 0
EXIT_USER: Final = 2
EXIT_BUG: Final = 70  # EX_SOFTWARE of sysexits.h
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells report it
EXIT_PIPE: Final = 141  # 128 + SIGPIPE

_DISK_TROUBLES: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

# Name, function, and the line that --help shows.
COMMANDS: Final = (
    (
        "compare",
        "netloom.cli.design.compare:compare",
        "Compare network technologies and recommend one.",
    ),
    (
        "predict",
        "netloom.cli.design.predict:predict",
        "Predict one training step, and where time goes.",
    ),
    (
        "plan",
        "netloom.cli.design.plan:plan",
        "Find the best parallelism, and the best cluster for it.",
    ),
    ("infer", "netloom.cli.design.infer:infer", "Predict how fast a cluster serves a model."),
    ("goodput", "netloom.cli.design.goodput:goodput", "Say how much of the time a job progresses."),
    ("locate", "netloom.cli.operate.locate:locate", "Say which part of a fabric is broken."),
    (
        "whatif",
        "netloom.cli.design.whatif:whatif",
        "Say what a failed or slow part does to a step.",
    ),
    (
        "share",
        "netloom.cli.design.share:share",
        "Say how much jobs on one fabric slow one another.",
    ),
    ("place", "netloom.cli.design.place:place", "Find the free nodes on which a job runs fastest."),
    (
        "heal",
        "netloom.cli.operate.heal:heal",
        "Mend what is broken in a lab, as far as policy allows.",
    ),
    ("size", "netloom.cli.design.size:size", "Size a network: switches, cables, cost and power."),
    (
        "sweep",
        "netloom.cli.design.sweep:sweep",
        "Put one question to many scenarios, and keep answers.",
    ),
    (
        "catalog",
        "netloom.cli.about.catalog:catalog",
        "Show known parts, every number with its source.",
    ),
    (
        "validate",
        "netloom.cli.about.validate:validate",
        "Score the model on published measurements.",
    ),
    ("calibrate", "netloom.cli.about.calibrate:calibrate", "Measure the operators of this GPU."),
    (
        "trace",
        "netloom.cli.design.trace:trace",
        "Write a step as Chakra traces, or read such traces.",
    ),
    (
        "deploy",
        "netloom.cli.operate.deploy:deploy",
        "Write a network's configuration, check and apply it.",
    ),
    ("lab", "netloom.cli.operate.lab:lab", "Run a scenario's network live here, and break it."),
    ("watch", "netloom.cli.operate.watch:watch", "Watch a network and keep what is seen."),
    ("audit", "netloom.cli.operate.audit:audit", "Name the cables that are not as designed."),
    ("check", "netloom.cli.about.check:check", "Read a scenario and say what is wrong with it."),
    ("example", "netloom.cli.about.example:example", "Print a scenario to start from."),
    (
        "simulate",
        "netloom.cli.design.simulate:simulate",
        "Simulate traffic, packet by packet or as flows.",
    ),
    ("schema", "netloom.cli.about.schema:schema", "Print the JSON schema of scenario files."),
)


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
    for name, path, summary in COMMANDS:
        app.command(path, name=name, help=summary)
    return app


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415  (slow, and only --version needs it)

    return version("netloom")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 means done, 2 that the user can fix it (the message says how), 130 interrupted, 141 that the
    reader of the output went away, 70 a bug in netloom; any other number is the command's own
    verdict, which it returns.

    Args:
        argv: The arguments after the program's name; those of the process when left out.
    """
    try:
        result = build_app()(list(sys.argv[1:] if argv is None else argv))
        print(end="", flush=True)  # while a failure can still be reported
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        return EXIT_PIPE  # rich has met it first
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (no user sees a traceback)
        code, message = _verdict(error)
        return _fail(message, code)
    return result if isinstance(result, int) else EXIT_OK


def _verdict(error: Exception | KeyboardInterrupt) -> tuple[int, str]:
    """Return the exit code for *error*, and what to say about it."""
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED, "interrupted"
    from cyclopts import CycloptsError  # noqa: PLC0415  (slow)

    from netloom.cli.renamed import successor  # noqa: PLC0415  (likewise)

    match error:
        case CycloptsError():
            error.verbose = False
            command = " ".join(("netloom", *(error.command_chain or ())))
            return EXIT_USER, successor(error) or f"{error} Try '{command} --help'."
        case NetloomError() | MemoryError():
            return EXIT_USER, _memory(error) if isinstance(error, MemoryError) else str(error)
        case BrokenPipeError():
            _abandon_output()
            return EXIT_PIPE, ""
        case OSError(errno=number) if number in _DISK_TROUBLES:
            _abandon_output()
            return EXIT_USER, f"cannot write the output ({error.strerror}); free some space"
        case _:
            return EXIT_BUG, _bug(error)


def _abandon_output() -> None:
    """Point standard output at nothing, so that Python's own last flush stays quiet."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def _fail(message: str, code: int) -> int:
    with contextlib.suppress(OSError):  # nobody is left to be told
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
