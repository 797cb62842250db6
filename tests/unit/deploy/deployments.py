"""Small deployments that tests share; each is built once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from netloom.app.deploy.files import deployment_files
from netloom.ops.deploy.intent import intent_of
from netloom.spec.load import load
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent

SCENARIO = """
cluster:
  nodes: {nodes}
  node: {node}
  fabric: {{technology: {technology}, topology: {topology}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: 64}}}}
tenants: {tenants}
"""


@cache
def build(
    technology: str,
    *,
    nodes: int = 64,
    node: str = "dgx-h100",
    topology: str = "{kind: rail-fat-tree}",
    tenants: str = "[]",
) -> Intent:
    """Return the intent of a scenario."""
    text = SCENARIO.format(
        nodes=nodes, node=node, technology=technology, topology=topology, tenants=tenants
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(text, encoding="utf-8")
        scenario = load(path)
    return intent_of(scenario, catalog_of(scenario, None))


@cache
def _rendered(intent: Intent) -> dict[str, str]:
    return {p: t for p, t in deployment_files(intent).items() if isinstance(t, str)}


def render(intent: Intent) -> dict[str, str]:
    """Return the texts that a deployment consists of, for a test to change."""
    return dict(_rendered(intent))
