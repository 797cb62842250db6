from __future__ import annotations

from pathlib import Path

import pytest

from netloom.drivers.netns import End, cable_commands, check_root, shape_argv
from netloom.errors import LabError
from netloom.formats.linux.netfilter import DropRule, parse_interfaces, render_filter

RECORDED = Path(__file__).parents[2] / "data" / "lab" / "ip_link.json"


def test_a_cable_is_made_with_both_ends_in_place() -> None:
    (command,) = cable_commands(
        End(namespace="nl_a", interface="swp1"), End(namespace="nl_b", interface="eth0")
    )
    assert " ".join(command) == (
        "link add name swp1 netns nl_a mtu 9000 type veth peer name eth0 netns nl_b mtu 9000"
    )


def test_a_shaper_takes_whole_bits() -> None:
    assert "33333333bit" in shape_argv("swp1", 1e8 / 3)


def test_a_filter_drops_shares_and_sizes_at_their_interfaces() -> None:
    losses = [
        DropRule(interface="swp1"),
        DropRule(interface="swp2", share=0.25),
        DropRule(interface="swp2", larger_than_bytes=1000),
    ]
    text = render_filter(losses)
    assert text.startswith("table netdev netloom\ndelete table netdev netloom\n")
    assert 'hook ingress device "swp1" priority 0; policy accept;\n    counter drop\n' in text
    assert "    numgen random mod 1000000 < 250000 counter drop\n" in text
    assert "    meta length > 1000 counter drop\n" in text
    assert text.count("chain in_swp2") == 1


def test_no_loss_leaves_no_table() -> None:
    assert render_filter([]) == "table netdev netloom\ndelete table netdev netloom\n"


def test_interfaces_have_state_and_counters_and_the_loopback_is_left_out() -> None:
    found = parse_interfaces(RECORDED.read_text(encoding="utf-8"))
    assert [one.name for one in found] == [f"swp{port}" for port in range(1, 7)]
    assert all(one.is_up for one in found)
    assert all(one.sent_bytes > 0 for one in found)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "[{}]", '[{"ifname": "a", "stats64": {"rx": 1}}]']
)
def test_what_ip_never_prints_is_refused(text: str) -> None:
    with pytest.raises(LabError, match="not understood"):
        parse_interfaces(text)


def test_without_root_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LabError, match="needs root"):
        check_root()
