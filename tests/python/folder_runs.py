"""What hub_test.py and lora_test.py share: small folders of every family with random weights, runs on two ranks that begin with them, and the
same steps in PyTorch. Leaves with 77 where packages are missing.
"""

import contextlib
import json
import pathlib
import tempfile

from command import run, skip

try:
    import numpy
    import torch
    import transformers
    from deepseek import DeepseekConfig
except ImportError as missing:
    skip(missing, "transformers safetensors numpy torch")

transformers.logging.set_verbosity_error()
CONTEXT, VOCABULARY, RATE = 12, 61, 1e-3
MICRO_BATCHES, ROWS = 2, 3
# The gradient of a key's bias is nothing but rounding, which a smaller one would make whole steps of.
EPSILON = 1e-5
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
         "max_position_embeddings": 64, "initializer_range": 0.1, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
GRANITE = {"embedding_multiplier": 6.0, "residual_multiplier": 0.22, "attention_multiplier": 0.3, "logits_scaling": 4.0}
PARTIAL = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}
LONGROPE = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.1, 1.7, 3.0, 9.0]}
GEMMA = {"head_dim": 16, "num_key_value_heads": 2}
GEMMA2 = {**GEMMA, "query_pre_attn_scalar": 24, "sliding_window": 5}
PATTERN = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
OLMO3_ROTARY = {"full_attention": YARN, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}
NEOX = {"rope_parameters": {**PARTIAL, "rope_theta": 100.0}}
STABLELM = {**SIZES, "num_key_value_heads": 2, "rope_parameters": PARTIAL}
GEMMA3_ROTARY = {"full_attention": {**LINEAR, "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}
FOLDERS = {
    "gpt2": (transformers.GPT2Config(n_layer=3, n_embd=32, n_head=4, vocab_size=VOCABULARY, n_positions=64, initializer_range=0.1,
                                     attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, bos_token_id=1, eos_token_id=2), "float32"),
    "llama-3": (transformers.LlamaConfig(**SIZES, num_key_value_heads=2, rope_parameters=LLAMA3), "bfloat16"),
    "llama-tied": (transformers.LlamaConfig(**SIZES, num_key_value_heads=4, rope_parameters=LINEAR, tie_word_embeddings=True,
                                            attention_bias=True, mlp_bias=True), "float16"),
    "mistral": (transformers.MistralConfig(**SIZES, num_key_value_heads=1, head_dim=16, sliding_window=5), "float32"),
    "qwen2": (transformers.Qwen2Config(**SIZES, num_key_value_heads=2, tie_word_embeddings=True), "float32"),
    "qwen2-windows": (transformers.Qwen2Config(**SIZES, num_key_value_heads=2, use_sliding_window=True, sliding_window=4, max_window_layers=1),
                      "float32"),
    "qwen3-windows": (transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16, use_sliding_window=True, sliding_window=5,
                                               layer_types=["sliding_attention", "full_attention", "sliding_attention"]), "float32"),
    "qwen3": (transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16), "float32"),
    "granite": (transformers.GraniteConfig(**SIZES, num_key_value_heads=2, **GRANITE), "bfloat16"),
    "granite-tied": (transformers.GraniteConfig(**SIZES, num_key_value_heads=4, **GRANITE, tie_word_embeddings=True,
                                                attention_bias=True, mlp_bias=True), "float32"),
    "olmo2": (transformers.Olmo2Config(**SIZES, num_key_value_heads=2), "float32"),
    "olmo2-tied": (transformers.Olmo2Config(**SIZES, num_key_value_heads=4, tie_word_embeddings=True), "bfloat16"),
    "smollm3": (transformers.SmolLM3Config(**SIZES, num_key_value_heads=2, no_rope_layer_interval=2), "float32"),
    "smollm3-untied": (transformers.SmolLM3Config(**SIZES, num_key_value_heads=1, no_rope_layers=[0, 1, 1], tie_word_embeddings=False,
                                                  use_sliding_window=True, sliding_window=5), "bfloat16"),
    "llama-yarn": (transformers.LlamaConfig(**SIZES, num_key_value_heads=2, rope_parameters=YARN), "bfloat16"),
    "qwen2-dynamic": (transformers.Qwen2Config(**SIZES, num_key_value_heads=2, rope_parameters=DYNAMIC), "float32"),
    "phi3-longrope": (transformers.Phi3Config(**SIZES, num_key_value_heads=2, rope_parameters=LONGROPE,
                                              original_max_position_embeddings=6), "float32"),
    "gemma": (transformers.GemmaConfig(**SIZES, **GEMMA), "bfloat16"),
    "gemma-untied": (transformers.GemmaConfig(**SIZES, **GEMMA, tie_word_embeddings=False, attention_bias=True), "float32"),
    "gemma2": (transformers.Gemma2Config(**SIZES, **GEMMA2), "float32"),
    "gemma2-untied": (transformers.Gemma2Config(**SIZES, **GEMMA2, tie_word_embeddings=False, attn_logit_softcapping=None), "bfloat16"),
    "gemma3": (transformers.Gemma3TextConfig(**SIZES, **GEMMA2, sliding_window_pattern=2), "bfloat16"),
    "gemma3-untied": (transformers.Gemma3TextConfig(**SIZES, **GEMMA2, tie_word_embeddings=False, rope_parameters=GEMMA3_ROTARY,
                                                    layer_types=["full_attention", "sliding_attention", "sliding_attention"]), "float32"),
    "phi3": (transformers.Phi3Config(**SIZES, num_key_value_heads=2, head_dim=8, rope_parameters=PARTIAL), "bfloat16"),
    "mixtral": (transformers.MixtralConfig(**SIZES, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2), "float32"),
    "olmoe": (transformers.OlmoeConfig(**SIZES, num_key_value_heads=2, num_experts=5, num_experts_per_tok=2), "bfloat16"),
    "qwen2-moe": (transformers.Qwen2MoeConfig(**SIZES, num_key_value_heads=2, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                                              shared_expert_intermediate_size=20), "float32"),
    "qwen3-moe": (transformers.Qwen3MoeConfig(**SIZES, num_key_value_heads=2, head_dim=16, num_experts=6, num_experts_per_tok=3,
                                              moe_intermediate_size=12, norm_topk_prob=True, decoder_sparse_step=2), "bfloat16"),
    "granite-moe": (transformers.GraniteMoeConfig(**SIZES, num_key_value_heads=2, **GRANITE, num_local_experts=4, num_experts_per_tok=2),
                    "bfloat16"),
    "granite-moe-shared": (transformers.GraniteMoeSharedConfig(**SIZES, num_key_value_heads=4, **GRANITE, num_local_experts=5,
                                                               num_experts_per_tok=2, shared_intermediate_size=20, tie_word_embeddings=True),
                           "float32"),
    "dots1": (transformers.Dots1Config(**SIZES, num_key_value_heads=2, n_routed_experts=6, num_experts_per_tok=2, n_group=3, topk_group=2,
                                       n_shared_experts=2, moe_intermediate_size=12, first_k_dense_replace=1, norm_topk_prob=True,
                                       routed_scaling_factor=1.5, sliding_window=5, max_window_layers=1), "float32"),
    "glm4-moe": (transformers.Glm4MoeConfig(**SIZES, num_key_value_heads=2, head_dim=16, n_routed_experts=4, num_experts_per_tok=2,
                                            n_shared_experts=1, moe_intermediate_size=12, use_qk_norm=True, attention_bias=True,
                                            first_k_dense_replace=1, routed_scaling_factor=2.0), "bfloat16"),
    "deepseek": (DeepseekConfig(**SIZES, num_key_value_heads=4, n_routed_experts=6, num_experts_per_tok=3, n_shared_experts=2,
                                moe_intermediate_size=12, first_k_dense_replace=1), "bfloat16"),
    "deepseek-tied": (DeepseekConfig(**SIZES, num_key_value_heads=2, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                                     norm_topk_prob=True, attention_bias=True, tie_word_embeddings=True), "float32"),
    "gpt-oss": (transformers.GptOssConfig(**SIZES, num_key_value_heads=2, head_dim=16, num_local_experts=5, num_experts_per_tok=2,
                                          sliding_window=5, swiglu_limit=1.0, rope_parameters={**YARN, "truncate": False}), "bfloat16"),
    "gpt-oss-tied": (transformers.GptOssConfig(**SIZES, num_key_value_heads=4, head_dim=8, num_local_experts=4, num_experts_per_tok=2,
                                               sliding_window=4, attention_bias=False, rope_parameters=YARN, tie_word_embeddings=True),
                     "float32"),
    "olmo3": (transformers.Olmo3Config(**SIZES, **PATTERN, num_key_value_heads=2, rope_parameters=OLMO3_ROTARY), "bfloat16"),
    "olmo3-tied": (transformers.Olmo3Config(**SIZES, num_key_value_heads=4, sliding_window=4, tie_word_embeddings=True), "float32"),
    "ministral": (transformers.MinistralConfig(**SIZES, **PATTERN, num_key_value_heads=2, head_dim=16), "float32"),
    "ministral-tied": (transformers.MinistralConfig(**SIZES, num_key_value_heads=4, head_dim=8, sliding_window=7,
                                                    tie_word_embeddings=True), "bfloat16"),
    "seed-oss": (transformers.SeedOssConfig(**SIZES, num_key_value_heads=2, head_dim=16, attention_dropout=0.0, residual_dropout=0.0),
                 "bfloat16"),
    "seed-oss-tied": (transformers.SeedOssConfig(**SIZES, num_key_value_heads=4, head_dim=8, attention_dropout=0.0, residual_dropout=0.0,
                                                 attention_out_bias=True, mlp_bias=True, tie_word_embeddings=True), "float32"),
    "exaone4": (transformers.Exaone4Config(**SIZES, **PATTERN, num_key_value_heads=2, rope_parameters=LLAMA3), "float32"),
    "exaone4-tied": (transformers.Exaone4Config(**SIZES, num_key_value_heads=4, sliding_window=None, layer_types=["full_attention"] * 3,
                                                tie_word_embeddings=True), "bfloat16"),
    "starcoder2": (transformers.Starcoder2Config(**SIZES, num_key_value_heads=2, sliding_window=5), "float32"),
    "starcoder2-untied": (transformers.Starcoder2Config(**SIZES, num_key_value_heads=1, use_bias=False, tie_word_embeddings=False),
                          "bfloat16"),
    "stablelm": (transformers.StableLmConfig(**STABLELM, use_qkv_bias=True), "bfloat16"),
    "stablelm-tied": (transformers.StableLmConfig(**STABLELM, tie_word_embeddings=True), "float32"),
    "stablelm-parallel": (transformers.StableLmConfig(**STABLELM, use_parallel_residual=True), "float32"),
    "glm": (transformers.GlmConfig(**SIZES, num_key_value_heads=2, head_dim=16), "float32"),
    "glm-tied": (transformers.GlmConfig(**SIZES, num_key_value_heads=1, head_dim=8, attention_bias=False, tie_word_embeddings=True), "bfloat16"),
    "glm4": (transformers.Glm4Config(**SIZES, num_key_value_heads=2, head_dim=16), "bfloat16"),
    "glm4-tied": (transformers.Glm4Config(**SIZES, num_key_value_heads=4, head_dim=8, attention_bias=False, tie_word_embeddings=True), "float32"),
    "gpt-neox": (transformers.GPTNeoXConfig(**SIZES, **NEOX), "float16"),
    "gpt-neox-tied": (transformers.GPTNeoXConfig(**SIZES, use_parallel_residual=False, attention_bias=False, tie_word_embeddings=True), "float32"),
    "cohere": (transformers.CohereConfig(**SIZES, num_key_value_heads=2), "bfloat16"),
    "cohere-untied": (transformers.CohereConfig(**SIZES, logit_scale=0.3, attention_bias=True, rope_parameters=LINEAR,
                                                tie_word_embeddings=False), "float32"),
    "cohere2": (transformers.Cohere2Config(**SIZES, **PATTERN, num_key_value_heads=2), "float32"),
    "cohere2-untied": (transformers.Cohere2Config(**SIZES, num_key_value_heads=1, sliding_window=4, tie_word_embeddings=False), "bfloat16"),
    "phi3-tied": (transformers.Phi3Config(**SIZES, num_key_value_heads=4, sliding_window=5, tie_word_embeddings=True), "float32"),
}
RUN_FILE = f"""[model]
context = {CONTEXT}
[data]
kind = "tokens"
train = "tokens.npy"
shuffle = false
[optimizer]
kind = "adamw"
weight_decay = 0.1
epsilon = {EPSILON}
[pipeline]
stages = 2
micro_batches = {MICRO_BATCHES}
micro_batch_size = {ROWS}
[run]
threads = 1
trace = 0
"""


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def random_folder(config, dtype, folder, file_size="20KB"):
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(config).to(getattr(torch, dtype))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1 or name.endswith("bias"):  # norms and biases, which begin as ones and zeros
                weight.add_(torch.randn_like(weight) * 0.1)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.normal_(0.0, 0.1)
    model.save_pretrained(folder, max_shard_size=file_size)


