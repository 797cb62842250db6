"""How fast a scenario's cluster serves its model, technology by technology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError, SpecError
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.step import serving as step_serving
from netloom.study.inputs import catalog_of, model_of
from netloom.study.networks import network_of
from netloom.study.serving.generation import GenerationStudy, study_generation
from netloom.units import format_count
from netloom.workload.serving import cache_bytes_per_token
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.provenance import Why
    from netloom.spec.inference import Serving
    from netloom.spec.scenario import Scenario
    from netloom.step.serving_memory import ServingMemory
    from netloom.step.serving_model import Service
    from netloom.step.serving_pass import PassDuration

__all__ = ["Inference", "Served", "infer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The service on one technology."""

    network: Network
    service: Service

    @property
    def name(self) -> str:
        """The technology's."""
        return self.network.technology.name

    def row(self) -> dict[str, Any]:
        """Return the headline numbers."""
        service, transfer = self.service, self.service.transfer
        return {
            "technology": self.name,
            "time_to_first_token_s": service.time_to_first_token_s,
            "time_per_token_s": service.time_per_token_s,
            "request_s": service.request_s,
            "tokens_per_s": service.tokens_per_s,
            "tokens_per_s_per_gpu": service.tokens_per_s_per_gpu,
            "cache_transfer_s": transfer.total_s if transfer else None,
            "cache_exposed_s": transfer.exposed_s if transfer else None,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        service = self.service
        return self.row() | {
            "requests_per_s": service.pools.requests_per_s,
            "prefill_instances": service.pools.prefill,
            "decode_instances": service.pools.decode,
            "idle_gpus": service.pools.idle_gpus,
            "bound": service.pools.bound,
            "decode_step_s": service.decode_step_s,
            "prefill_s": _pass_json(service.prefill),
            "decode_s": _pass_json(service.decode),
            "memory_bytes": {
                "prefill": _memory_json(service.prefill_memory),
                "decode": _memory_json(service.decode_memory),
            },
            "max_batch": service.decode_memory.max_requests,
            "validity": service.validity.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inference(Tabular, Explained):
    """A scenario's model served on its own technology, and on those to compare.

    Attributes:
        own: On the technology of the cluster.
        others: On each technology of ``scenario.compare``, in that order.
        refused: Technologies that cannot build the cluster, and why.
    """

    scenario: Scenario
    serving: Serving
    model: Model
    own: Served
    others: tuple[Served, ...]
    refused: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        """Return one line."""
        service = self.own.service
        return (
            f"<Inference {self.model.name} on {format_count(service.num_gpus, 'GPU')}, "
            f"{self.own.name}: first token {service.time_to_first_token_s:.4g} s, "
            f"then {service.time_per_token_s:.4g} s each, "
            f"{service.tokens_per_s_per_gpu:.4g} tokens/s per GPU>"
        )

    @property
    def cache_bytes_per_token(self) -> float:
        """Keys and values of one token, all layers."""
        return cache_bytes_per_token(transformer(self.model))

    def explanations(self) -> dict[str, Why]:
        """Return how the headline numbers came about, on the cluster's own technology."""
        first, token, throughput, *_ = self.own.service.why.parts
        return {
            "time_to_first_token_s": first,
            "time_per_token_s": token,
            "tokens_per_s_per_gpu": throughput,
        }

    def whole_explanation(self) -> Why:
        """Return the headline numbers and what they rest on."""
        return self.own.service.why

    def table(self) -> Table:
        """Return one row a technology."""
        return Table.from_rows([one.row() for one in self.others])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "model": self.model.name,
            "gpus": self.own.service.num_gpus,
            "serving": self.serving.model_dump(mode="json", by_alias=True),
            "cache_bytes_per_token": self.cache_bytes_per_token,
            **self.own.to_json(),
            "technologies": [one.to_json() for one in self.others],
            "refused": [{"technology": name, "reason": why} for name, why in self.refused],
        }


def infer(scenario: Scenario, catalog: Catalog | None = None) -> Inference | GenerationStudy:
    """Return how fast the scenario's cluster serves its model.

    A language model answers with tokens (section ``serving``), a diffusion model with pictures or
    films (section ``generation``).

    >>> import netloom as nl
    >>> nl.infer(nl.example("llama-3.1-70b-serving")).own.service.tokens_per_s  # doctest: +SKIP

    Args:
        scenario: What was asked for; it needs a ``serving`` or a ``generation`` section.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        NetloomError: the section is missing, a part is unknown, the instances cannot be laid
            out, or the model does not fit.
    """
    parts = catalog or catalog_of(scenario)
    model = model_of(scenario, parts)
    if model.diffusion is not None:
        return study_generation(scenario, model, parts)
    if scenario.generation is not None:
        raise SpecError(
            key="generation",
            what=f"{model.name} is no diffusion model",
            remedy="use 'serving', or a diffusion model such as flux.1-dev",
        )
    if scenario.serving is None:
        raise SpecError(
            key="serving",
            what="the scenario has no such section",
            remedy=(
                "add one, such as 'serving: {prompt: 4096, output: 512, batch: 64, "
                "decode: {tensor: 8}}', or see 'netloom example llama-3.1-70b-serving'"
            ),
        )
    own = _served(scenario, scenario.serving, model, network_of(scenario.cluster, parts))
    others, refused = [], []
    for name in dict.fromkeys(scenario.compare):
        try:
            network = network_of(scenario.cluster, parts, technology=name)
            others.append(_served(scenario, scenario.serving, model, network))
        except InfeasibleError as error:
            refused.append((parts.technology(name).name, str(error)))
    return Inference(
        scenario=scenario,
        serving=scenario.serving,
        model=model,
        own=own,
        others=tuple(others),
        refused=tuple(refused),
    )


def _served(scenario: Scenario, serving: Serving, model: Model, network: Network) -> Served:
    service = step_serving.serve(
        serving,
        model=model,
        network=network,
        engine=AnalyticEngine(),
        placement=scenario.job.placement,
    )
    return Served(network=network, service=service)


def _pass_json(one: PassDuration) -> dict[str, float]:
    """Return where a pass goes: what it computes, and what it waits for by axis."""
    waits = {axis.value: time_s for axis, time_s in one.communication_s.items()}
    return {"compute": one.compute_s} | waits


def _memory_json(memory: ServingMemory) -> dict[str, float]:
    return {
        "weights": memory.weights_bytes,
        "cache": memory.cache_bytes,
        "activations": memory.activations_bytes,
        "reserved": memory.reserved_bytes,
        "total": memory.total_bytes,
        "capacity": memory.capacity_bytes,
    }
