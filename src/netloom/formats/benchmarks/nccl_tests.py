"""nccl-tests and rccl-tests: the table they print, and the JSON and CSV they write.

JSON is what nccl-tests writes with ``-J`` and rccl-tests with ``-Z json -x FILE``, CSV what
rccl-tests writes with ``-Z csv -x FILE``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.formats.benchmarks.nccl_files import read_csv, read_json
from netloom.formats.benchmarks.nccl_table import read_table
from netloom.formats.log_lines import BadLines, BadLineTally, peek, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.formats.benchmarks.nccl_run import CollectiveTest
    from netloom.formats.benchmarks.results import CollectiveTiming
    from netloom.formats.log_lines import LogSource

__all__ = ["NcclTestsLog", "parse"]

MAX_JSON_CHARS: Final = 256_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTestsLog:
    """The tests of one log.

    Attributes:
        tests: In order.
        bad: Lines that cannot be used.
    """

    tests: tuple[CollectiveTest, ...]
    bad: BadLines

    @property
    def timings(self) -> Iterator[CollectiveTiming]:
        """The measurements of all tests."""
        return chain.from_iterable(test.timings for test in self.tests)


def parse(source: LogSource) -> NcclTestsLog:
    """Return the tests in *source*, whichever of the forms it has.

    Raises:
        LabError: it has none of them.
    """
    head, source = peek(source)
    bad = BadLineTally()
    if _begins_json(head):
        tests = read_json(text_of(source, max_chars=MAX_JSON_CHARS), bad)
    elif head.lstrip("\ufeff").lower().startswith("numcycle,"):
        tests = read_csv(source, bad)
    else:
        tests = read_table(source, bad)
    if not tests:
        message = (
            f"this is no output of nccl-tests or rccl-tests ({head[:80]!r}); give what it printed,"
            " or wrote with -J or -Z"
        )
        raise LabError(message)
    return NcclTestsLog(tests=tuple(tests), bad=bad.freeze())


def _begins_json(head: str) -> bool:
    """Return whether it is JSON; ``[1,0]<stdout>:`` and ``[0] `` begin lines of a launcher."""
    begin = head.lstrip("\ufeff \t")
    if not begin.startswith("["):
        return begin.startswith("{")
    return begin.rstrip() == "[" or begin[1:].lstrip()[:1] == "{"
