"""Small deployments that tests share; each is built once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from netloom.app.deploy.files import deployment_files
from netloom.ops.deploy.intent import intent_of
from netloom.ops.switch_systems import switch_files
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
site: {site}
"""


@cache
def build(
    technology: str,
    *,
    nodes: int = 64,
    node: str = "dgx-h100",
    topology: str = "{kind: rail-fat-tree}",
    tenants: str = "[]",
    system: str = "",
    site: str = "",
) -> Intent:
    """Return the intent of a scenario; *system* is what its switches run."""
    text = SCENARIO.format(
        nodes=nodes,
        node=node,
        technology=technology,
        topology=topology,
        tenants=tenants,
        site=site or (f"{{system: {system}}}" if system else "{}"),
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


@cache
def _in_every_language(intent: Intent) -> dict[str, str]:
    numbers = range(len(intent.site.nics), len(intent.site.plant.devices))
    return {
        f"switches/{intent.site.hostnames[number]}/{file.name}": text
        for number in numbers
        for _, file in switch_files()
        if (text := file.render(intent, number))
    }


def in_every_language(intent: Intent) -> dict[str, str]:
    """Return the files of all switches for every system that netloom writes for."""
    return {**render(intent), **_in_every_language(intent)}