def difference(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def logits_of(program, checkpoint, model):
    computed = json.loads(run(program, checkpoint))
    with torch.no_grad():
        theirs = model(torch.tensor(computed["tokens"])).logits.flatten(0, 1)
    return torch.tensor(computed["logits"]), theirs


def steps_in_pytorch(model, optimizer, tokens, steps):
    """As a run of RUN_FILE takes them, rows end to end; the last loss."""
    rows = MICRO_BATCHES * ROWS
    for step in range(steps):
        first = step * rows * CONTEXT
        inputs = tokens[first:first + rows * CONTEXT].view(rows, CONTEXT)
        labels = tokens[first + 1:first + 1 + rows * CONTEXT].view(rows, CONTEXT)
        loss = torch.nn.functional.cross_entropy(model(inputs).logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@contextlib.contextmanager
def scratch_with_tokens(name, seed, steps):
    """A folder with run.toml and random tokens for as many steps of it; and the tokens."""
    with tempfile.TemporaryDirectory(prefix=f"penstock-{name}-") as place:
        scratch = pathlib.Path(place)
        numbers = numpy.random.default_rng(seed).integers(0, VOCABULARY, MICRO_BATCHES * ROWS * CONTEXT * steps + 1, dtype=numpy.uint16)
        numpy.save(scratch / "tokens.npy", numbers)
        (scratch / "run.toml").write_text(RUN_FILE)
        yield scratch, torch.tensor(numbers.astype(numpy.int64))


def train(programs, scratch, folder, steps, rate, out, *options):
    """From the folder's weights, in two stages."""
    script, penstock, _ = programs
    run(script, "-n", 2, penstock, "train", scratch / "run.toml", "--model.from", folder,
        "--steps", steps, "--optimizer.learning_rate", rate, "--out", out, *options)
