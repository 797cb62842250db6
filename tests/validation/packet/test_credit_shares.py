"""How InfiniBand's credits share ports between NICs, against a closed form.

A NIC serves its messages in turn, and what it has sent and a switch has not passed on is at most
the buffer that the switch advertises: so messages of one NIC have one rate, the buffer over the sum
of the waits at their ports. Ports serve first come, first served: all wait as long.
"""

from __future__ import annotations

import numpy as np
import pytest

import netloom as nl
from netloom.workload.exchange_tree import double_tree

pytestmark = pytest.mark.validation

SIZE_BYTES = 8_000_000
# 4096 bytes of payload in 4122 (InfiniBand's headers) at 400 Gb/s.
PAYLOAD_BPS = 400e9 * 4096 / 4122


def test_hops_of_a_double_tree_share_ports_as_their_buffers_do() -> None:
    """Of eight nodes on one switch, the hops of both trees at once.

    Nodes 0 and 7 send two messages and get two, the others four and four. 0 sends to 4 and 1; 2 to
    4, 3 and twice to 1; 7 and 5 are their mirrors. With waits D at ports 3 and 4 and E at 1 and 6,
    0 sends each message at B / (D + E) and 2 at B / (2 D + 2 E): half as fast. 1, 3, 4 and 6, which
    nothing holds up, send each of four at a quarter of the line. Port 4 takes one message each of
    0, 2, 5 and 6: x + x/2 + x/2 + 1/4 = 1 has x = 3/8.

    So 0 and 7 end after 8 MB / (3/8), when 2 and 5 have sent half; a quarter each is theirs from
    then on. Flows get a quarter each from the first moment, and all end with 1, 3, 4 and 6.
    """
    dag = double_tree([np.array([8 * node]) for node in range(8)], 2 * SIZE_BYTES, slices=1)
    ends = zip(dag.source.tolist(), dag.target.tolist(), strict=True)
    traffic = [
        {"kind": "one-to-one", "source": a, "target": b, "size": f"{SIZE_BYTES}B"} for a, b in ends
    ]
    fabric = {"technology": "infiniband-ndr", "topology": {"kind": "rail-fat-tree"}}
    cluster = {"gpus": 64, "node": "dgx-h100", "fabric": fabric}
    run = nl.simulate(nl.load({"cluster": cluster, "traffic": traffic})).first
    whole_s = SIZE_BYTES * 8 / PAYLOAD_BPS
    early_s, even_s = whole_s * 8 / 3, whole_s * 4
    late_s = early_s + even_s / 2
    expected = {0: early_s, 7: early_s, 2: late_s, 5: late_s}
    for node in range(8):
        own = run.transfers.source == 8 * node
        took_s = (run.delivery.finish_ps - run.delivery.start_ps)[own].max() * 1e-12
        assert took_s == pytest.approx(expected.get(node, even_s), rel=0.02)
