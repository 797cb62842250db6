"""Where the program begins: until it can say that it was interrupted, Ctrl-C ends it in silence.

Importing what :mod:`netloom.cli.main` needs takes some 20 ms, in which Python itself would print a
traceback. This module imports next to nothing.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal imports enum, a third of those 20 ms
import gc
import os

__all__ = ["main"]

# Objects made between two looks for cycles. With Python's own 700 they take a tenth of the time to
# start, in vain: what is imported stays. A start makes 106,000 to 115,000, and one look at these
# takes a twentieth.
_OBJECTS = 200_000

_OURS = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler  # a parent may ignore it
if _OURS:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> int:
    """Run the command line and return its exit code."""
    gc.set_threshold(_OBJECTS)
    # pydantic would read the entry points of every installed package, in search of plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from netloom.cli import main as command_line  # noqa: PLC0415  (slow)

    if _OURS:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    code: int = command_line.main()
    return code
