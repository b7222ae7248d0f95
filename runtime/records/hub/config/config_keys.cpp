#include "runtime/records/hub/config/config_keys.h"

#include <array>

namespace penstock {
namespace {

constexpr std::array kKeys = {
    // These say what the model is, and where it comes from.
    "architectures", "auto_map", "base_model", "base_model_name_or_path", "custom_pipelines",
    "is_llama_config", "license", "model_name", "model_type", "name_or_path", "tokenizer_class",
    "transformers.js_config", "transformers_version", "unsloth_fixed", "unsloth_version",
    // These say how the model is kept and run.
    "attn_implementation", "cache_implementation", "dtype", "ep_size", "gradient_checkpointing",
    "max_sequence_length", "model_max_length", "output_attentions", "output_hidden_states",
    "pretraining_tp", "return_dict", "seq_length", "torch_dtype", "torchscript", "tp_size",
    "use_bfloat16", "use_cache", "use_flash_attention", "use_flash_attention_2", "use_flash_attn",
    // These name tokens.
    "begin_suppress_tokens", "bos_token_id", "cls_token_id", "decoder_start_token_id",
    "eos_token_id", "pad_token_id", "prefix", "sep_token_id", "suppress_tokens", "unk_token_id",
    // These are for training: how weights begin, and rates of dropout. Penstock has model.dropout
    // for the latter.
    "attention_dropout", "attn_pdrop", "dropout", "embd_pdrop", "embedding_dropout",
    "hidden_dropout", "hidden_dropout_prob", "initializer_range", "layerdrop",
    "neftune_noise_alpha", "resid_pdrop", "residual_dropout",
    // Mixtures of experts have the weight of a loss over all layers, which output_router_logits
    // switches on. Penstock has model.balance_loss, by layer.
    "output_router_logits", "router_aux_loss_coef",
    // These are for heads of other tasks.
    "classifier_dropout", "finetuning_task", "id2label", "is_decoder", "label2id", "num_labels",
    "problem_type", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
    "summary_type", "summary_use_proj", "task_specific_params",
    // These are for generating texts; older versions of transformers kept them in this file.
    "bad_words_ids", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "max_new_tokens", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences", "output_scores",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "temperature",
    "top_k", "top_p", "typical_p",
    // These say how the same result is computed, in chunks or reordered. n_ctx is an older name of
    // the context's length.
    "chunk_size_feed_forward", "n_ctx", "reorder_and_upcast_attn"};

}  // namespace

std::span<const char* const> keys_without_effect() {
  return kKeys;
}

}  // namespace penstock
