#!/usr/bin/env python3
"""Decoders beside those of transformers: logits, gradients, and weights after 20 steps of AdamW.

Builds small networks with random weights of each family (GPT-2, Llama with and without Llama 3's
scaling, Mistral with a window, Qwen 2 and 3, Granite, OLMo 2, SmolLM3, Phi-3, Gemma 1 to 3, OLMo 3, Ministral,
Seed-OSS, EXAONE 4, StarCoder2, StableLM, GLM-4, GPT-NeoX, Cohere 1 and 2, every scaling of rotary positions, the
mixtures of experts Mixtral, OLMoE, Qwen2-MoE, Qwen3-MoE, Granite-MoE, dots.llm1, GLM-4.5 and gpt-oss, a correction of scores
that each step moves; tied and untied; queries in groups of 1, 2 and 4), lets transformers compute, writes what came
out beside the weights under Penstock's names, and has
decoder_golden_test compare. With --write DIR it leaves the files there: those of
tests/unit/network/models/goldens are made so. Returns 77 where transformers or PyTorch is missing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from command import skip

try:
    import torch
    import transformers
    import deepseek
    from safetensors.torch import save_file
except ImportError as missing:
    skip(missing, "transformers torch safetensors")

WIDTH, HEADS, HEAD, HIDDEN, LAYERS, VOCABULARY, CONTEXT, ROWS = 8, 4, 4, 12, 2, 23, 24, 2
# The large epsilon: the gradient of a bias of keys is rounding alone, which AdamW would blow up. At ten times the rate and a
# tenth of it PyTorch in fp32 is up to 1.7e-1 from itself in fp64 after 20 steps, and one network in forty misses the bound.
STEPS, RATE, DECAY, EPSILON = 20, 1e-3, 0.1, 1e-3
NEAREST_CHOICE = 1e-4


def llama_like(kind, kv_heads, tied, **more):
    sizes = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "num_key_value_heads": kv_heads, "head_dim": HEAD,
             "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": VOCABULARY,
             "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-6}
    source = deepseek if kind == "Deepseek" else transformers
    config = getattr(source, kind + ("TextConfig" if kind == "Gemma3" else "Config"))(
        **{**sizes, **more}, tie_word_embeddings=tied, attn_implementation="eager", use_cache=False,
        pad_token_id=None, bos_token_id=None, eos_token_id=None)
    return getattr(source, kind + "ForCausalLM")(config)


def llama_keys(kv_heads, tied, **more):
    return {"width": WIDTH, "heads": HEADS, "kv_heads": kv_heads, "head_width": HEAD,
            "hidden": HIDDEN, "activation": "silu", "gated": True, "norm": "rms",
            "norm_epsilon": 1e-6, "positions": "rotary", "attention_bias": False,
            "output_bias": False, "bias": False, "tied_embedding": tied, **more}


def gpt2(tied):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=2 * WIDTH, n_head=HEADS, n_layer=LAYERS, n_positions=CONTEXT, vocab_size=VOCABULARY,
        n_inner=HIDDEN, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
        tie_word_embeddings=tied, attn_implementation="eager", bos_token_id=None,
        eos_token_id=None))


def gpt2_keys(tied):
    return {"width": 2 * WIDTH, "heads": HEADS, "hidden": HIDDEN, "activation": "gelu-tanh",
            "positions": "learned", "norm_epsilon": 1e-5, "tied_embedding": tied}


LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3_KEYS = {"rotary_base": 500000.0, "rotary_scaling": "llama3", "rotary_factor": 8.0,
               "rotary_low": 1.0, "rotary_high": 4.0, "rotary_original": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
GRANITE = {"embedding_multiplier": 6.0, "residual_multiplier": 0.22, "attention_multiplier": 0.3,
           "logits_scaling": 4.0}
GRANITE_KEYS = {"embedding_scale": 6.0, "residual_scale": 0.22, "attention_scale": 0.3,
                "logit_scale": 0.25}
OLMO2_KEYS = {"norm_place": "after", "query_key_norm": True, "query_key_norm_over": "projection"}
EXPERTS = {"num_experts_per_tok": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
EXPERTS_KEYS = {"experts_per_token": 2, "experts": 5}
QWEN2_MOE = {**EXPERTS, "num_experts": 5, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 12}
QWEN2_MOE_KEYS = {**EXPERTS_KEYS, "attention_bias": True, "router_normalised": False, "expert_width": 8,
                  "shared_expert_width": 12, "shared_expert_gate": True}
QWEN3_MOE = {**EXPERTS, "num_experts": 5, "moe_intermediate_size": 8, "norm_topk_prob": True,
             "mlp_only_layers": [0]}
QWEN3_MOE_KEYS = {**EXPERTS_KEYS, "query_key_norm": True, "expert_width": 8, "dense_layers": [0]}
DEEPSEEK = {**EXPERTS, "n_routed_experts": 6, "moe_intermediate_size": 8, "norm_topk_prob": True, "routed_scaling_factor": 1.5}
DEEPSEEK_KEYS = {**EXPERTS_KEYS, "experts": 6, "expert_width": 8, "router": "sigmoid", "router_correction": True,
                 "router_scale": 1.5}
DOTS1 = {**DEEPSEEK, "n_shared_experts": 2, "n_group": 3, "topk_group": 2, "first_k_dense_replace": 1, "sliding_window": None}
DOTS1_KEYS = {**DEEPSEEK_KEYS, "shared_expert_width": 16, "expert_groups": 3, "groups_per_token": 2, "dense_layers": [0],
              "query_key_norm": True}
GLM4_MOE = {**DEEPSEEK, "n_shared_experts": 1, "first_k_dense_replace": 0, "attention_bias": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}
GLM4_MOE_KEYS = {**DEEPSEEK_KEYS, "shared_expert_width": 8, "attention_bias": True, "rotary_width": HEAD // 2}
FIRST_DEEPSEEK = {**EXPERTS, "n_routed_experts": 5, "moe_intermediate_size": 8}
FIRST_DEEPSEEK_KEYS = {**EXPERTS_KEYS, "expert_width": 8, "router_normalised": False}
# The limit is low, so that it clamps numbers of both layers, above and below.
GPT_OSS = {"num_experts_per_tok": 2, "num_local_experts": 5, "sliding_window": 5, "swiglu_limit": 0.5}
GPT_OSS_KEYS = {**EXPERTS_KEYS, "attention_bias": True, "output_bias": True, "bias": True, "attention_sinks": True,
                "router_bias": True, "expert_gate_limit": 0.5, "window": 5, "window_layers": [0]}
HALF = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}

YARN = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 2.0, "original_max_position_embeddings": 16,
        "beta_fast": 3.0, "beta_slow": 0.2}
YARN_KEYS = {"rotary_base": 100.0, "rotary_scaling": "yarn", "rotary_factor": 2.0, "rotary_low": 0.2,
             "rotary_high": 3.0, "rotary_original": 16}
LONGROPE = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.5], "long_factor": [1.3, 4.0]}
LONGROPE_KEYS = {"rotary_scaling": "longrope", "rotary_short": [1.0, 1.5], "rotary_long": [1.3, 4.0]}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 3.0}
GEMMA_KEYS = {"activation": "gelu-tanh", "embedding_scale": WIDTH ** 0.5, "norm_zero_centered": True}
GEMMA2 = {"query_pre_attn_scalar": 7, "sliding_window": 5, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}
GEMMA2_KEYS = {**GEMMA_KEYS, "norm_place": "both", "attention_scale": 7 ** -0.5, "window": 5, "window_layers": [0],
               "attention_softcap": 2.0, "logit_softcap": 3.0}
GEMMA3 = {"query_pre_attn_scalar": 7, "sliding_window": 5, "layer_types": ["full_attention", "sliding_attention"],
          "rope_parameters": {"full_attention": {**LINEAR, "rope_theta": 1e6},
                              "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}}
GEMMA3_KEYS = {**GEMMA_KEYS, "norm_place": "both", "attention_scale": 7 ** -0.5, "window": 5, "window_layers": [1],
               "query_key_norm": True, "rotary_base": 1e6, "rotary_scaling": "linear", "rotary_factor": 2.0,
               "window_rotary_base": 100.0}
PATTERN = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
PATTERN_KEYS = {"window": 5, "window_layers": [0]}
OLMO3_ROTARY = {"full_attention": YARN, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}
EXAONE4_KEYS = {"norm_place": "after", "query_key_norm": True}
SEED_OSS = {"attention_dropout": 0.0, "residual_dropout": 0.0}
STARCODER2_KEYS = {"norm": "layer", "gated": False, "activation": "gelu-tanh", "attention_bias": True, "output_bias": True,
                   "bias": True}
STABLELM = {"num_attention_heads": 2, "layer_norm_eps": 1e-6, "partial_rotary_factor": 0.5, "use_qkv_bias": True}
STABLELM_KEYS = {"heads": 2, "rotary_width": 2, "norm": "layer", "attention_bias": True}
SIDE_BY_SIDE = {"parallel_branches": True, "shared_norm": True}
GLM = {"head_dim": 2 * HEAD, "rope_parameters": HALF}
GLM_KEYS = {"head_width": 2 * HEAD, "rotary_width": HEAD, "rotary_pairs": "neighbours"}
GPT_NEOX = {"num_attention_heads": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-6,
            "rope_parameters": {**HALF, "partial_rotary_factor": 1.0}}
GPT_NEOX_KEYS = {"heads": 2, "norm": "layer", "gated": False, "activation": "gelu", "output_bias": True, "bias": True,
                 "attention_bias": True}
COHERE = {"num_attention_heads": 2, "layer_norm_eps": 1e-6, "logit_scale": 0.4}
COHERE_KEYS = {**SIDE_BY_SIDE, "heads": 2, "norm": "layer", "norm_bias": False, "logit_scale": 0.4,
               "rotary_pairs": "neighbours"}

# name: a model of transformers, the [model] section for Penstock
CASES = {
    "gpt2_tied": (lambda: gpt2(True), gpt2_keys(True)),
    "gpt2_untied": (lambda: gpt2(False), gpt2_keys(False)),
    "llama_groups_of_1": (lambda: llama_like("Llama", 4, False), llama_keys(4, False)),
    "llama_linear": (lambda: llama_like("Llama", 1, True, rope_parameters=LINEAR),
                     llama_keys(1, True, rotary_scaling="linear", rotary_factor=2.0)),
    "llama3_groups_of_2": (lambda: llama_like("Llama", 2, True, rope_parameters=LLAMA3),
                           llama_keys(2, True, **LLAMA3_KEYS)),
    "mistral_groups_of_4": (lambda: llama_like("Mistral", 1, False, sliding_window=5),
                            llama_keys(1, False, window=5)),
    "qwen2_groups_of_2": (lambda: llama_like("Qwen2", 2, True),
                          llama_keys(2, True, attention_bias=True)),
    "qwen3_groups_of_2": (lambda: llama_like("Qwen3", 2, False),
                          llama_keys(2, False, query_key_norm=True)),
    "granite_tied": (lambda: llama_like("Granite", 2, True, **GRANITE), llama_keys(2, True, **GRANITE_KEYS)),
    "granite_untied": (lambda: llama_like("Granite", 4, False, **GRANITE), llama_keys(4, False, **GRANITE_KEYS)),
    "olmo2_tied": (lambda: llama_like("Olmo2", 4, True), llama_keys(4, True, **OLMO2_KEYS)),
    "olmo2_untied": (lambda: llama_like("Olmo2", 2, False), llama_keys(2, False, **OLMO2_KEYS)),
    "smollm3_tied": (lambda: llama_like("SmolLM3", 2, True, no_rope_layers=[0, 1]),
                     llama_keys(2, True, rotary_base=2e6, rotary_layers=[1])),
    "smollm3_untied": (lambda: llama_like("SmolLM3", 1, False, no_rope_layers=[1, 0]),
                       llama_keys(1, False, rotary_base=2e6, rotary_layers=[0])),
    "phi3_tied": (lambda: llama_like("Phi3", 2, True, sliding_window=7), llama_keys(2, True, window=7)),
    "phi3_untied": (lambda: llama_like("Phi3", 1, False, rope_parameters=HALF),
                    llama_keys(1, False, rotary_width=HEAD // 2)),
    "llama_yarn": (lambda: llama_like("Llama", 2, False, rope_parameters=YARN), llama_keys(2, False, **YARN_KEYS)),
    "qwen2_dynamic": (lambda: llama_like("Qwen2", 2, True, max_position_embeddings=10, rope_parameters=DYNAMIC),
                      llama_keys(2, True, attention_bias=True, rotary_scaling="dynamic", rotary_factor=3.0,
                                 rotary_original=10)),
    "llama_longrope_short": (lambda: llama_like("Llama", 2, False, rope_parameters={
        **LONGROPE, "factor": 1.25, "original_max_position_embeddings": 32}),
                             llama_keys(2, False, **LONGROPE_KEYS, rotary_factor=1.25, rotary_original=32)),
    "llama_longrope_long": (lambda: llama_like("Llama", 4, True, rope_parameters={
        **LONGROPE, "original_max_position_embeddings": 16}),
                            llama_keys(4, True, **LONGROPE_KEYS, rotary_factor=1.5, rotary_original=16)),
    "gemma_tied": (lambda: llama_like("Gemma", 2, True), llama_keys(2, True, **GEMMA_KEYS)),
    "gemma_untied": (lambda: llama_like("Gemma", 1, False), llama_keys(1, False, **GEMMA_KEYS)),
    "gemma2_tied": (lambda: llama_like("Gemma2", 2, True, **GEMMA2), llama_keys(2, True, **GEMMA2_KEYS)),
    "gemma2_untied": (lambda: llama_like("Gemma2", 4, False, **GEMMA2), llama_keys(4, False, **GEMMA2_KEYS)),
    "gemma3_tied": (lambda: llama_like("Gemma3", 2, True, **GEMMA3), llama_keys(2, True, **GEMMA3_KEYS)),
    "gemma3_untied": (lambda: llama_like("Gemma3", 4, False, **GEMMA3, final_logit_softcapping=3.0),
                      llama_keys(4, False, **GEMMA3_KEYS, logit_softcap=3.0)),
    "olmo3_tied": (lambda: llama_like("Olmo3", 4, True, **PATTERN),
                   llama_keys(4, True, **OLMO2_KEYS, **PATTERN_KEYS, rotary_base=5e5)),
    "olmo3_untied": (lambda: llama_like("Olmo3", 2, False, **PATTERN, rope_parameters=OLMO3_ROTARY),
                     llama_keys(2, False, **OLMO2_KEYS, **PATTERN_KEYS, **YARN_KEYS, window_rotary_base=100.0)),
    "ministral_tied": (lambda: llama_like("Ministral", 2, True, **PATTERN), llama_keys(2, True, **PATTERN_KEYS)),
    "ministral_untied": (lambda: llama_like("Ministral", 4, False, sliding_window=7), llama_keys(4, False, window=7)),
    "seed_oss_tied": (lambda: llama_like("SeedOss", 2, True, **SEED_OSS), llama_keys(2, True, attention_bias=True)),
    "seed_oss_untied": (lambda: llama_like("SeedOss", 1, False, **SEED_OSS, attention_out_bias=True, mlp_bias=True),
                        llama_keys(1, False, attention_bias=True, output_bias=True, bias=True)),
    "exaone4_tied": (lambda: llama_like("Exaone4", 2, True, **PATTERN, rope_parameters=LLAMA3),
                     llama_keys(2, True, **EXAONE4_KEYS, **PATTERN_KEYS, **LLAMA3_KEYS, rotary_layers=[0])),
    "exaone4_untied": (lambda: llama_like("Exaone4", 4, False, sliding_window=None,
                                          layer_types=["full_attention"] * LAYERS),
                       llama_keys(4, False, **EXAONE4_KEYS)),
    "starcoder2_tied": (lambda: llama_like("Starcoder2", 2, True, norm_epsilon=1e-6), llama_keys(2, True, **STARCODER2_KEYS)),
    "starcoder2_untied": (lambda: llama_like("Starcoder2", 1, False, norm_epsilon=1e-6, sliding_window=5),
                          llama_keys(1, False, **STARCODER2_KEYS, window=5)),
    "stablelm_tied": (lambda: llama_like("StableLm", 2, True, **STABLELM), llama_keys(2, True, **STABLELM_KEYS)),
    "stablelm_untied": (lambda: llama_like("StableLm", 1, False, **{**STABLELM, "use_qkv_bias": False}),
                        llama_keys(1, False, **{**STABLELM_KEYS, "attention_bias": False})),
    "stablelm_parallel_untied": (lambda: llama_like("StableLm", 2, False, **STABLELM, use_parallel_residual=True),
                                 llama_keys(2, False, **STABLELM_KEYS, **SIDE_BY_SIDE)),
    "glm_tied": (lambda: llama_like("Glm", 2, True, **GLM), llama_keys(2, True, **GLM_KEYS, attention_bias=True)),
    "glm_untied": (lambda: llama_like("Glm", 1, False, **GLM, attention_bias=False), llama_keys(1, False, **GLM_KEYS)),
    "glm4_tied": (lambda: llama_like("Glm4", 2, True, **GLM, attention_bias=False),
                  llama_keys(2, True, **GLM_KEYS, norm_place="both")),
    "glm4_untied": (lambda: llama_like("Glm4", 1, False, **GLM),
                    llama_keys(1, False, **GLM_KEYS, norm_place="both", attention_bias=True)),
    "gpt_neox_tied": (lambda: llama_like("GPTNeoX", 2, True, **GPT_NEOX, use_parallel_residual=False),
                      llama_keys(2, True, **GPT_NEOX_KEYS)),
    "gpt_neox_untied": (lambda: llama_like("GPTNeoX", 2, False, **{**GPT_NEOX, "rope_parameters": HALF}),
                        llama_keys(2, False, **GPT_NEOX_KEYS, parallel_branches=True, rotary_width=2)),
    "cohere_tied": (lambda: llama_like("Cohere", 1, True, **COHERE), llama_keys(1, True, **COHERE_KEYS, rotary_base=5e5)),
    "cohere_untied": (lambda: llama_like("Cohere", 2, False, **COHERE, attention_bias=True, rope_parameters=LLAMA3),
                      llama_keys(2, False, **COHERE_KEYS, **LLAMA3_KEYS, attention_bias=True, output_bias=True)),
    "cohere2_tied": (lambda: llama_like("Cohere2", 1, True, **COHERE, **PATTERN),
                     llama_keys(1, True, **COHERE_KEYS, **PATTERN_KEYS, rotary_layers=[0])),
    "cohere2_untied": (lambda: llama_like("Cohere2", 2, False, **COHERE, sliding_window=7, layer_types=["sliding_attention"] * LAYERS),
                       llama_keys(2, False, **COHERE_KEYS, window=7)),
    "mixtral_untied": (lambda: llama_like("Mixtral", 2, False, num_local_experts=5, **EXPERTS),
                       llama_keys(2, False, **EXPERTS_KEYS)),
    "olmoe_tied": (lambda: llama_like("Olmoe", 2, True, head_dim=WIDTH // HEADS, num_experts=5, **EXPERTS),
                   {**llama_keys(2, True, **EXPERTS_KEYS), "head_width": WIDTH // HEADS,
                    "router_normalised": False, "query_key_norm": True, "query_key_norm_over": "projection"}),
    "qwen2_moe_untied": (lambda: llama_like("Qwen2Moe", 2, False, **QWEN2_MOE),
                         llama_keys(2, False, **QWEN2_MOE_KEYS)),
    "qwen3_moe_tied": (lambda: llama_like("Qwen3Moe", 1, True, **QWEN3_MOE), llama_keys(1, True, **QWEN3_MOE_KEYS)),
    "granite_moe_tied": (lambda: llama_like("GraniteMoe", 2, True, num_local_experts=5, **EXPERTS, **GRANITE),
                         llama_keys(2, True, **EXPERTS_KEYS, **GRANITE_KEYS)),
    "granite_moe_shared_untied": (
        lambda: llama_like("GraniteMoeShared", 4, False, num_local_experts=5, shared_intermediate_size=10, **EXPERTS, **GRANITE),
        llama_keys(4, False, **EXPERTS_KEYS, **GRANITE_KEYS, shared_expert_width=10)),
    "dots1_tied": (lambda: llama_like("Dots1", 2, True, **DOTS1), llama_keys(2, True, **DOTS1_KEYS, balance_rate=0.01)),
    "dots1_untied": (lambda: llama_like("Dots1", 4, False, **DOTS1), llama_keys(4, False, **DOTS1_KEYS)),
    "glm4_moe_tied": (lambda: llama_like("Glm4Moe", 1, True, **GLM4_MOE, use_qk_norm=True),
                      llama_keys(1, True, **GLM4_MOE_KEYS, query_key_norm=True)),
    "glm4_moe_untied": (lambda: llama_like("Glm4Moe", 2, False, **GLM4_MOE),
                        llama_keys(2, False, **GLM4_MOE_KEYS, balance_rate=0.02)),
    "gpt_oss_tied": (lambda: llama_like("GptOss", 2, True, **GPT_OSS, rope_parameters={**YARN, "truncate": False}),
                     llama_keys(2, True, **GPT_OSS_KEYS, **YARN_KEYS, rotary_truncate=False)),
    "gpt_oss_untied": (lambda: llama_like("GptOss", 4, False, **GPT_OSS, rope_parameters=YARN, attention_bias=False),
                       {**llama_keys(4, False, **GPT_OSS_KEYS, **YARN_KEYS), "attention_bias": False, "output_bias": False}),
    "deepseek_untied": (lambda: llama_like("Deepseek", 4, False, **FIRST_DEEPSEEK, n_shared_experts=2, first_k_dense_replace=1),
                        llama_keys(4, False, **FIRST_DEEPSEEK_KEYS, shared_expert_width=16, dense_layers=[0])),
    "deepseek_tied": (lambda: llama_like("Deepseek", 2, True, **FIRST_DEEPSEEK, norm_topk_prob=True),
                      llama_keys(2, True, **{**FIRST_DEEPSEEK_KEYS, "router_normalised": True})),
}

GPT2_NAMES = {"ln_1": "norm1", "ln_2": "norm2", "attn.c_proj": "attention.output",
              "mlp.c_fc": "feed_forward.in", "mlp.c_proj": "feed_forward.out"}
LLAMA_NAMES = {"input_layernorm": "norm1", "post_attention_layernorm": "norm2",
               "self_attn.q_proj": "attention.query", "self_attn.k_proj": "attention.key",
               "self_attn.v_proj": "attention.value", "self_attn.o_proj": "attention.output",
               "self_attn.q_norm": "attention.query_norm", "self_attn.k_norm": "attention.key_norm",
               "mlp.gate_proj": "feed_forward.gate", "mlp.up_proj": "feed_forward.in",
               "mlp.down_proj": "feed_forward.out", "mlp.gate": "experts.router",
               "mlp.router": "experts.router", "mlp.shared_expert.gate_proj": "experts.shared.gate",
               "mlp.shared_expert.up_proj": "experts.shared.in",
               "mlp.shared_expert.down_proj": "experts.shared.out",
               "mlp.shared_expert_gate": "experts.shared_gate",
               "mlp.shared_experts.gate_proj": "experts.shared.gate",
               "mlp.shared_experts.up_proj": "experts.shared.in",
               "mlp.shared_experts.down_proj": "experts.shared.out",
               "block_sparse_moe.router": "experts.router", "shared_mlp.output_linear": "experts.shared.out"}
OLMO2_NAMES = {**LLAMA_NAMES, "post_attention_layernorm": "norm1",
               "post_feedforward_layernorm": "norm2"}
GEMMA2_NAMES = {**LLAMA_NAMES, "post_attention_layernorm": "norm1_after", "pre_feedforward_layernorm": "norm2",
                "post_feedforward_layernorm": "norm2_after"}
STARCODER2_NAMES = {**LLAMA_NAMES, "mlp.c_fc": "feed_forward.in", "mlp.c_proj": "feed_forward.out"}
GLM_NAMES = {**LLAMA_NAMES, "post_self_attn_layernorm": "norm1_after", "post_mlp_layernorm": "norm2_after"}
GPT_NEOX_NAMES = {**LLAMA_NAMES, "attention.dense": "attention.output", "mlp.dense_h_to_4h": "feed_forward.in",
                  "mlp.dense_4h_to_h": "feed_forward.out"}
NAMES = {"glm4": GLM_NAMES, "gpt_neox": GPT_NEOX_NAMES, "olmo2": OLMO2_NAMES, "gemma2": GEMMA2_NAMES, "gemma3_text": GEMMA2_NAMES, "olmo3": OLMO2_NAMES,
         "exaone4": OLMO2_NAMES, "starcoder2": STARCODER2_NAMES}
OUTER_NAMES = {"transformer.wte": "embedding.token", "transformer.wpe": "embedding.position",
               "transformer.ln_f": "norm", "model.embed_tokens": "embedding.token",
               "model.norm": "norm", "lm_head": "classifier", "gpt_neox.embed_in": "embedding.token",
               "gpt_neox.final_layer_norm": "norm"}


def parts_of_phi3(inside, tensor):
    """By name what the family keeps in one matrix."""
    if inside == "mlp.gate_up_proj":
        return dict(zip(("feed_forward.gate", "feed_forward.in"), tensor.chunk(2)))
    keys = (len(tensor) - HEADS * HEAD) // 2
    return dict(zip(("attention.query", "attention.key", "attention.value"),
                    tensor.split([HEADS * HEAD, keys, keys])))


def ours(family, name, tensor):
    """The tensor under Penstock's names, which may be several."""
    path, _, last = name.rpartition(".")
    if path in OUTER_NAMES:
        return {f"{OUTER_NAMES[path]}.{last}": tensor}
    parts = path.split(".")
    block = f"blocks.{parts[2]}."
    inside = ".".join(parts[3:])
    if inside == "attention.query_key_value":  # queries, keys and values of a head, then those of the next
        heads = tensor.view(-1, 3, HEAD, *tensor.shape[1:])
        return {f"{block}attention.{part}.{last}": heads[:, i].reshape(-1, *tensor.shape[1:])
                for i, part in enumerate(("query", "key", "value"))}
    if inside in ("self_attn.qkv_proj", "mlp.gate_up_proj"):
        return {f"{block}{part}.{last}": piece for part, piece in parts_of_phi3(inside, tensor).items()}
    if inside == "shared_mlp.input_linear":
        return {f"{block}experts.shared.{part}.{last}": piece for part, piece in zip(("gate", "in"), tensor.chunk(2))}
    if last == "e_score_correction_bias":
        return {f"{block}experts.router.correction": tensor}
    if last == "sinks":
        return {f"{block}attention.sinks": tensor}
    if ".experts." in inside:  # a matrix of one expert, which stacked() puts to the others
        *_, number, part = parts
        return {f"{block}{LLAMA_NAMES['mlp.' + part].replace('feed_forward', 'experts')}.{last}#{number}": tensor}
    if inside.endswith(".experts") and family == "gpt_oss":  # [in, out], or a bias; columns of gate and in take turns
        kind = "bias" if last.endswith("bias") else "weight"
        turned = tensor.transpose(-1, 1)
        if last.startswith("down_proj"):
            return {f"{block}experts.out.{kind}": turned}
        return {f"{block}experts.gate.{kind}": turned[:, ::2], f"{block}experts.in.{kind}": turned[:, 1::2]}
    if inside.endswith(".experts"):  # matrices of all experts, whose parameters have no name of their own
        pieces = tensor.chunk(2, 1) if last == "gate_up_proj" else [tensor]
        names = ("gate", "in") if last == "gate_up_proj" else ("out",)
        return {f"{block}experts.{part}.weight": piece for part, piece in zip(names, pieces)}
    if parts[0] != "transformer":
        return {f"{block}{NAMES.get(family, LLAMA_NAMES)[inside]}.{last}": tensor}
    turned = tensor.T if tensor.dim() == 2 else tensor  # Conv1D keeps [in, out]
    if inside != "attn.c_attn":
        return {f"{block}{GPT2_NAMES[inside]}.{last}": turned}
    return {f"{block}attention.{part}.{last}": piece
            for part, piece in zip(("query", "key", "value"), turned.chunk(3))}


