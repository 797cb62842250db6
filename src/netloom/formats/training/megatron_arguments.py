"""Megatron-LM's arguments by name: what each is called inside, and which do not matter here.

Names and defaults are those of Megatron-LM's ``megatron/training/arguments.py`` (Megatron-Core
0.14, 2025); spellings of older releases that scripts still use are among them.
"""

from __future__ import annotations

from typing import Final

from netloom.formats.training.launch import LAUNCH
from netloom.formats.training.statements import WithoutEffect, names_of

__all__ = ["FLAGS", "KNOWN_OPTIONS", "NEGATED", "RENAMED", "UNMODELLED", "WITHOUT_EFFECT"]

# Options that switch off what is on when they are left out.
NEGATED: Final = {
    "--disable-bias-linear": "add_bias_linear",
    "--no-position-embedding": "add_position_embedding",
    "--no-overlap-p2p-communication": "overlap_p2p_comm",
    "--no-scatter-gather-tensors-in-pipeline": "scatter_gather_tensors_in_pipeline",
    "--no-masked-softmax-fusion": "masked_softmax_fusion",
    "--no-bias-gelu-fusion": "bias_gelu_fusion",
    "--no-bias-swiglu-fusion": "bias_swiglu_fusion",
    "--no-bias-dropout-fusion": "bias_dropout_fusion",
    "--no-rope-fusion": "apply_rope_fusion",
    "--no-gradient-accumulation-fusion": "gradient_accumulation_fusion",
    "--no-align-grad-reduce": "align_grad_reduce",
    "--no-align-param-gather": "align_param_gather",
    "--no-gradient-reduce-div-fusion": "gradient_reduce_div_fusion",
    "--disable-tp-comm-overlap-ag": "tp_comm_overlap_ag",
    "--disable-tp-comm-overlap-rs": "tp_comm_overlap_rs",
    "--disable-tp-comm-bulk-dgrad": "tp_comm_bulk_dgrad",
    "--disable-tp-comm-bulk-wgrad": "tp_comm_bulk_wgrad",
    "--disable-tp-comm-split-ag": "tp_comm_split_ag",
    "--disable-tp-comm-split-rs": "tp_comm_split_rs",
    "--torch-fsdp2-no-reshard-after-forward": "torch_fsdp2_reshard_after_forward",
}
# Options that stand alone: a word behind one is not its value.
FLAGS: Final = names_of(
    "--group-query-attention --swiglu --squared-relu --quick-geglu --openai-gelu --bf16 --fp16 "
    "--untie-embeddings-and-output-weights --use-rotary-position-embeddings "
    "--multi-latent-attention --qk-layernorm --sequence-parallel --use-distributed-optimizer "
    "--overlap-grad-reduce --overlap-param-gather --tp-comm-overlap --use-megatron-fsdp "
    "--use-torch-fsdp2 --use-custom-fsdp --recompute-activations --checkpoint-activations "
    "--moe-grouped-gemm --moe-permute-fusion --moe-enable-deepep --moe-router-pre-softmax "
    "--moe-layer-recompute --moe-shared-expert-overlap --overlap-moe-expert-parallel-comm "
    "--moe-router-fusion --moe-router-enable-expert-bias --delay-wgrad-compute --manual-gc "
    "--use-flash-attn --use-mcore-models --use-legacy-models --optimizer-cpu-offload "
    "--grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32 --fp8-param-gather "
    "--external-cuda-graph --enable-cuda-graph --cross-entropy-loss-fusion --mock-data "
    "--finetune --no-save-optim --no-load-optim --no-load-rng --no-save-rng --log-throughput "
    "--log-progress --profile --async-save --use-dist-ckpt --calculate-per-token-loss "
    "--attention-softmax-in-fp32 --apply-layernorm-1p --use-rope-scaling --exit-signal-handler"
)
# One thing under several names: options, and fields of Megatron-Core's and NeMo's configurations.
RENAMED: Final = {
    "num_experts": "num_moe_experts",
    "fp8_format": "fp8",
    "fp4_format": "fp4",
    "nccl_ub": "use_nccl_ub",
    "encoder_seq_length": "seq_length",
    "sequence_length": "seq_length",
    "model_parallel_size": "tensor_model_parallel_size",
    "activations_checkpoint_granularity": "recompute_granularity",
    "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers",
    "ub_tp_comm_overlap": "tp_comm_overlap",
    "bucket_size": "ddp_bucket_size",
    "overlap_grad_sync": "overlap_grad_reduce",
    "overlap_param_sync": "overlap_param_gather",
    "use_custom_fsdp": "use_megatron_fsdp",
    "fsdp": "use_torch_fsdp2",
    "bias": "add_bias_linear",
    "use_cuda_graph": "enable_cuda_graph",
    "context_parallel_comm_type": "cp_comm_type",
    "gc_interval": "manual_gc_interval",
}
# Options that only a training program of this family has: how its command is told from others.
KNOWN_OPTIONS: Final = frozenset(
    f"--{name}"
    for name in names_of(
        "num-layers hidden-size num-attention-heads ffn-hidden-size seq-length micro-batch-size "
        "global-batch-size tensor-model-parallel-size pipeline-model-parallel-size "
        "context-parallel-size expert-model-parallel-size num-experts use-distributed-optimizer "
        "sequence-parallel max-position-embeddings train-iters train-samples model-parallel-size "
        "recompute-granularity recompute-activations swiglu tp-comm-overlap bf16 fp16"
    )
)

