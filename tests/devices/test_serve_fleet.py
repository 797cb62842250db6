"""Real devices healed by the page's requests: SONiC switches over a real sshd."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from browser_under_test import serving
from labs_under_test import wait_until
from sonic_under_test import STATE_DB, port_label
from test_actuators_sonic import fleet_in

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.lab

TOKEN = "operator-token-0123456789abcdef"  # noqa: S105


@dataclass(frozen=True)
class Asked:
    """A server, asked as an operator's program does."""

    address: str

    def __call__(self, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(  # noqa: S310  (127.0.0.1)
            f"{self.address}/api/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request) as reply:  # noqa: S310
                return reply.status, json.load(reply)["result"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def ended(self, job: str) -> dict[str, Any]:
        """Return a job once it has ended."""
        assert wait_until(lambda: self(f"/jobs/{job}")[1]["ended_s"] is not None)
        return self(f"/jobs/{job}")[1]


def test_a_slow_cable_of_real_devices_is_drained_by_a_click_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"operator ada {TOKEN}\n", encoding="utf-8")
    tokens.chmod(0o600)
    with fleet_in(tmp_path, monkeypatch) as fleet:
        cable = fleet.uplink()
        upper = fleet.plant.devices[cable.upper.device].name
        row = f"PORT_TABLE|{port_label(cable.upper.number)}"
        fleet.switches[upper].tables.put(STATE_DB, row, speed="100000")
        fleet.switches[upper].load()
        options = {
            "--scenario": fleet.scenario,
            "--inventory": fleet.path,
            "--dir": tmp_path / "state",
            "--policy": tmp_path / "policy.yaml",
            "--store": tmp_path / "watch.db",
            "--token-file": tokens,
            "--every": "2s",
        }
        given = [str(word) for pair in options.items() for word in pair]
        with serving(tmp_path / "data", "--watch", *given) as server:
            ask = Asked(server.address)

            def slow() -> list[dict[str, Any]]:
                found = ask("/live/cases")[1].get("cases", [])
                return [one for one in found if one["kind"] == "wrong speed"]

            assert wait_until(lambda: bool(slow()))
            name = slow()[0]["case"]
            assert wait_until(lambda: bool(ask(f"/cases/{name}/plan")[1]["plans"]))
            (plan,) = ask(f"/cases/{name}/plan")[1]["plans"]
            # Both ends, each: checkpoint, timer, patch, stop the timer, delete the checkpoint.
            assert len(plan["requests"]) == 2 * 5
            assert plan["acts"] == [f"drain cable:{cable.number}", f"ticket cable:{cable.number}"]
            status, job = ask(f"/cases/{name}/apply", {"fingerprint": plan["fingerprint"]})
            assert status == 202, job
            ended = ask.ended(job["job"])
            assert ended["state"] == "done", ended["message"]
            assert set(fleet.admin(cable).values()) == {"down"}
            acts = ask(f"/cases/{name}")[1]["acts"]
            assert [(one["phase"], one["by"]) for one in acts] == [("verified", "ada")] * 2
            (drain,) = [one["number"] for one in acts if one["undoable"]]
            status, job = ask(f"/acts/{drain}/undo", {})
            assert status == 202, job
            assert ask.ended(job["job"])["state"] == "done"
            assert set(fleet.admin(cable).values()) == {"up"}
