"""Options of earlier versions, and what they are called now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cyclopts import UnknownOptionError

if TYPE_CHECKING:
    from cyclopts import CycloptsError

__all__ = ["successor"]

# By command where the same word meant several things; empty for all others.
RENAMED: Final = {
    ("", "--own"): "--catalog",
    ("watch", "--most"): "--max-size",
}


def successor(error: CycloptsError) -> str:
    """Return which option took the place of the one that *error* does not know; else nothing."""
    if not isinstance(error, UnknownOptionError):
        return ""
    option = (error.token.keyword or error.token.value).partition("=")[0]
    command = (error.command_chain or ("",))[0]
    now = RENAMED.get((command, option)) or RENAMED.get(("", option))
    return f"{option} is now {now}" if now else ""
