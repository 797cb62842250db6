"""The protocol that SONiC's databases speak: RESP2 of Redis, as much of it as reading needs.

https://redis.io/docs/latest/develop/reference/protocol-spec/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from netloom.errors import LabError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Reply", "ReplySource", "command", "pairs_of", "read_reply", "texts_of"]

MAX_DEPTH: Final = 4
MAX_ITEMS: Final = 1_000_000
MAX_DIGITS: Final = 18

Reply: TypeAlias = "bytes | int | list[Reply] | None"


class ReplySource(Protocol):
    """Where the bytes of replies come from."""

    def line(self) -> bytes:
        r"""Return the next line without its ``\r\n``."""

    def exactly(self, num_bytes: int) -> bytes:
        r"""Return the next bytes; ``\r\n`` follows them."""


def command(*words: str) -> bytes:
    r"""Return a command as it is sent.

    >>> command("SELECT", "2")
    b'*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n'
    """
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


def read_reply(source: ReplySource, depth: int = 0) -> Reply:
    """Return the next reply.

    Raises:
        LabError: it is an error, or none of the protocol's.
    """
    line = source.line()
    kind, rest = line[:1], line[1:]
    match kind:
        case b"+":
            return rest
        case b"-":
            raise LabError(
                what=f"Redis refused: {printable(rest.decode('utf-8', 'replace'))}",
                remedy="give the credentials it wants",
            )
        case b":":
            return _number(rest)
        case b"$":
            size = _number(rest)
            return None if size < 0 else source.exactly(size)
        case b"*" if depth < MAX_DEPTH:
            size = _number(rest)
            if size > MAX_ITEMS:
                raise _odd(line)
            return None if size < 0 else [read_reply(source, depth + 1) for _ in range(size)]
        case _:
            raise _odd(line)


def _number(text: bytes) -> int:
    digits = text.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > MAX_DIGITS:
        raise _odd(text)
    return int(text)


def _odd(line: bytes) -> LabError:
    said = printable(line.decode("utf-8", "replace"), 40)
    return LabError(what=f"not Redis' protocol ({said!r})", remedy="check address and port")


def texts_of(reply: Reply) -> Iterator[str]:
    """Give the texts in a reply that is a list; what is none is passed over."""
    for one in reply if isinstance(reply, list) else ():
        if isinstance(one, bytes):
            yield one.decode("utf-8", "replace")


def pairs_of(reply: Reply) -> dict[str, str]:
    """Return what HGETALL replied: values by field; empty where there is no such key."""
    words = list(texts_of(reply))
    return dict(zip(words[::2], words[1::2], strict=False))