def corrections(model):
    """By name what routers add to scores for the choice: buffers, which no gradient moves."""
    return {name: buffer for name, buffer in model.named_buffers() if name.endswith("e_score_correction_bias")}


def named(model, of):
    found = {}
    for name, parameter in model.named_parameters():  # tied ones once
        for own, tensor in ours(model.config.model_type, name, of(parameter).detach()).items():
            found[own] = tensor.clone().contiguous()
    return stacked(found)


def stacked(found):
    """The tensors with those called "name#0", "name#1", ... in one."""
    whole = {name: tensor for name, tensor in found.items() if "#" not in name}
    pieces = [name.split("#") for name in found if "#" in name]
    for name in sorted({name for name, _ in pieces}):
        count = sum(name == other for other, _ in pieces)
        whole[name] = torch.stack([found[f"{name}#{i}"] for i in range(count)])
    return whole


def kept(model):
    found = named(model, lambda p: p)
    for name, buffer in corrections(model).items():
        found |= {own: tensor.clone() for own, tensor in ours(model.config.model_type, name, buffer).items()}
    return found


def is_spared(name):
    return name.endswith(("bias", "sinks")) or "norm" in name


class Routing:
    """What the routers of a model have done in its last forward."""

    def __init__(self, model, keys):
        self.keys, self.calls = keys, []
        for module in model.modules():
            if type(module).__name__.lower().endswith("topkrouter"):
                module.register_forward_hook(lambda router, _, made: self.calls.append((router, made[0], made[2])))

    def nearest_choice(self):
        """How near a token came to another expert or group: the gap below the last that it chose, over all layers."""
        gaps = [1.0]
        for router, scores, _ in self.calls:
            if self.keys.get("router_correction"):
                scores = scores.sigmoid() + router.e_score_correction_bias
            groups, chosen = self.keys.get("expert_groups", 1), self.keys.get("groups_per_token", 1)
            if chosen < groups:
                sums = scores.view(len(scores), groups, -1).topk(2).values.sum(-1)
                gaps.append(gap_below(sums, chosen))
                kept = torch.zeros_like(sums).scatter(1, sums.topk(chosen).indices, 1.0).bool()
                scores = scores.masked_fill(~kept.repeat_interleave(scores.shape[1] // groups, 1), -torch.inf)
            gaps.append(gap_below(scores, self.keys["experts_per_token"]))
        return min(gaps)

    def balance(self):
        """The rule of model.balance_rate, after a step."""
        for router, scores, chosen in self.calls:
            rows = torch.bincount(chosen.flatten(), minlength=scores.shape[1]).float()
            router.e_score_correction_bias += self.keys.get("balance_rate", 0.0) * (rows.mean() - rows).sign()


def gap_below(scores, chosen):
    ordered = scores.sort(descending=True).values
    return (ordered[:, chosen - 1] - ordered[:, chosen]).min().item()


def golden(make, keys, seed):
    """With the first seed from this one on with which no token is all but undecided between two experts in any step:
    rounding would send it to another than here, and all numbers from there on would differ."""
    while (made := numbers_of(make, keys, seed)) is None:
        seed += 1000
    return made


def numbers_of(make, keys, seed):
    torch.manual_seed(seed)
    model = make()
    # What a norm multiplies by is about 1, so that 20 steps do not make much of a rounding.
    scale = 0.0 if keys.get("norm_zero_centered") else 1.0
    for name, parameter in model.named_parameters():  # norms and biases, too, are to matter
        spread = 0.3 if parameter.dim() > 1 else 0.2
        torch.nn.init.normal_(parameter, scale if "norm" in name or ".ln_" in name else 0.0, spread)
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, 0.0, 0.2)
    for buffer in corrections(model).values():
        torch.nn.init.normal_(buffer, 0.0, 0.2)
    routing = Routing(model, keys)
    tokens = torch.randint(VOCABULARY, (ROWS, CONTEXT))
    labels = torch.randint(VOCABULARY, (ROWS, CONTEXT))
    labels[1, -5:] = -1
    tensors = {"tokens": tokens.int(), "labels": labels.int()}
    tensors |= {"weights/" + k: v for k, v in kept(model).items()}

    # One optimizer of each kind of parameter; of fused tensors all parts are of one kind.
    kinds = {True: [], False: []}
    for name, parameter in model.named_parameters():
        kinds[all(is_spared(own) for own in ours(model.config.model_type, name, parameter))].append(parameter)
    adamw = torch.optim.AdamW([{"params": kinds[False], "weight_decay": DECAY},
                               {"params": kinds[True], "weight_decay": 0.0}], lr=RATE, eps=EPSILON)
    for step in range(STEPS):
        routing.calls.clear()
        logits = model(input_ids=tokens).logits
        if routing.nearest_choice() < NEAREST_CHOICE:
            return None
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY), labels.reshape(-1), ignore_index=-1)
        adamw.zero_grad()
        loss.backward()
        if step == 0:
            tensors["logits"] = logits.detach().clone()
            tensors |= {"gradients/" + k: v for k, v in named(model, lambda p: p.grad).items()}
        adamw.step()
        if corrections(model):
            routing.balance()
    tensors |= {"after/" + k: v for k, v in kept(model).items()}
    section = {"kind": "decoder", "layers": LAYERS, "context": CONTEXT, "vocabulary": VOCABULARY,
               **keys}
    text = "[model]\n" + "".join(
        f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}\n".replace("'", '"')
        for key, value in section.items())
    optimizer = (f'[optimizer]\nkind = "adamw"\nlearning_rate = {RATE}\n'
                 f"weight_decay = {DECAY}\nepsilon = {EPSILON}\n")
    return tensors, {"run": text + optimizer, "steps": str(STEPS)}


def write_all(folder, first_seed):
    for seed, (name, (make, keys)) in enumerate(CASES.items(), first_seed):
        tensors, metadata = golden(make, keys, seed)
        save_file(tensors, pathlib.Path(folder) / f"{name}.safetensors", metadata)


def main():
    torch.set_num_threads(1)
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        write_all(sys.argv[2], 0)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_all(folder, 100)
        environment = dict(os.environ, PENSTOCK_GOLDENS=folder)
        sys.exit(subprocess.run([sys.argv[1]], env=environment, check=False).returncode)


main()
