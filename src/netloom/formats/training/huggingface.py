"""A model's config.json of Hugging Face: a shape, and nothing about how it is trained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.training.documents import flat_document, keys_of_json
from netloom.formats.training.recipe import Recipe
from netloom.formats.training.statements import Statements, WithoutEffect, names_of
from netloom.workload.huggingface import ALIASES

if TYPE_CHECKING:
    from netloom.formats.training.recipe import RecipeText

__all__ = ["is_huggingface", "parse_huggingface"]

KEY: Final = "job.model"
_OTHERS: Final = names_of(
    "model_type hidden_act activation_function tie_word_embeddings n_positions "
    "max_position_embeddings attention_bias mlp_bias num_nextn_predict_layers mlp_hidden_act "
    "sliding_window use_sliding_window max_window_layers sliding_window_pattern layer_types "
    "hybrid_override_pattern hybrid_layer_pattern full_attention_interval attn_output_gate "
    "mamba_num_heads mamba_head_dim n_groups ssm_state_size conv_kernel chunk_size "
    "linear_num_value_heads linear_value_head_dim linear_num_key_heads linear_key_head_dim "
    "linear_conv_kernel_dim shared_expert_intermediate_size moe_latent_size "
    "moe_shared_expert_intermediate_size decoder_sparse_step moe_layer_freq mlp_only_layers "
    "interleave_moe_layer_step intermediate_size_mlp n_group topk_group"
)
_READ: Final = frozenset(name for names in ALIASES.values() for name in names) | _OTHERS
_WITHOUT_EFFECT: Final = WithoutEffect(
    names=names_of(
        "architectures torch_dtype dtype bos_token_id eos_token_id pad_token_id use_cache "
        "transformers_version initializer_range rms_norm_eps layer_norm_eps "
        "layer_norm_epsilon rope_theta rope_scaling attention_dropout embd_pdrop attn_pdrop "
        "resid_pdrop pretraining_tp router_aux_loss_coef output_router_logits "
        "router_jitter_noise norm_topk_prob scoring_func seq_aux aux_loss_alpha topk_method "
        "routed_scaling_factor ep_size summary_type summary_use_proj summary_activation "
        "summary_first_dropout summary_proj_to_labels reorder_and_upcast_attn "
        "scale_attn_weights scale_attn_by_inverse_layer_idx final_logit_softcapping "
        "attn_logit_softcapping query_pre_attn_scalar rope_interleave vocab_size_padded "
        "original_max_position_embeddings hidden_activation cache_implementation"
    ),
    prefixes=("auto_map", "rope_", "quantization_config", "task_specific_params", "id2label"),
)


def is_huggingface(head: str) -> bool:
    """Return whether a text begins as a model's config.json does."""
    keys = keys_of_json(head)
    return head.lstrip()[:1] == "{" and bool(keys & {"model_type", "architectures", "hidden_size"})


def parse_huggingface(given: RecipeText) -> Recipe:
    """Return the model that a config.json describes; all else is missing.

    Raises:
        SpecError: it is no JSON object.
    """
    try:
        shape = json.loads(given.text)
    except (ValueError, RecursionError) as error:
        raise SpecError(
            file=given.name,
            what=f"is not JSON ({str(error)[:80]})",
            remedy="give the model's config.json",
        ) from error
    found = Statements(flat_document(given).statements, file=given.name)
    for one in flat_document(given).statements:
        if one.name.removeprefix("text_config.") in _READ:
            found.plain(one.name, KEY)
    return Recipe(shape=shape, model_is_file=True, **found.sorted(_WITHOUT_EFFECT, {}))
