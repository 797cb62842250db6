"""The runs that tools/profile_step.py recorded on an H200, as scenarios."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

TRACES = Path(__file__).parent / "traces"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One case of tools/profile_step.py."""

    hidden: int = 4096
    layers: int = 4
    heads: int = 32
    kv_heads: int = 8
    ffn: int = 14336
    sequence: int = 4096
    accumulate: int = 2
    gpus: int = 1

    def write(self, folder: Path) -> Path:
        """Write the scenario and its model, and return the scenario's path."""
        config = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "intermediate_size": self.ffn,
            "vocab_size": 32000,
            "max_position_embeddings": 8192,
            "tie_word_embeddings": False,
            "hidden_act": "silu",
        }
        (folder / "config.json").write_text(json.dumps(config))
        scenario = folder / "run.yaml"
        scenario.write_text(
            f"cluster: {{gpus: {self.gpus}, node: dgx-h200}}\n"
            "job:\n"
            "  model: config.json\n"
            f"  training: {{sequence: {self.sequence}, "
            f"global_batch: {self.accumulate * self.gpus}, recompute: none}}\n"
            "  parallel: {zero: 0}\n"
        )
        return scenario


PLAIN = Run()
LAUNCH_BOUND = Run(hidden=512, layers=12, heads=8, kv_heads=8, ffn=1408, sequence=512)
TWO_RANKS = Run(hidden=2048, heads=16, kv_heads=16, ffn=5504, sequence=2048, accumulate=1, gpus=2)
LOG = """\
 [2026-01-05 10:00:01] iteration        1/     100 | consumed samples:          512 | \
elapsed time per iteration (ms): 31000.0 | learning rate: 1.5E-06 |
 [2026-01-05 10:00:11] iteration        2/     100 | consumed samples:         1024 | \
elapsed time per iteration (ms): 9300.0 | learning rate: 1.5E-06 |
\x1b[32m iteration        3/     100 | consumed samples:         1536 | \
elapsed time per iteration (ms): 9100.0 | learning rate: 1.5E-06 |\x1b[0m
(min, max) time across ranks (ms):
    forward-backward ...............................: (8600.00, 8640.00)
    forward-compute ................................: (2500.00, 2600.00)
    backward-compute ...............................: (5100.00, 5200.00)
    batch-generator ................................: (3.00, 40.00)
    all-grads-sync .................................: (100.00, 120.00)
    optimizer ......................................: (50.00, 51.00)
"""


def nsight_store(path: Path) -> sqlite3.Connection:
    """Return an export with the tables and columns that NVIDIA documents: 2 steps of 10 ms."""
    store = sqlite3.connect(path)
    store.executescript(
        """
        CREATE TABLE StringIds (id INTEGER, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
            streamId INTEGER, correlationId INTEGER, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER,
            nameId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
            textId INTEGER, globalTid INTEGER);
        INSERT INTO StringIds VALUES (1, 'nvjet_sm90_gemm'),
            (2, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'), (3, 'iteration 1'), (4, 'iteration 2');
        """
    )
    for number in range(2):
        start = 10_000_000 * number
        store.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?,?,59,NULL,?,1)",
            (start, start + 10_000_000, 3 + number),
        )
        kernels = [
            (start + 1_000_000, start + 6_000_000, 1),
            (start + 5_000_000, start + 9_000_000, 2),
        ]
        for at, (begin, end, name) in enumerate(kernels):
            identity = 10 * number + at
            store.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,7,?,?,?)",
                (begin, end, identity, name, name),
            )
            store.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,1)",
                (begin - 2000, begin - 1000, identity),
            )
    store.commit()
    return store
