from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from netloom.app.lab.labs import check_programs
from netloom.drivers import programs
from netloom.drivers.programs import Running, marked, run, start, start_ticks, stop
from netloom.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "FOLDERS", ())


@pytest.mark.usefixtures("nothing_installed")
def test_missing_programs_are_named_by_their_packages() -> None:
    with pytest.raises(LabError, match="apt-get install ibsim-utils opensm infiniband-diags"):
        check_programs("infiniband")
    with pytest.raises(LabError, match="apt-get install iproute2 nftables util-linux frr"):
        check_programs("roce")
    with pytest.raises(LabError, match="sminfo is not installed; apt-get install infiniband-diags"):
        run(["sminfo"])


def test_a_program_that_fails_is_an_error_with_its_last_words() -> None:
    with pytest.raises(LabError, match="exit status 3, it said: no luck"):
        run([sys.executable, "-c", "import sys; print('no luck'); sys.exit(3)"])
    lenient = run([sys.executable, "-c", "import sys; print('some'); sys.exit(3)"], lenient=True)
    assert lenient == "some\n"
    with pytest.raises(LabError, match="no end after"):
        run([sys.executable, "-c", "import time; time.sleep(9)"], timeout_s=0.2)


def test_output_that_is_no_text_is_replaced_and_nothing_of_a_shell_is_understood() -> None:
    out = run([sys.executable, "-c", "import sys; sys.stdout.buffer.write(b'a\\xff;$(id)')"])
    assert out == "a\ufffd;$(id)"


def test_only_the_environment_that_programs_need_is_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert "SECRET_TOKEN" not in run([sys.executable, "-c", "import os; print(dict(os.environ))"])


def test_a_started_program_is_found_by_its_mark_and_ended(tmp_path: Path) -> None:
    mark = f"test-{os.getpid()}"
    running = start(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        env={"NETLOOM_LAB": mark},
        cwd=tmp_path,
        output=tmp_path / "out",
    )
    assert running.is_alive
    assert programs.wait_for(lambda: marked("NETLOOM_LAB", mark) or None, timeout_s=300) == (
        running,
    )
    assert marked("NETLOOM_LAB", mark + "0") == ()
    stop([running])
    assert start_ticks(running.pid) is None
    assert marked("NETLOOM_LAB", mark) == ()


def test_another_process_that_got_the_same_id_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        ticks = start_ticks(other.pid)
        assert ticks is not None
        stop([Running(pid=other.pid, started=ticks - 1)], patience_s=0.1)
        assert other.poll() is None
        other.send_signal(signal.SIGKILL)


def test_a_process_that_ends_is_not_alive_even_while_nobody_waited_for_it() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        assert programs.wait_for(lambda: start_ticks(child.pid) is None or None, timeout_s=300)