WITHOUT_EFFECT: Final = WithoutEffect(
    names=names_of(
        # Learning, regularisation and initialisation.
        "lr min_lr lr_decay_style lr_decay_iters lr_decay_samples lr_warmup_iters "
        "lr_warmup_samples lr_warmup_fraction lr_warmup_init lr_wsd_decay_style "
        "lr_wsd_decay_iters lr_wsd_decay_samples warmup decoupled_lr decoupled_min_lr "
        "weight_decay start_weight_decay end_weight_decay weight_decay_incr_style clip_grad "
        "adam_beta1 adam_beta2 adam_eps sgd_momentum init_method_std "
        "embedding_init_method_std init_method_xavier_uniform seed "
        "data_parallel_random_init use_cpu_initialization no_initialization "
        "perform_initialization init_model_with_meta_device norm_epsilon layernorm_epsilon "
        "attention_dropout hidden_dropout apply_layernorm_1p normalization "
        "apply_query_key_layer_scaling attention_softmax_in_fp32 rotary_base rotary_percent "
        "rotary_interleaved rotary_scaling_factor rotary_seq_len_interpolation_factor "
        "use_rope_scaling rope_scaling_factor rope_type mscale mscale_all_dim no_rope_freq "
        "override_opt_param_scheduler use_checkpoint_opt_param_scheduler "
        "override_opt_param-scheduler use_checkpoint_opt_param-scheduler "
        "loss_scale initial_loss_scale min_loss_scale loss_scale_window hysteresis "
        "mtp_loss_scaling_factor seq_len_interpolation_factor "
        # Length of the run, evaluation and checkpoints: none of them changes a step.
        "train_iters train_samples exit_interval exit_duration_in_mins exit_signal_handler "
        "eval_iters eval_interval skip_train save save_interval load no_save_optim "
        "no_save_rng no_load_optim no_load_rng finetune ckpt_format ckpt_step use_dist_ckpt "
        "dist_ckpt_format async_save ckpt_fully_parallel_save ckpt_fully_parallel_load "
        "ckpt_assume_constant_structure dist_ckpt_strictness auto_detect_ckpt_format "
        "use_checkpoint_args use_mp_args_from_checkpoint_args exit_on_missing_checkpoint "
        "pretrained_checkpoint load_main_params_from_ckpt no_ckpt_fully_parallel_save "
        "non_persistent_save_interval non_persistent_ckpt_type save_retain_interval "
        "use_persistent_ckpt_worker full_validation multiple_validation_sets "
        # Data and tokenizers; the size of a vocabulary is taken elsewhere.
        "data_path train_data_path valid_data_path test_data_path data_args_path "
        "per_split_data_args_path data_cache_path split mock_data num_workers dataloader_type "
        "tokenizer_model tokenizer_metadata vocab_file merge_file vocab_extra_ids "
        "legacy_tokenizer trust_remote_code tiktoken_pattern tiktoken_num_special_tokens "
        "tiktoken_special_tokens reset_position_ids eod_mask_loss "
        "no_create_attention_mask_in_dataloader create_attention_mask_in_dataloader "
        "num_dataset_builder_threads no_mmap_bin_files mmap_bin_files data_impl "
        "mask_prob short_seq_prob sample_rate calculate_per_token_loss "
        # Logging, profiling and supervision.
        "log_interval logging_level log_throughput log_progress log_params_norm log_energy "
        "log_num_zeros_in_grad log_timers_to_tensorboard log_memory_to_tensorboard "
        "log_validation_ppl_to_tensorboard log_world_size_to_tensorboard "
        "no_log_loss_scale_to_tensorboard timing_log_level timing_log_option "
        "tensorboard_dir tensorboard_log_interval tensorboard_queue_size "
        "no_barrier_with_level_1_timing profile profile_step_start profile_step_end "
        "profile_ranks use_pytorch_profiler record_memory_history memory_snapshot_path "
        "check_for_spiky_loss check_for_large_grads no_check_for_nan_in_loss_and_grad "
        "check_for_nan_in_loss_and_grad rerun_mode error_injection_rate error_injection_type "
        "moe_per_layer_logging no_one_logger config_logger_dir adlr_autoresume "
        "adlr_autoresume_interval enable_ft_package calc_ft_timeouts "
        "check_weight_hash_across_dp_replicas_interval result_rejected_tracker_filename "
        "iterations_to_skip distributed_backend distributed_timeout_minutes "
        "distributed_timeout_seconds_after_init disable_gloo_process_groups local_rank "
        "enable_experimental use_mcore_models test_mode "
        "tp_comm_bootstrap_backend te_rng_tracker inference_rng_tracker "
        "attention_mask_in_fp32 decrease_batch_size_if_needed "
        "manual_gc_interval no_manual_gc_eval manual_gc_eval data_seq_length "
        # Of NeMo and Megatron-Core's configurations: bookkeeping.
        "transformer_engine mcore_gpt fp8_hybrid fp8_e4m3 fp8_interval "
        "gradient_as_bucket_view apex_transformer_log_level onnx_safe pre_process post_process "
        "persist_layer_norm precision_plugin headscale transformer_block_type "
        "normalize_attention_scores use_emha get_attention_mask_from_fusion sync_batch_comm "
        "use_flash_attention parallel_output pipeline_dtype params_dtype autocast_dtype "
        "contiguous_grad_buffer contiguous_param_buffer mapping_func enable_autocast "
        "gradient_clip_val masked_softmax_in_fp32 hf_model_id generation_config timers "
        "fp16_lm_cross_entropy scale_positional_embedding should_pad_vocab "
        # Of the router: who is chosen, not how many.
        "moe_router_load_balancing_type moe_aux_loss_coeff moe_z_loss_coeff "
        "moe_input_jitter_eps moe_router_pre_softmax moe_router_score_function "
        "moe_router_topk_scaling_factor moe_router_enable_expert_bias "
        "moe_router_bias_update_rate moe_router_dtype moe_token_drop_policy "
        "moe_apply_probs_on_input no_persist_layer_norm no_async_tensor_model_parallel_allreduce"
    ),
    prefixes=(
        LAUNCH,
        "wandb_",
        "one_logger_",
        "app_tag_",
        "retro_",
        "inference_",
        "langrl_",
        "straggler_",
        "inprocess_",
        "ckpt_convert_",
        "replication",
        "muon_",
    ),
)

