"""What devices answer to changes is hostile input: a known state, or an error; nothing else."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from netloom.drivers.writers.host import is_up
from netloom.drivers.writers.infiniband import is_enabled, unhealthy
from netloom.errors import LabError
from netloom.formats.eos import session
from netloom.formats.frr import changes as frr
from netloom.formats.nvue import revision
from netloom.formats.slurm.nodes import check_name, parse_nodes
from netloom.formats.sonic import patch
from netloom.ops.heal.devices import SettingChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["interfaces", "units", "System", "sessions", "state", "link", "Ethernet1"]
            )
            | st.text(max_size=8),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
CHANGES = st.builds(
    SettingChange,
    kind=st.sampled_from(["port", "session", "switch", "node"]),
    label=st.sampled_from(["Ethernet1", "swp1", "7", "", "eth0"]) | st.text(max_size=20),
    in_use=st.booleans(),
)
LINES = st.sampled_from(
    [
        "router bgp 65001",
        " neighbor swp1 shutdown",
        " neighbor swp1 interface remote-as external",
        " bgp graceful-shutdown",
        "exit",
        " address-family ipv4 unicast",
        "NodeName=gpu0 State=IDLE+DRAIN Reason=x",
        "NodeName=gpu0  State=MIXED ",
        "PhysLinkState:...................Disabled",
    ]
)
TEXT = st.text(max_size=200) | st.lists(LINES, max_size=8).map("\n".join)


@given(JSON, CHANGES, st.text(max_size=12))
def test_answers_in_json_are_states_or_errors(
    answer: Any, change: SettingChange, name: str
) -> None:
    shown = answer if isinstance(answer, dict) else {}
    asks: tuple[Callable[[], bool], ...] = (
        lambda: session.is_in_use(change, shown),
        lambda: session.is_pending(shown, name),
        lambda: session.is_open(shown, name),
        lambda: revision.is_in_use(answer),
    )
    for ask in asks:
        with suppress(LabError):
            assert ask() in (True, False)
    with suppress(LabError):
        assert 0 < len(revision.revision_in(answer)) <= revision.MAX_ID
    assert revision.state_of(answer).isprintable()
    assert all(isinstance(one, str) for one in revision.waiting(answer))
    with suppress(LabError):
        assert all(isinstance(port, int) for _, port in unhealthy(answer))


@given(TEXT, CHANGES)
def test_answers_in_text_are_states_or_errors(text: str, change: SettingChange) -> None:
    asks: tuple[Callable[[], bool], ...] = (
        lambda: patch.is_in_use(change, text),
        lambda: patch.parse_state(change, f"there=1\nvalue={text}\ntimer=active").in_use,
        lambda: patch.parse_state(change, text).in_use,
        lambda: frr.is_in_use(change, text),
        lambda: is_enabled(text),
        lambda: is_up(text),
    )
    for ask in asks:
        with suppress(LabError):
            assert ask() in (True, False)
    for node in parse_nodes(text):
        assert (node.name + node.reason).isprintable()


@given(CHANGES)
def test_no_label_becomes_a_second_command(change: SettingChange) -> None:
    """What goes to a device has no character that ends a line, a path or a word."""
    made: list[str] = []
    asks: tuple[Callable[[], Iterable[str]], ...] = (
        lambda: session.applying(change, "netloom-1", "00:02:00"),
        lambda: (session.asking(change),),
        lambda: frr.lines_of(change),
        lambda: patch.setting_of(change),
        lambda: (revision.path_of(change, "1"),),
        lambda: (check_name(change.label),),
    )
    for ask in asks:
        with suppress(LabError):
            made += ask()
    assert not any(c in line for line in made for c in "\n\r;&|`$\"'\\<>")
    assert not any(".." in line for line in made)
