"""What counts as a probe that arrived, on sockets of this machine."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from netloom.app.lab import probes
from netloom.app.lab.probes import MAX_ROUNDS, ROUNDS, Flow

if TYPE_CHECKING:
    import socket

FLOW = Flow(source=0, target=0, source_port=1, is_large=False)


class Doubling:
    """A network that delivers each datagram twice."""

    def __init__(self, sender: socket.socket) -> None:
        self.sender = sender

    def sendto(self, data: bytes, where: tuple[str, int]) -> None:
        self.sender.sendto(data, where)
        self.sender.sendto(data, where)


@pytest.mark.parametrize("rounds", [1, ROUNDS, MAX_ROUNDS])
@pytest.mark.parametrize("is_doubled", [False, True])
def test_every_datagram_of_every_round_arrives_once(
    monkeypatch: pytest.MonkeyPatch, rounds: int, *, is_doubled: bool
) -> None:
    with ExitStack() as stack:
        receiver = stack.enter_context(probes._udp(0))
        sender = stack.enter_context(probes._udp(0))
        monkeypatch.setattr(probes, "PORT", receiver.getsockname()[1])
        bench = probes._Bench(
            addresses={0: "127.0.0.1"},
            senders={(0, 1): Doubling(sender) if is_doubled else sender},  # type: ignore[dict-item]
            receivers=[receiver],
        )
        arrived = bench.send([FLOW], rounds)
        bench.wait_for(arrived, rounds)
        assert [len(took) for took in arrived.latencies_s] == [rounds]
