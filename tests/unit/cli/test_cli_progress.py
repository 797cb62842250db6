from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from netloom.cli import progress as module
from netloom.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, *, quiet_s: float) -> Terminal:
    # Not a fixture: pytest puts its own stderr back between setting up and calling a test.
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(module, "QUIET_S", quiet_s)
    monkeypatch.setenv("TERM", "xterm")
    return stderr


def wait_for(text: str, terminal: Terminal) -> None:
    """Wait until the bar, which is drawn by a thread of its own, shows *text*."""
    give_up_s = time.perf_counter() + 20
    while text not in terminal.getvalue():
        assert time.perf_counter() < give_up_s, terminal.getvalue()
        time.sleep(0.01)


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, quiet_s=10.0)
    with progress("Working", 10) as advance:
        advance()
        advance(9)
    assert terminal.getvalue() == ""


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, quiet_s=0.0)
    with progress("Working", 10) as advance:
        advance(3)
        wait_for("Working", terminal)
    assert "3/10" in terminal.getvalue()


def test_work_of_unknown_length_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, quiet_s=0.0)
    with progress("Working", None) as advance:
        advance()
        wait_for("Working", terminal)
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_a_file_or_pipe_gets_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.0)
    with progress("Working", 10) as advance:
        advance(5)
    assert capsys.readouterr().err == ""


def test_an_error_inside_goes_through_and_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, quiet_s=0.0)
    with pytest.raises(KeyboardInterrupt), progress("Working", 10):
        raise KeyboardInterrupt
    drawn = terminal.getvalue()
    time.sleep(0.2)
    assert terminal.getvalue() == drawn
