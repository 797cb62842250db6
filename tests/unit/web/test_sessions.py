"""Sessions that outlive the server, and pages that others may frame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from netloom.errors import SpecError
from netloom.web.settings import ServeSettings
from netloom.web.visitors import SESSION_S, Key, Sessions

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "a-token-of-more-than-22-characters"  # noqa: S105
KEY = Key.of(TOKEN, name="ada", role="operator")


def test_a_session_goes_on_after_the_server_was_killed(tmp_path: Path) -> None:
    file = tmp_path / "sessions.json"
    first = Sessions(now=lambda: 1000.0, file=file)
    cookie = first.log_in(first.issue_once(name="operator", role="operator"))
    assert cookie is not None
    again = Sessions(now=lambda: 2000.0, file=file)  # nothing was closed before
    found = again.by_cookie(cookie)
    assert found is not None
    assert (found.name, found.role, found.by_cookie) == ("operator", "operator", True)


def test_the_file_of_sessions_opens_nothing_to_who_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "sessions.json"
    sessions = Sessions(keys=(KEY,), now=lambda: 1000.0, file=file)
    cookie = sessions.log_in(TOKEN)
    assert cookie is not None
    assert cookie not in file.read_text(encoding="utf-8")
    assert TOKEN not in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o077 == 0


def test_a_session_ends_with_its_time_its_key_or_by_logging_out(tmp_path: Path) -> None:
    file = tmp_path / "sessions.json"
    sessions = Sessions(keys=(KEY,), now=lambda: 1000.0, file=file)
    cookie = sessions.log_in(TOKEN)
    assert cookie is not None
    assert Sessions(keys=(KEY,), now=lambda: 1001.0, file=file).by_cookie(cookie) is not None
    late = Sessions(keys=(KEY,), now=lambda: 1001.0 + SESSION_S, file=file)
    assert late.by_cookie(cookie) is None
    without = Sessions(keys=(), now=lambda: 1001.0, file=file)  # taken out of the token file
    assert without.by_cookie(cookie) is None
    sessions.log_out(cookie)
    assert Sessions(keys=(KEY,), now=lambda: 1001.0, file=file).by_cookie(cookie) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"cookie": "zz"}]', '{"a": 1}', "[[]]"])
def test_a_broken_file_of_sessions_lets_nobody_in_and_stops_nothing(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "sessions.json"
    file.write_text(text, encoding="utf-8")
    sessions = Sessions(keys=(KEY,), now=lambda: 1000.0, file=file)
    assert sessions.by_cookie("anything") is None
    assert sessions.log_in(TOKEN) is not None
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 1


def test_pages_are_framed_by_no_one_unless_an_origin_is_named() -> None:
    def policy(*origins: str) -> str:
        return dict(ServeSettings(embed=origins).rules(8787).headers)[
            b"content-security-policy"
        ].decode()

    assert policy().endswith("frame-ancestors 'none'")
    assert policy("http://localhost:8888").endswith("frame-ancestors http://localhost:8888")
    for wrong in (
        "*",
        "localhost",
        "http://a b",
        "http://x;script-src *",
        "javascript:x",
        "http://*",
    ):
        with pytest.raises(SpecError):
            ServeSettings(embed=(wrong,))
