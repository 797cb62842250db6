"""EOS by eAPI, NVUE and UFM over a real socket, with a configuration that can be changed.

Not recorded from a device: commands, paths and keys are those of the vendors' guides. A request can
kill the client before or behind it, and a commit that was not confirmed in time is taken back.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Killer:
    """Kills the client at one of its requests."""

    when: str = ""
    at: int = 0
    pid: int = 0
    count: int = 0

    def arm(self, when: str, at: int) -> None:
        self.when, self.at, self.count, self.pid = when, at, 0, 0

    def strike(self, when: str) -> bool:
        while self.at and not self.pid:  # the client is about to be known
            time.sleep(0.001)
        if when == self.when and self.count == self.at:
            os.kill(self.pid, signal.SIGKILL)
            return True
        return False


@dataclass
class WebSwitch:
    """A switch: settings by label, and what is on trial."""

    settings: dict[str, str]
    killer: Killer = field(default_factory=Killer)
    sessions: dict[str, str] = field(default_factory=dict)
    before: dict[str, dict[str, str]] = field(default_factory=dict)
    revisions: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    refuses: str = ""

    def run_out(self) -> None:
        """Let every commit that waits to be confirmed go back."""
        for name, state in self.sessions.items():
            if state in ("pendingCommitTimer", "confirm"):
                self.settings = self.before[name]
                self.sessions[name] = "completed"

    # EOS

    def run(self, commands: list[str]) -> dict[str, Any]:  # noqa: C901, PLR0912  (a grammar)
        rows: list[dict[str, Any]] = []
        context = ""
        session, candidate = "", dict(self.settings)
        for command in commands:
            if command == self.refuses:
                return {"error": {"code": 1002, "message": f"CLI command {command!r} failed"}}
            rows.append({})
            if match := re.fullmatch(r"show interfaces (\S+)", command):
                label = match[1]
                if label in self.settings:
                    rows[-1] = {"interfaces": {label: {"interfaceStatus": self.settings[label]}}}
            elif command == "show configuration sessions":
                states = {name: {"state": state} for name, state in self.sessions.items()}
                rows[-1] = {"sessions": states}
            elif command == "show maintenance":
                rows[-1] = {"units": {"System": {"state": self.settings["maintenance"]}}}
            elif match := re.fullmatch(r"configure session (\S+) (commit|abort)", command):
                self._end(match[1], keeps=match[2] == "commit")
            elif match := re.fullmatch(r"configure session (\S+)", command):
                session = match[1]
                self.sessions[session] = "pending"
            elif match := re.fullmatch(r"interface (\S+)|unit (System)", command):
                context = match[1] or "maintenance"
            elif command in ("shutdown", "no shutdown"):
                candidate[context] = "disabled" if command == "shutdown" else "connected"
            elif command in ("quiesce", "no quiesce"):
                candidate[context] = "underMaintenance" if command == "quiesce" else "active"
            elif re.fullmatch(r"commit timer \d\d:\d\d:\d\d", command):
                self.before[session], self.settings = dict(self.settings), candidate
                self.sessions[session] = "pendingCommitTimer"
            elif command not in ("enable", "maintenance"):
                return {"error": {"code": 1002, "message": f"CLI command {command!r} failed"}}
        return {"result": rows}

    def _end(self, name: str, *, keeps: bool) -> None:
        if not keeps and self.sessions[name] == "pendingCommitTimer":
            self.settings = self.before[name]
        self.sessions[name] = "completed" if keeps else "aborted"

    # NVUE

    def patch(self, path: str, rev: str, told: dict[str, Any]) -> tuple[int, Any]:
        if path.startswith("/nvue_v1/interface/"):
            label = path.rpartition("/")[2]
            if label not in self.settings or rev not in self.revisions:
                return 404, {}
            self.revisions[rev][label] = next(iter(told["link"]["state"]))
            return 200, told
        name = path.removeprefix("/nvue_v1/revision/")
        if told["state"] == "apply":
            if self.refuses:
                self.sessions[name] = self.refuses
                return 200, {"state": "apply"}
            self.before[name] = dict(self.settings)
            self.settings = {**self.settings, **self.revisions[name]}
            self.sessions[name] = "confirm" if "state-controls" in told else "applied"
        elif told["state"] == "confirm_yes":
            self.sessions[name] = "applied"
        elif told["state"] == "confirm_no":
            self.settings, self.sessions[name] = self.before[name], "confirm_fail"
        return 200, {"state": self.sessions[name]}

    def get(self, path: str, rev: str) -> tuple[int, Any]:
        if path == "/nvue_v1/revision":
            return 200, {n: {"state": self.sessions.get(n, "pending")} for n in self.revisions}
        if path.startswith("/nvue_v1/revision/"):
            name = path.removeprefix("/nvue_v1/revision/")
            return 200, {"state": self.sessions.get(name, "pending")}
        label = path.rpartition("/")[2]
        if rev != "applied" or label not in self.settings:
            return 404, {}
        return 200, {"link": {"state": {self.settings[label]: {}}}}

    # UFM

    def marked(self) -> list[dict[str, Any]]:
        rows = [k.partition("_") for k, state in self.settings.items() if state == "UNHEALTHY"]
        return [{"UnhealthyGUID": g, "UnhealthyPortNumber": int(p)} for g, _, p in rows]


def handler(switch: WebSwitch) -> type[BaseHTTPRequestHandler]:  # noqa: C901  (three devices)
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            switch.killer.count += 1
            if switch.killer.strike("before"):
                return
            length = int(self.headers.get("Content-Length") or 0)
            told = json.loads(self.rfile.read(length) or b"{}")
            url = urlsplit(self.path)
            path, rev = unquote(url.path), parse_qs(url.query).get("rev", [""])[0]
            switch.requests.append(f"{self.command} {path}")
            status, body = self.respond(path, rev, told)
            if switch.killer.strike("after"):
                return
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def respond(self, path: str, rev: str, told: dict[str, Any]) -> tuple[int, Any]:
            if path == "/command-api":
                return 200, switch.run(told["params"]["cmds"])
            if path == "/ufmRest/app/unhealthy_ports":
                if self.command == "PUT":
                    switch.settings |= dict.fromkeys(told["ports"], told["ports_policy"])
                return 200, switch.marked()
            if self.command == "POST" and path == "/nvue_v1/revision":
                name = f"changeset/cumulus/2026-11-16_{len(switch.revisions)}"
                switch.revisions[name] = {}
                return 200, {name: {"state": "pending", "transition": {}}}
            if self.command == "PATCH":
                return switch.patch(path, rev, told)
            return switch.get(path, rev)

        do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815  (http.server's names)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def web_switch(settings: dict[str, str]) -> Iterator[tuple[WebSwitch, str]]:
    """Serve a switch; give it and its address."""
    switch = WebSwitch(settings=deepcopy(settings))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(switch))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield switch, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
