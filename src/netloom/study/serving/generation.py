"""How fast a scenario's cluster makes pictures or films, by GPUs that share a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError, SpecError
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.step.generation.denoise import is_guided
from netloom.step.generation.service import generate
from netloom.study.networks import network_of
from netloom.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.provenance import Why
    from netloom.spec.inference import Generation
    from netloom.spec.scenario import Scenario
    from netloom.step.generation.service import GenerationService

__all__ = ["GenerationStudy", "study_generation"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GenerationStudy(Tabular, Explained):
    """A diffusion model's requests as asked for, and with other numbers of GPUs to a request.

    Attributes:
        own: With the degrees that the scenario asks for.
        ways: Instances of one GPU to all of a node, that one among them.
        refused: Degrees that do not work, and why.
    """

    scenario: Scenario
    model: Model
    network: Network
    own: GenerationService
    ways: tuple[GenerationService, ...]
    refused: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<GenerationStudy {self.model.name} on {format_count(self.own.num_gpus, 'GPU')}: "
            f"{self.own.latency_s:.4g} s a request, {self.own.requests_per_s:.4g} a second>"
        )

    @property
    def made(self) -> str:
        """What a request asks for."""
        return "image" if self.own.asked.frames == 1 else "video"

    def explanations(self) -> dict[str, Why]:
        """Return how the latency came about."""
        return {"latency_s": self.own.why}

    def whole_explanation(self) -> Why:
        """Return how the latency came about."""
        return self.own.why

    def table(self) -> Table:
        """Return one row for each number of GPUs to a request."""
        return Table.from_rows([_row(one) for one in self.ways])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        own = self.own
        return {
            "model": self.model.name,
            "gpus": own.num_gpus,
            "technology": self.network.technology.name,
            "made": self.made,
            "generation": own.asked.model_dump(mode="json"),
            **_row(own),
            "idle_gpus": own.idle_gpus,
            "encoder_s": own.encoder_s,
            "step_s": {
                "compute": own.step.compute_s,
                "attention": own.step.attention_s,
                "exchange": own.step.exchange_s,
                "guidance": own.step.guidance_s,
                "total": own.step.total_s,
            },
            "decoder_s": own.decoder_s,
            "memory_bytes": {
                "weights": own.memory.weights_bytes,
                "text_encoder": own.memory.encoder_bytes,
                "activations": own.memory.activations_bytes,
                "reserved": own.memory.reserved_bytes,
                "total": own.memory.total_bytes,
                "capacity": own.memory.capacity_bytes,
            },
            "validity": own.validity.to_json(),
            "by_gpus": [_row(one) for one in self.ways],
            "refused": [{"gpus": name, "reason": why} for name, why in self.refused],
        }


def study_generation(scenario: Scenario, model: Model, catalog: Catalog) -> GenerationStudy:
    """Return how fast the scenario's cluster makes what its ``generation`` asks for.

    Raises:
        NetloomError: the section is missing, or what it asks for cannot be done.
    """
    asked = scenario.generation
    if asked is None:
        raise SpecError(
            key="generation",
            what=f"missing: {model.name} is a diffusion model",
            remedy="add one, such as 'generation: {height: 1024, width: 1024, steps: 28}'",
        )
    _check_frames(asked, model)
    network = network_of(scenario.cluster, catalog)
    own = _served(asked, model, network)
    ways, refused = [], []
    for other in _degrees(asked, model, network):
        try:
            ways.append(own if other == asked else _served(other, model, network))
        except InfeasibleError as error:
            refused.append((str(other.context), str(error)))
    return GenerationStudy(
        scenario=scenario,
        model=model,
        network=network,
        own=own,
        ways=tuple(ways),
        refused=tuple(refused),
    )


def _check_frames(asked: Generation, model: Model) -> None:
    """Raise SpecError where frames are asked of a model whose tokens have none."""
    if asked.frames > 1 and model.diffusion is not None and model.diffusion.frame_stride == 1:
        raise SpecError(
            key="generation.frames",
            what=f"{model.name} makes single images",
            remedy="leave it out, raise batch, or use a model of videos such as wan-2.1-14b",
        )


def _served(asked: Generation, model: Model, network: Network) -> GenerationService:
    return generate(asked, model=model, network=network, engine=AnalyticEngine())


def _degrees(asked: Generation, model: Model, network: Network) -> Iterator[Generation]:
    """Yield *asked* with each number of GPUs to a request that a node allows."""
    assert model.diffusion is not None
    node = min(network.node.num_gpus, network.design.num_gpus)
    splits = (False, True) if is_guided(asked, model.diffusion) else (False,)
    for context in range(1, max(node, asked.context) + 1):
        for split in splits:
            other = asked.model_copy(update={"context": context, "guidance_parallel": split})
            ranks = context * (1 + split)
            fits = ranks <= node and node % ranks == 0 and model.num_heads % context == 0
            if fits or other == asked:
                yield other


def _row(one: GenerationService) -> dict[str, Any]:
    return {
        "gpus_per_request": one.gpus_per_instance,
        "context": one.asked.context,
        "guidance_parallel": one.asked.guidance_parallel,
        "instances": one.num_instances,
        "latency_s": one.latency_s,
        "requests_per_s": one.requests_per_s,
        "requests_per_s_per_gpu": one.requests_per_s_per_gpu,
    }
