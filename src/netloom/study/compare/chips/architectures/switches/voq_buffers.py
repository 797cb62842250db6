"""Virtual output queues in place of a shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    ports = base.switch.radix(base.technology.rate_bps) or base.switch.modes[0].count
    each = int((base.switch.buffer_bytes or 32e6) / ports)
    return base.with_packets("switch", ingress_bytes=each, input_turns=True)


ENTRY = ChipArchitecture(
    name="voq-buffers",
    title="Virtual output queues in place of a shared memory",
    group="switches",
    changes=(
        "Each input keeps a queue for each output: no input takes another's buffer, and outputs "
        "serve inputs in turn."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=(
        "The engine's fixed buffer for each input, a share of the same memory, and ports that "
        "serve inputs in turn."
    ),
    design=_design,
    limits=("Memory that other inputs leave idle cannot be borrowed.",),
    figures=(),
    sources=(
        Source(
            citation=("McKeown et al., Achieving 100 % throughput in an input-queued switch, 1996"),
            confidence="recalled",
        ),
        Source(
            citation="netloom docs/models/packet.md, the engine's own rule", confidence="derived"
        ),
    ),
)
