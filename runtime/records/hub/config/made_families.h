// runtime/records/hub/config/made_families.h -- which families of published decoders say a network
// that was trained here from random weights, and what of a network a family cannot say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/made_experts.h"

namespace penstock {

// These are the settings of a network that a family cannot express. Each entry names a key of the
// run file with the value that the family would take.
using Obstacles = std::vector<std::string>;

// Says which layers of a family can have a sliding window.
enum class Windows : uint8_t { None, AllOrNone, Any };

// A family whose config.json is like Llama's, and what its networks can have beside Llama's.
struct LlamaLike {
  const char* name;
  const char* architecture;
  const char* activation = "hidden_act";  // the member with the activation
  Windows windows = Windows::None;
  bool query_key_norm = false;
  bool any_bias = false;          // can have attention_bias and output_bias, but not one alone
  bool mixed_bias = false;        // always has attention_bias, and no output_bias
  bool qkv_bias = false;          // can have attention_bias, and no output_bias
  bool hidden_bias = false;       // can have model.bias
  bool scales = false;            // can have multipliers, model.embedding_scale and its like
  bool whole_projection = false;  // norms of queries and keys are over all heads as one
  const char* norm_place = "before";
  bool some_rotary = false;     // can have layers without rotary positions
  bool partial_rotary = false;  // can turn a part of each head alone
  bool gemma = false;           // norms of 1 + weight, embeddings times the root of the width
  bool scalar = false;          // an attention_scale of 1 / sqrt(a whole number)
  bool score_softcap = false, logit_softcap = false;  // can have these
  bool window_rotary = false;  // layers with a window have rotary positions of their own
  ExpertForm experts = ExpertForm::None;
};

// The families, from the plainest on.
[[nodiscard]] std::span<const LlamaLike> llama_like_families();

// What stands in the way of saying `model`, whose sizes are all filled in, as one of these; as
// GPT-2.
[[nodiscard]] Obstacles obstacles_to(const LlamaLike& family, const ModelConfig& model);
[[nodiscard]] Obstacles obstacles_to_gpt2(const ModelConfig& model);

// The number that scores of attention are multiplied by unless a key says another.
[[nodiscard]] double usual_scale(const ModelConfig& model);
// The whole number n for which scores are multiplied by 1 / sqrt(n); 0 if there is none.
[[nodiscard]] int64_t query_scalar(const ModelConfig& model);

}  // namespace penstock
