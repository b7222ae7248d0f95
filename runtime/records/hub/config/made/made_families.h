// runtime/records/hub/config/made/made_families.h -- which families of published decoders say a
// network that was trained here from random weights, and what of a network a family cannot say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/made/made_experts.h"

namespace penstock {

// These are the settings of a network that a family cannot express. Each entry names a key of the
// run file with the value that the family would take.
using Obstacles = std::vector<std::string>;

// Says which layers of a family can have a sliding window.
enum class Windows : uint8_t { None, AllOrNone, Any };

// Says how attention and feed-forward layers of a block stand: InTurn: one behind the other;
// MaybeParallel: so or side by side; MaybeShared: so or side by side behind one norm; Shared:
// always side by side behind one norm.
enum class Blocks : uint8_t { InTurn, MaybeParallel, MaybeShared, Shared };

// Says which biases a family can have: None; Llama: attention_bias with output_bias and model.bias,
// each or not; Attention: the former two or not; Each: all three, each or not; Queries:
// attention_bias alone, always; MaybeQueries: that or not; All: all three or none; Hidden:
// model.bias always, and Attention.
enum class Biases : uint8_t { None, Llama, Attention, Each, Queries, MaybeQueries, All, Hidden };

// A family whose config.json is like Llama's, and what its networks can have beside Llama's.
struct LlamaLike {
  const char* name;
  const char* architecture;
  const char* activation = "hidden_act";  // the member with the activation
  Windows windows = Windows::None;
  bool query_key_norm = false;
  bool maybe_query_key_norm = false;  // can have them or not, and says so by use_qk_norm
  Biases biases = Biases::None;
  const char* queries_bias = "use_qkv_bias";  // with Biases::MaybeQueries the member that says it
  bool scales = false;            // can have multipliers, model.embedding_scale and its like
  bool whole_projection = false;  // norms of queries and keys are over all heads as one
  const char* norm = "rms";
  const char* epsilon = "rms_norm_eps";  // the member with model.norm_epsilon
  const char* norm_place = "before";
  bool norm_bias = true;  // of layer norms
  bool gated = true;
  Blocks blocks = Blocks::InTurn;
  bool grouped_queries = true;        // can have fewer heads of keys than of queries
  const char* logit_scale = nullptr;  // the member with model.logit_scale alone, if there is one
  bool neighbours = false;            // rotary positions turn neighbouring elements
  bool divided_heads = false;         // heads have the width over their number
  bool some_rotary = false;           // can have layers without rotary positions
  bool rotary_in_windows = false;  // has them in layers with a window alone, where there are such
  bool partial_rotary = false;     // can turn a part of each head alone
  bool gemma = false;              // norms of 1 + weight, embeddings times the root of the width
  bool scalar = false;             // an attention_scale of 1 / sqrt(a whole number)
  bool score_softcap = false, logit_softcap = false;  // can have these
  bool window_rotary = false;   // layers with a window have rotary positions of their own
  bool layer_types = false;     // says by layer_types which layers have the window
  bool longrope_alone = false;  // has no other scaling of positions
  bool sinks = false;           // scores of attention have model.attention_sinks beside them
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
