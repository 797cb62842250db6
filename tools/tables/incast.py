"""Run incasts of TCP from few senders to many: the table of docs/models/packet.md."""

from __future__ import annotations

import netloom as nl
from netloom.study.simulate.choices import Choices

SENDERS = (2, 4, 8, 16, 32, 64)
SIZE_BYTES = 262_144
# A technology, and what stands in for its own congestion control.
ROWS = (("tcp-100g", ""), ("tcp-100g", "dctcp"), ("iwarp-100g", ""))


def found(technology: str, scheme: str, num_senders: int) -> str:
    """Return the goodput into one port, and what it cost: drops, probes and timeouts."""
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}
    fabric = {"technology": technology, "topology": topology}
    cluster = {"gpus": 128, "node": "dgx-h100", "fabric": fabric}
    incast = {"kind": "incast", "target": 0, "first": 16, "fan_in": num_senders}
    traffic = [{**incast, "size": f"{SIZE_BYTES}B"}]
    scenario = nl.load({"cluster": cluster, "traffic": traffic})
    run = nl.simulate(scenario, choices=Choices(congestion_control=scheme)).first
    goodput_gbps = num_senders * SIZE_BYTES * 8 / run.span_s * 1e-9
    counts = (run.delivery.counters[name] for name in ("drops", "probes", "timeouts"))
    return f"{goodput_gbps:.1f} ({', '.join(map(str, counts))})"


def main() -> None:
    """Print the table."""
    print(f"| technology | {' | '.join(f'{n} senders' for n in SENDERS)} |")
    print(f"|---|{'---|' * len(SENDERS)}")
    for technology, scheme in ROWS:
        name = f"`{technology}`" + (f", `--cc {scheme}`" if scheme else "")
        cells = [found(technology, scheme, n) for n in SENDERS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
