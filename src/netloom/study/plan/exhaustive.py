"""The same search one configuration at a time, with nothing left out and nothing shared.

It exists to check the other: every combination of degrees goes to the function that predicts a
single step, and that alone says whether it divides and fits.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from netloom.errors import InfeasibleError, SpecError
from netloom.step.efficiency import validity_besides_mfu
from netloom.step.predict import predict
from netloom.study.plan.search import Piece, TimedConfiguration, best_of
from netloom.study.plan.space import ZEROS, Configuration, divisors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.step.model import Step
    from netloom.study.plan.space import Space, Standing
    from netloom.study.plan.tables import CostTables

__all__ = ["search_piece_singly"]


def search_piece_singly(tables: CostTables, pipeline: int, *, machine: int) -> Piece:
    """Return the best configurations of *pipeline* stages, each predicted by itself."""
    space = tables.space
    looked_at = 0
    found: list[TimedConfiguration] = []
    for configuration in _every(space, pipeline, machine):
        try:
            step = predict(
                configuration.job(space.job),
                model=space.model,
                network=space.network,
                engine=tables.engine,
                practice=tables.practice,
            )
        except SpecError:
            continue
        except InfeasibleError:
            looked_at += 1
            continue
        looked_at += 1
        found.append(
            TimedConfiguration(
                duration_s=float(step.duration_s),
                standing=_standing(step, space),
                configuration=configuration,
            )
        )
    return Piece(configurations=looked_at, feasible=len(found), candidates=tuple(best_of(found)))


def _standing(step: Step, space: Space) -> Standing:
    if not validity_besides_mfu(step, space.network.gpu, space.job.trained.precision).inside:
        return "outside"
    return "inside" if step.validity.inside else "above"


def _every(space: Space, pipeline: int, machine: int) -> Iterator[Configuration]:
    """Yield all combinations that use every GPU, each once, whether they divide or not.

    Virtual stages go to one more than there can be: more chunks than layers, embedding and
    logits, and two where a pipeline of one stage has no use for them.
    """
    stage_gpus = space.num_gpus // pipeline
    for tensor, context in product(divisors(stage_gpus), repeat=2):
        if stage_gpus % (tensor * context):
            continue
        data = stage_gpus // tensor // context
        for expert, micro_batch, virtual, recompute, zero, sequence_parallel in product(
            divisors(space.model.num_experts or 1),
            divisors(space.job.trained.global_batch),
            range(1, (space.model.num_layers + 2) // pipeline + 2 if pipeline > 1 else 3),
            space.recomputes(),
            ZEROS,
            (True, False) if tensor > 1 else (False,),
        ):
            ranks = expert * space.expert_split(expert, tensor)
            copies = max(data * context, stage_gpus // ranks)
            if zero and copies == 1:
                continue  # nothing to divide: the same as without
            yield Configuration(
                machine=machine,
                tensor=tensor,
                pipeline=pipeline,
                virtual_pipeline=virtual,
                context=context,
                expert=expert,
                data=data,
                micro_batch=micro_batch,
                recompute=recompute,
                zero=zero,
                sequence_parallel=sequence_parallel,
            )
