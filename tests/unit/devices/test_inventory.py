"""An inventory file is read whole or refused; secrets stay where they are."""

from __future__ import annotations

import pickle
import traceback
from typing import TYPE_CHECKING

import pytest

from netloom.drivers.devices.credentials import read_secret
from netloom.errors import SpecError
from netloom.ops.observe.devices import DeviceAccess, Secret
from netloom.spec.inventory.file import Credentials, parse_inventory

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
defaults:
  deadline: 2s
  rest: 1s
  most_rest: 1min
  credentials: {user: reader, env: SWITCH_PASSWORD}
devices:
  - {name: leaf01, kind: sonic, address: "10.0.0.11:6379", part: "leaf:0"}
  - name: node01
    kind: prometheus
    address: http://10.0.1.1:9100/metrics
    ports: {eth2: nic:0, mlx5_0: 4}
    deadline: 10s
    credentials: {file: node.secret}
"""


def test_a_file_with_defaults_is_read() -> None:
    found = parse_inventory(TEXT, name="fleet.yaml")
    leaf, node = found.devices
    assert (leaf.deadline_s, found.defaults.deadline_s, node.deadline_s) == (None, 2.0, 10.0)
    assert found.defaults.most_rest_s == 60.0
    assert not leaf.write
    assert node.ports == {"eth2": "nic:0", "mlx5_0": 4}
    assert node.credentials == Credentials(file="node.secret")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("kind: sonic", "knd: sonic"), "fleet.yaml:8"),
        (("deadline: 2s", "deadline: 2"), "deadline"),
        (("env: SWITCH_PASSWORD", "password: hunter2"), "password"),
        (("file: node.secret", "file: a, env: B"), "one place"),
        (("leaf01", '"leaf\\x1b[2J"'), "name"),
        (("devices:", "device:"), "devices"),
        (("name: node01\n    kind: prometheus", "name: leaf01\n    kind: sonic"), "twice"),
        (("deadline: 2s", "deadline: 2h"), "deadline"),
    ],
)
def test_what_is_wrong_is_said(change: tuple[str, str], said: str) -> None:
    assert change[0] in TEXT
    with pytest.raises(SpecError) as caught:
        parse_inventory(TEXT.replace(*change, 1), name="fleet.yaml")
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value).replace("password: hunter2", "")


def test_a_secret_is_taken_from_the_environment(tmp_path: Path) -> None:
    found = read_secret(Credentials(env="PW"), folder=tmp_path, environ={"PW": "s3cret"})
    assert found is not None
    assert found.reveal() == "s3cret"
    with pytest.raises(SpecError, match="'PW' is empty or not set"):
        read_secret(Credentials(env="PW"), folder=tmp_path, environ={})
    assert read_secret(Credentials(), folder=tmp_path, environ={}) is None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o660])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "leaf.secret"
    path.write_text("s3cret\n")
    path.chmod(mode)
    with pytest.raises(SpecError, match=f"mode {mode:04o}.*chmod 600") as caught:
        read_secret(Credentials(file="leaf.secret"), folder=tmp_path, environ={})
    assert "s3cret" not in str(caught.value)
    path.chmod(0o600)
    found = read_secret(Credentials(file="leaf.secret"), folder=tmp_path, environ={})
    assert found is not None
    assert found.reveal() == "s3cret"


def test_a_secret_behind_a_link_or_in_a_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "real"
    path.write_text("s3cret")
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "empty").touch(mode=0o600)
    for name in ("link", "none", "empty", "."):
        with pytest.raises(SpecError) as caught:
            read_secret(Credentials(file=name), folder=tmp_path, environ={})
        text = "".join(traceback.format_exception(caught.value))
        assert "s3cret" not in text.replace(str(tmp_path), "")


def test_a_secret_shows_itself_nowhere() -> None:
    access = DeviceAccess(name="leaf01", address="a", user="reader", secret=Secret("s3cret"))
    assert "s3cret" not in f"{access} {access!r} {access.secret} {[access.secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(access.secret)