_KERNEL = "one kernel more or less of the layer, which is not modelled"
_MEASURED = "changes what the layer's kernels take, which is not modelled"
UNMODELLED: Final = {
    "megatron_amp_O2": "16-bit weights with a master copy are counted either way",
    "grad_sync_dtype": "set job.software.gradient_type to model it",
    "batch_p2p_comm": "is not modelled",
    "rampup_batch_size": "the scenario has the batch that the ramp ends with",
    "fp32_residual_connection": "32-bit activations between layers are not modelled",
    "deterministic_mode": "slower kernels than the model's",
    "accumulate_allreduce_grads_in_fp32": "gradients are kept in 32 bits either way",
    "decoder_first_pipeline_num_layers": "stages of unequal layers are not modelled",
    "decoder_last_pipeline_num_layers": "stages of unequal layers are not modelled",
    "account_for_embedding_in_pipeline_split": "stages of unequal layers are not modelled",
    "account_for_loss_in_pipeline_split": "stages of unequal layers are not modelled",
    "microbatch_group_size_per_virtual_pipeline_stage": "the usual order is modelled alone",
    "microbatch_group_size_per_vp_stage": "the usual order is modelled alone",
    "overlap_p2p_communication_warmup_flush": "transfers are hidden between the two alone",
    "defer_embedding_wgrad_compute": "is not modelled",
    "wgrad_deferral_limit": "is not modelled",
    "delay_wgrad_compute": "is not modelled",
    "num_distributed_optimizer_instances": "give parallel.zero_ranks: copies over it",
    "distribute_saved_activations": "is not modelled",
    "use_nccl_ub": "registered buffers are not modelled",
    "use_sharp": "set cluster.fabric.in_network_reduction to model it",
    "sharp_enabled_group": "set cluster.fabric.in_network_reduction to model it",
    "nccl_communicator_config_path": "NCCL's settings are not part of a scenario",
    "use_tp_pp_dp_mapping": "ranks are placed tensor, context, data, pipeline",
    "hierarchical_context_parallel_sizes": "one group of context ranks is modelled",
    "qk_layernorm": _KERNEL,
    "qk_l2_norm": _KERNEL,
    "apply_residual_connection_post_layernorm": _KERNEL,
    "add_qkv_bias": "biases of queries, keys and values alone are not counted",
    "cross_entropy_loss_fusion": _KERNEL,
    "cross_entropy_fusion_impl": _KERNEL,
    "masked_softmax_fusion": _KERNEL,
    "bias_gelu_fusion": _KERNEL,
    "bias_swiglu_fusion": _KERNEL,
    "bias_dropout_fusion": _KERNEL,
    "apply_rope_fusion": _KERNEL,
    "gradient_accumulation_fusion": _KERNEL,
    "moe_grouped_gemm": "experts are grouped products in the model either way",
    "moe_use_legacy_grouped_gemm": _MEASURED,
    "moe_permute_fusion": _KERNEL,
    "moe_router_fusion": _KERNEL,
    "moe_router_padding_for_fp8": _MEASURED,
    "moe_shared_expert_overlap": "is not modelled",
    "moe_deepep_num_sms": "is not modelled",
    "moe_router_num_groups": "tokens go to any expert in the model",
    "moe_router_group_topk": "tokens go to any expert in the model",
    "moe_router_force_load_balancing": "is not modelled",
    "moe_pad_expert_input_to_capacity": "experts work on the tokens they have in the model",
    "softmax_type": "is not modelled",
    "window_size": "attention of all tokens is modelled",
    "window_attn_skip_freq": "attention of all tokens is modelled",
    "tp_comm_overlap_ag": "all or none of the overlaps of tensor groups is modelled",
    "tp_comm_overlap_rs": "all or none of the overlaps of tensor groups is modelled",
    "tp_comm_bulk_dgrad": "all or none of the overlaps of tensor groups is modelled",
    "tp_comm_bulk_wgrad": "all or none of the overlaps of tensor groups is modelled",
    "tp_comm_split_ag": "all or none of the overlaps of tensor groups is modelled",
    "tp_comm_split_rs": "all or none of the overlaps of tensor groups is modelled",
    "tp_comm_overlap_rs_dgrad": "all or none of the overlaps of tensor groups is modelled",
    "tp_comm_overlap_cfg": "all or none of the overlaps of tensor groups is modelled",
    "ddp_num_buckets": "give the size of a bucket to model it",
    "ddp_pad_buckets_for_high_nccl_busbw": "is not modelled",
    "ddp_average_in_collective": "is not modelled",
    "overlap_param_gather_with_optimizer_step": "is not modelled",
    "align_grad_reduce": "is not modelled",
    "align_param_gather": "is not modelled",
    "reset_attention_mask": "attention of whole sequences is modelled",
    "empty_unused_memory_level": "is not modelled",
    "train_sync_interval": "is not modelled",
    "optimizer": "Adam's state is counted",
    "first_last_layers_bf16": "all layers are computed alike",
    "num_layers_at_start_in_bf16": "all layers are computed alike",
    "num_layers_at_end_in_bf16": "all layers are computed alike",
    "fp8_margin": "is not modelled",
    "fp8_amax_history_len": "is not modelled",
    "fp8_amax_compute_algo": "is not modelled",
    "fp8_wgrad": "weight gradients are 8-bit products in the model",
    "no_fp8_wgrad": "weight gradients are 8-bit products in the model",
    "use_precision_aware_optimizer": "moments of 32 bits are counted",
    "exp_avg_dtype": "moments of 32 bits are counted",
    "exp_avg_sq_dtype": "moments of 32 bits are counted",
    "main_grads_dtype": "gradients of the type of job.software.gradient_type are counted",
    "main_params_dtype": "a master copy of 32 bits is counted",
    "cuda_graph_scope": "all kernels of a layer are launched alike",
    "spec": "layers of one's own are not modelled",
    "yaml_cfg": "convert that file instead",
    "is_hybrid_model": "layers other than a transformer's are not modelled",
    "hybrid_override_pattern": "layers other than a transformer's are not modelled",
    "hybrid_attention_ratio": "layers other than a transformer's are not modelled",
    "hybrid_mlp_ratio": "layers other than a transformer's are not modelled",
    "heterogeneous_layers_config_path": "layers that differ are not modelled",
    "heterogeneous_layers_config_encoded_json": "layers that differ are not modelled",
    "use_legacy_models": "the software of 2022 is named for it",
    "perform_rl_step": "pre-training is modelled",
    "sft": "takes as long as pre-training; say so with tuning: sft in job.training",
    "high_priority_stream_groups": "is not modelled",
}
