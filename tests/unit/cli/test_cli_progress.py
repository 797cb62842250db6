from __future__ import annotations

import io
import sys
import threading

import pytest

from netloom.cli import progress as module
from netloom.cli.progress import progress


class Terminal(io.StringIO):
    """A terminal that tells who waits of everything that is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Condition()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self.written:
            self.written.notify_all()
            return super().write(text)

    def wait_for(self, text: str) -> None:
        """Wait until the bar, which is drawn by a thread of its own, shows *text*."""
        with self.written:
            self.written.wait_for(lambda: text in self.getvalue())


def on_terminal(monkeypatch: pytest.MonkeyPatch, *, quiet_s: float) -> Terminal:
    # Not a fixture: pytest puts its own stderr back between setting up and calling a test.
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(module, "QUIET_S", quiet_s)
    monkeypatch.setenv("TERM", "xterm")
    return stderr


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, quiet_s=3600.0)
    with progress("Working", 10) as advance:
        advance()
        advance(9)
    assert terminal.getvalue() == ""


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, quiet_s=0.0)
    with progress("Working", 10) as advance:
        advance(3)
        terminal.wait_for("Working")
    assert "3/10" in terminal.getvalue()


def test_work_of_unknown_length_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, quiet_s=0.0)
    with progress("Working", None) as advance:
        advance()
        terminal.wait_for("Working")
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
    before = set(threading.enumerate())

    def interrupted() -> None:
        with progress("Working", 10):
            terminal.wait_for("Working")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    drawn = terminal.getvalue()
    for thread in set(threading.enumerate()) - before:
        thread.join()  # what draws the bar ends, and draws nothing more
    assert terminal.getvalue() == drawn
