// runtime/records/hub/config/config_common.h -- what readers of several families of config.json
// share: single members, and all that Llama and the families like it have in common.
#pragma once

#include <string>

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"
#include "runtime/records/hub/config/config_rotary.h"

namespace penstock {

// The functions read members of `fields` and throw Error(Input) naming a member that cannot be.

// The activation that the member names, as model.activation calls it.
[[nodiscard]] std::string read_activation(ConfigFields& fields, const char* key);
// A number of layers, at most 10,000.
[[nodiscard]] int64_t read_layers(ConfigFields& fields, const char* key);
// A factor from 1e-9 to 1e9; `unsaid` if the member is not there.
[[nodiscard]] double read_multiplier(ConfigFields& fields, const char* key, double unsaid = 1.0);
// Throws unless all heads together are as wide as the model: families without a head_dim.
void require_divided_heads(const ConfigFields& fields, const ModelConfig& model);

// Granite's multipliers: embedding_scale and its like in `model`.
void read_granite_scales(ConfigFields& fields, ModelConfig& model);

// This is where families that are like Llama differ in what their config.json may say or leave out.
struct LlamaForm {
  bool same_heads = false;  // without num_key_value_heads as many as heads; else it must be there
  bool tied = false;        // what tie_word_embeddings is where it is not there
  double rotary_base = 10000.0;  // likewise rope_theta
  // The base in layers that have a window, where none is said; 0: they have that of the others.
  double window_rotary_base = 0.0;
  RotaryShare share = RotaryShare::All;
  double unsaid_share = 1.0;  // what partial_rotary_factor is where it is not there
  const char* activation = "hidden_act";
  const char* norm = "rms";  // model.norm
  const char* epsilon = "rms_norm_eps";
};

// Reads what Llama and all families like it have in common: a gated feed-forward, no biases.
[[nodiscard]] ModelConfig read_llama_like(ConfigFields& fields, const LlamaForm& form);

}  // namespace penstock
