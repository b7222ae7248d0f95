// runtime/records/hub/name_tables.cpp -- the tables of names.h, one a family.
#include <algorithm>
#include <string_view>

#include "kernels/error.h"
#include "runtime/records/hub/names.h"

namespace penstock {
namespace {

// clang-format off
constexpr NameRow kGpt2[] = {
    {"embedding.token.weight", "transformer.wte.weight"},
    {"embedding.position.weight", "transformer.wpe.weight", TensorLayout::FirstRows},
    {"blocks.#.norm1.weight", "transformer.h.#.ln_1.weight"},
    {"blocks.#.norm1.bias", "transformer.h.#.ln_1.bias"},
    {"blocks.#.attention.query.weight", "transformer.h.#.attn.c_attn.weight", TensorLayout::Transposed, 0, 3},
    {"blocks.#.attention.key.weight", "transformer.h.#.attn.c_attn.weight", TensorLayout::Transposed, 1, 3},
    {"blocks.#.attention.value.weight", "transformer.h.#.attn.c_attn.weight", TensorLayout::Transposed, 2, 3},
    {"blocks.#.attention.query.bias", "transformer.h.#.attn.c_attn.bias", TensorLayout::Same, 0, 3},
    {"blocks.#.attention.key.bias", "transformer.h.#.attn.c_attn.bias", TensorLayout::Same, 1, 3},
    {"blocks.#.attention.value.bias", "transformer.h.#.attn.c_attn.bias", TensorLayout::Same, 2, 3},
    {"blocks.#.attention.output.weight", "transformer.h.#.attn.c_proj.weight", TensorLayout::Transposed},
    {"blocks.#.attention.output.bias", "transformer.h.#.attn.c_proj.bias"},
    {"blocks.#.norm2.weight", "transformer.h.#.ln_2.weight"},
    {"blocks.#.norm2.bias", "transformer.h.#.ln_2.bias"},
    {"blocks.#.feed_forward.in.weight", "transformer.h.#.mlp.c_fc.weight", TensorLayout::Transposed},
    {"blocks.#.feed_forward.in.bias", "transformer.h.#.mlp.c_fc.bias"},
    {"blocks.#.feed_forward.out.weight", "transformer.h.#.mlp.c_proj.weight", TensorLayout::Transposed},
    {"blocks.#.feed_forward.out.bias", "transformer.h.#.mlp.c_proj.bias"},
    {"norm.weight", "transformer.ln_f.weight"},
    {"norm.bias", "transformer.ln_f.bias"},
    {"classifier.weight", "lm_head.weight"},
};

// Most families share the names of Llama. A network's config.json tells which of these tensors it
// has.
constexpr NameRow kLlama[] = {
    {"embedding.token.weight", "model.embed_tokens.weight"},
    {"blocks.#.norm1.weight", "model.layers.#.input_layernorm.weight"},
    {"blocks.#.norm1.bias", "model.layers.#.input_layernorm.bias"},
    {"blocks.#.attention.query.weight", "model.layers.#.self_attn.q_proj.weight"},
    {"blocks.#.attention.query.bias", "model.layers.#.self_attn.q_proj.bias"},
    {"blocks.#.attention.key.weight", "model.layers.#.self_attn.k_proj.weight"},
    {"blocks.#.attention.key.bias", "model.layers.#.self_attn.k_proj.bias"},
    {"blocks.#.attention.value.weight", "model.layers.#.self_attn.v_proj.weight"},
    {"blocks.#.attention.value.bias", "model.layers.#.self_attn.v_proj.bias"},
    {"blocks.#.attention.output.weight", "model.layers.#.self_attn.o_proj.weight"},
    {"blocks.#.attention.output.bias", "model.layers.#.self_attn.o_proj.bias"},
    {"blocks.#.attention.query_norm.weight", "model.layers.#.self_attn.q_norm.weight"},
    {"blocks.#.attention.key_norm.weight", "model.layers.#.self_attn.k_norm.weight"},
    {"blocks.#.norm2.weight", "model.layers.#.post_attention_layernorm.weight"},
    {"blocks.#.norm2.bias", "model.layers.#.post_attention_layernorm.bias"},
    {"blocks.#.feed_forward.gate.weight", "model.layers.#.mlp.gate_proj.weight"},
    {"blocks.#.feed_forward.gate.bias", "model.layers.#.mlp.gate_proj.bias"},
    {"blocks.#.feed_forward.in.weight", "model.layers.#.mlp.up_proj.weight"},
    {"blocks.#.feed_forward.in.bias", "model.layers.#.mlp.up_proj.bias"},
    {"blocks.#.feed_forward.out.weight", "model.layers.#.mlp.down_proj.weight"},
    {"blocks.#.feed_forward.out.bias", "model.layers.#.mlp.down_proj.bias"},
    {"norm.weight", "model.norm.weight"},
    {"norm.bias", "model.norm.bias"},
    {"classifier.weight", "lm_head.weight"},
};

// What differs from kLlama: norms behind attention and feed-forward layers.
constexpr NameRow kOlmo2[] = {
    {"blocks.#.norm1.weight", "model.layers.#.post_attention_layernorm.weight"},
    {"blocks.#.norm2.weight", "model.layers.#.post_feedforward_layernorm.weight"},
};

// What differs from kLlama: a feed-forward layer without a gate.
constexpr NameRow kStarcoder2[] = {
    {"blocks.#.feed_forward.in.weight", "model.layers.#.mlp.c_fc.weight"},
    {"blocks.#.feed_forward.in.bias", "model.layers.#.mlp.c_fc.bias"},
    {"blocks.#.feed_forward.out.weight", "model.layers.#.mlp.c_proj.weight"},
    {"blocks.#.feed_forward.out.bias", "model.layers.#.mlp.c_proj.bias"},
};

// What differs from kLlama: a second norm behind attention and feed-forward layers. The name that is
// there of the norm behind attention is that of Llama's norm before the feed-forward layer.
constexpr NameRow kGemma2[] = {
    {"blocks.#.norm1_after.weight", "model.layers.#.post_attention_layernorm.weight"},
    {"blocks.#.norm2.weight", "model.layers.#.pre_feedforward_layernorm.weight"},
    {"blocks.#.norm2_after.weight", "model.layers.#.post_feedforward_layernorm.weight"},
};

// What differs from kLlama: matrices in one.
constexpr NameRow kPhi3[] = {
    {"blocks.#.attention.query.weight", "model.layers.#.self_attn.qkv_proj.weight", TensorLayout::LargeFirstPart, 0, 3},
    {"blocks.#.attention.key.weight", "model.layers.#.self_attn.qkv_proj.weight", TensorLayout::LargeFirstPart, 1, 3},
    {"blocks.#.attention.value.weight", "model.layers.#.self_attn.qkv_proj.weight", TensorLayout::LargeFirstPart, 2, 3},
    {"blocks.#.feed_forward.gate.weight", "model.layers.#.mlp.gate_up_proj.weight", TensorLayout::Same, 0, 2},
    {"blocks.#.feed_forward.in.weight", "model.layers.#.mlp.gate_up_proj.weight", TensorLayout::Same, 1, 2},
};

// What differs from kLlama: the two matrices that go into a feed-forward layer in one. GLM-4 has norms on both sides,
// too, and Llama's name for the norm before the feed-forward layer.
constexpr NameRow kGlm[] = {
    {"blocks.#.feed_forward.gate.weight", "model.layers.#.mlp.gate_up_proj.weight", TensorLayout::Same, 0, 2},
    {"blocks.#.feed_forward.in.weight", "model.layers.#.mlp.gate_up_proj.weight", TensorLayout::Same, 1, 2},
    {"blocks.#.norm1_after.weight", "model.layers.#.post_self_attn_layernorm.weight"},
    {"blocks.#.norm2_after.weight", "model.layers.#.post_mlp_layernorm.weight"},
};

constexpr NameRow kGptNeox[] = {
    {"embedding.token.weight", "gpt_neox.embed_in.weight"},
    {"blocks.#.norm1.weight", "gpt_neox.layers.#.input_layernorm.weight"},
    {"blocks.#.norm1.bias", "gpt_neox.layers.#.input_layernorm.bias"},
    {"blocks.#.attention.query.weight", "gpt_neox.layers.#.attention.query_key_value.weight", TensorLayout::ByHead, 0, 3},
    {"blocks.#.attention.key.weight", "gpt_neox.layers.#.attention.query_key_value.weight", TensorLayout::ByHead, 1, 3},
    {"blocks.#.attention.value.weight", "gpt_neox.layers.#.attention.query_key_value.weight", TensorLayout::ByHead, 2, 3},
    {"blocks.#.attention.query.bias", "gpt_neox.layers.#.attention.query_key_value.bias", TensorLayout::ByHead, 0, 3},
    {"blocks.#.attention.key.bias", "gpt_neox.layers.#.attention.query_key_value.bias", TensorLayout::ByHead, 1, 3},
    {"blocks.#.attention.value.bias", "gpt_neox.layers.#.attention.query_key_value.bias", TensorLayout::ByHead, 2, 3},
    {"blocks.#.attention.output.weight", "gpt_neox.layers.#.attention.dense.weight"},
    {"blocks.#.attention.output.bias", "gpt_neox.layers.#.attention.dense.bias"},
    {"blocks.#.norm2.weight", "gpt_neox.layers.#.post_attention_layernorm.weight"},
    {"blocks.#.norm2.bias", "gpt_neox.layers.#.post_attention_layernorm.bias"},
    {"blocks.#.feed_forward.in.weight", "gpt_neox.layers.#.mlp.dense_h_to_4h.weight"},
    {"blocks.#.feed_forward.in.bias", "gpt_neox.layers.#.mlp.dense_h_to_4h.bias"},
    {"blocks.#.feed_forward.out.weight", "gpt_neox.layers.#.mlp.dense_4h_to_h.weight"},
    {"blocks.#.feed_forward.out.bias", "gpt_neox.layers.#.mlp.dense_4h_to_h.bias"},
    {"norm.weight", "gpt_neox.final_layer_norm.weight"},
    {"norm.bias", "gpt_neox.final_layer_norm.bias"},
    {"classifier.weight", "embed_out.weight"},
};

// What mixtures of experts have besides kLlama, whose feed-forward rows are for their layers without experts.
constexpr NameRow kMixtral[] = {
    {"blocks.#.experts.router.weight", "model.layers.#.block_sparse_moe.gate.weight"},
    {"blocks.#.experts.gate.weight", "model.layers.#.block_sparse_moe.experts.*.w1.weight", TensorLayout::PerExpert},
    {"blocks.#.experts.in.weight", "model.layers.#.block_sparse_moe.experts.*.w3.weight", TensorLayout::PerExpert},
    {"blocks.#.experts.out.weight", "model.layers.#.block_sparse_moe.experts.*.w2.weight", TensorLayout::PerExpert},
};
constexpr NameRow kQwenMoe[] = {
    {"blocks.#.experts.router.weight", "model.layers.#.mlp.gate.weight"},
    {"blocks.#.experts.gate.weight", "model.layers.#.mlp.experts.*.gate_proj.weight", TensorLayout::PerExpert},
    {"blocks.#.experts.in.weight", "model.layers.#.mlp.experts.*.up_proj.weight", TensorLayout::PerExpert},
    {"blocks.#.experts.out.weight", "model.layers.#.mlp.experts.*.down_proj.weight", TensorLayout::PerExpert},
    {"blocks.#.experts.shared.gate.weight", "model.layers.#.mlp.shared_expert.gate_proj.weight"},
    {"blocks.#.experts.shared.in.weight", "model.layers.#.mlp.shared_expert.up_proj.weight"},
    {"blocks.#.experts.shared.out.weight", "model.layers.#.mlp.shared_expert.down_proj.weight"},
    {"blocks.#.experts.shared_gate.weight", "model.layers.#.mlp.shared_expert_gate.weight"},
};
constexpr NameRow kGraniteMoe[] = {
    {"blocks.#.experts.router.weight", "model.layers.#.block_sparse_moe.router.layer.weight"},
    {"blocks.#.experts.gate.weight", "model.layers.#.block_sparse_moe.input_linear.weight", TensorLayout::PartsOfExperts, 0, 2},
    {"blocks.#.experts.in.weight", "model.layers.#.block_sparse_moe.input_linear.weight", TensorLayout::PartsOfExperts, 1, 2},
    {"blocks.#.experts.out.weight", "model.layers.#.block_sparse_moe.output_linear.weight"},
    {"blocks.#.experts.shared.gate.weight", "model.layers.#.shared_mlp.input_linear.weight", TensorLayout::Same, 0, 2},
    {"blocks.#.experts.shared.in.weight", "model.layers.#.shared_mlp.input_linear.weight", TensorLayout::Same, 1, 2},
    {"blocks.#.experts.shared.out.weight", "model.layers.#.shared_mlp.output_linear.weight"},
};
// What differs from kQwenMoe in families with DeepSeek's router.
constexpr NameRow kDeepseekMoe[] = {
    {"blocks.#.experts.router.correction", "model.layers.#.mlp.gate.e_score_correction_bias"},
    {"blocks.#.experts.shared.gate.weight", "model.layers.#.mlp.shared_experts.gate_proj.weight"},
    {"blocks.#.experts.shared.in.weight", "model.layers.#.mlp.shared_experts.up_proj.weight"},
    {"blocks.#.experts.shared.out.weight", "model.layers.#.mlp.shared_experts.down_proj.weight"},
};
// What differs from kLlama: sinks, and experts whose matrices are turned, with their biases beside them.
constexpr NameRow kGptOss[] = {
    {"blocks.#.attention.sinks", "model.layers.#.self_attn.sinks"},
    {"blocks.#.experts.router.weight", "model.layers.#.mlp.router.weight"},
    {"blocks.#.experts.router.bias", "model.layers.#.mlp.router.bias"},
    {"blocks.#.experts.gate.weight", "model.layers.#.mlp.experts.gate_up_proj", TensorLayout::ColumnsOfExperts, 0, 2},
    {"blocks.#.experts.in.weight", "model.layers.#.mlp.experts.gate_up_proj", TensorLayout::ColumnsOfExperts, 1, 2},
    {"blocks.#.experts.gate.bias", "model.layers.#.mlp.experts.gate_up_proj_bias", TensorLayout::ColumnsOfExperts, 0, 2},
    {"blocks.#.experts.in.bias", "model.layers.#.mlp.experts.gate_up_proj_bias", TensorLayout::ColumnsOfExperts, 1, 2},
    {"blocks.#.experts.out.weight", "model.layers.#.mlp.experts.down_proj", TensorLayout::ColumnsOfExperts},
    {"blocks.#.experts.out.bias", "model.layers.#.mlp.experts.down_proj_bias"},
};
// clang-format on

std::vector<NameRow> joined_rows(std::span<const NameRow> common, std::span<const NameRow> more) {
  std::vector<NameRow> rows(common.begin(), common.end());
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

// `common` with the rows of `own`, in place of those for the same tensors of ours where there are
// any.
std::vector<NameRow> with_rows(std::span<const NameRow> common, std::span<const NameRow> own) {
  std::vector<NameRow> rows(common.begin(), common.end());
  for (const NameRow& row : own) {
    const std::string_view ours = row.ours;
    const auto same = std::ranges::find(rows, ours, &NameRow::ours);
    if (same == rows.end()) {
      rows.push_back(row);
    } else {
      *same = row;
    }
  }
  return rows;
}

std::span<const HubFamily> families() {
  static const std::vector<NameRow> olmo2 = with_rows(kLlama, kOlmo2);
  static const std::vector<NameRow> gemma2 = with_rows(kLlama, kGemma2);
  static const std::vector<NameRow> starcoder2 = with_rows(kLlama, kStarcoder2);
  static const std::vector<NameRow> phi3 = with_rows(kLlama, kPhi3);
  static const std::vector<NameRow> glm = with_rows(kLlama, kGlm);
  static const std::vector<NameRow> mixtral = joined_rows(kLlama, kMixtral);
  static const std::vector<NameRow> qwen_moe = joined_rows(kLlama, kQwenMoe);
  static const std::vector<NameRow> granite_moe = joined_rows(kLlama, kGraniteMoe);
  static const std::vector<NameRow> deepseek_moe = with_rows(qwen_moe, kDeepseekMoe);
  static const std::vector<NameRow> gpt_oss = joined_rows(kLlama, kGptOss);
  static const std::vector<HubFamily> all = {{"gpt2", "transformer.", kGpt2},
                                             {"llama", "model.", kLlama},
                                             {"mistral", "model.", kLlama},
                                             {"qwen2", "model.", kLlama},
                                             {"qwen3", "model.", kLlama},
                                             {"granite", "model.", kLlama},
                                             {"olmo2", "model.", olmo2},
                                             {"smollm3", "model.", kLlama},
                                             {"phi3", "model.", phi3},
                                             {"gemma", "model.", kLlama},
                                             {"gemma2", "model.", gemma2},
                                             {"gemma3_text", "model.", gemma2},
                                             {"olmo3", "model.", olmo2},
                                             {"ministral", "model.", kLlama},
                                             {"seed_oss", "model.", kLlama},
                                             {"exaone4", "model.", olmo2},
                                             {"starcoder2", "model.", starcoder2},
                                             {"stablelm", "model.", kLlama},
                                             {"glm", "model.", glm},
                                             {"glm4", "model.", glm},
                                             {"gpt_neox", "gpt_neox.", kGptNeox},
                                             {"cohere", "model.", kLlama},
                                             {"cohere2", "model.", kLlama},
                                             {"mixtral", "model.", mixtral},
                                             {"olmoe", "model.", qwen_moe},
                                             {"qwen2_moe", "model.", qwen_moe},
                                             {"qwen3_moe", "model.", qwen_moe},
                                             {"granitemoe", "model.", granite_moe},
                                             {"granitemoeshared", "model.", granite_moe},
                                             {"dots1", "model.", deepseek_moe},
                                             {"glm4_moe", "model.", deepseek_moe},
                                             {"gpt_oss", "model.", gpt_oss},
                                             {"deepseek", "model.", deepseek_moe}};
  return all;
}

}  // namespace

const HubFamily& hub_family(const std::string& name) {
  for (const HubFamily& family : families()) {
    if (family.name == name) return family;
  }
  fail_internal("there is no table of names for the family " + name);
}

std::span<const HubFamily> hub_families() {
  return families();
}

}  // namespace penstock
