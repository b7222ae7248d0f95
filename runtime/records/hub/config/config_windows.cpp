#include "runtime/records/hub/config/config_windows.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {
namespace {

using nlohmann::json;

// Returns the length of the sliding window. Null means that there is no window, and gives 0. If the
// key is missing, the length is 4096 as in transformers.
int64_t sliding_window(ConfigFields& fields) {
  return fields.whole("sliding_window", fields.is_null("sliding_window") ? 0 : 4096);
}

constexpr int64_t kAboveAllLayers = int64_t{1} << 40;

// `unsaid` is the default of transformers.
int64_t first_windowed(ConfigFields& fields, int64_t unsaid) {
  const json* first = fields.any("max_window_layers");  // may be 0, unlike other counts
  if (first == nullptr) return unsaid;
  if (!first->is_number_unsigned()) fields.refuse("max_window_layers", "must be a whole number");
  return static_cast<int64_t>(std::min<uint64_t>(first->get<uint64_t>(), kAboveAllLayers));
}

// The layers that layer_types gives a window; without that member those `unsaid`.
std::vector<int64_t> windowed_layers(ConfigFields& fields, int64_t layers,
                                     const std::vector<int64_t>& unsaid) {
  const json* types = fields.any("layer_types");
  if (types == nullptr) return unsaid;
  std::vector<int64_t> windowed;
  if (!types->is_array() || std::ssize(*types) != layers) {
    fields.refuse("layer_types", "must name the kind of attention of each layer");
  }
  for (int64_t i = 0; i < layers; ++i) {
    const json& type = types->at(static_cast<size_t>(i));
    if (type != "full_attention" && type != "sliding_attention") {
      fields.refuse("layer_types", "has a kind of attention that is not supported");
    }
    if (type == "sliding_attention") windowed.push_back(i);
  }
  return windowed;
}

// Refuses a layer_types that names another kind than `kind`. transformers ignores layer_types here,
// but such a list contradicts the rest of the file.
void check_all_alike(ConfigFields& fields, const char* kind, const char* because) {
  const json* types = fields.any("layer_types");
  if (types == nullptr) return;
  if (!types->is_array()) fields.refuse("layer_types", "must name the kind of each layer");
  for (const json& type : *types) {
    if (type == kind) continue;
    fields.refuse("layer_types",
                  std::string("has a layer that is not of the kind ") + kind + ", as " + because);
  }
}

// The window of the layers that have one, where it is used.
void set_window(ConfigFields& fields, bool used, int64_t window,
                const std::vector<int64_t>& windowed, ModelConfig& model) {
  if (!used || windowed.empty()) return;
  if (window == 0) fields.refuse("sliding_window", "is null, though layers have a window");
  model.window = window;
  if (std::ssize(windowed) < model.layers) model.window_layers = windowed;
}

// Returns which layers have rotary positions: those with 1 in no_rope_layers, which is named for
// its zeros, or without that member all but every so many-th.
std::vector<bool> rotary_layers(ConfigFields& fields, int64_t layers) {
  const int64_t interval = fields.whole("no_rope_layer_interval", 4);
  const json* list = fields.any("no_rope_layers");
  if (list != nullptr && (!list->is_array() || std::ssize(*list) < layers)) {
    fields.refuse("no_rope_layers", "must have a 0 or a 1 for each layer");
  }
  std::vector<bool> turned;
  for (int64_t i = 0; i < layers; ++i) {
    const json said =
        list != nullptr ? list->at(static_cast<size_t>(i)) : json((i + 1) % interval != 0 ? 1 : 0);
    if (said != 0 && said != 1) {
      fields.refuse("no_rope_layers", "has something else than 0 and 1");
    }
    turned.push_back(said == 1);
  }
  return turned;
}

}  // namespace

void refuse_windows(ConfigFields& fields) {
  check_all_alike(fields, "full_attention", "all layers of this family are");
}

void read_mistral_window(ConfigFields& fields, ModelConfig& model) {
  model.window = sliding_window(fields);
  refuse_other_windows(fields, model);
}

void read_qwen_window(ConfigFields& fields, ModelConfig& model) {
  const bool used = fields.flag("use_sliding_window", false);
  const int64_t window = sliding_window(fields);
  std::vector<int64_t> unsaid;
  for (int64_t i = first_windowed(fields, 28); i < model.layers; ++i) unsaid.push_back(i);
  set_window(fields, used, window, windowed_layers(fields, model.layers, unsaid), model);
}

void read_dots_window(ConfigFields& fields, ModelConfig& model) {
  const int64_t window = sliding_window(fields);
  std::vector<int64_t> unsaid;
  for (int64_t i = first_windowed(fields, 62); i < model.layers && window > 0; ++i) {
    unsaid.push_back(i);
  }
  set_window(fields, true, window, windowed_layers(fields, model.layers, unsaid), model);
}

void read_window_pattern(ConfigFields& fields, int64_t pattern, ModelConfig& model) {
  std::vector<int64_t> unsaid;
  for (int64_t i = 0; i < model.layers; ++i) {
    if (pattern == 0 || (i + 1) % pattern != 0) unsaid.push_back(i);
  }
  const int64_t window = sliding_window(fields);
  set_window(fields, true, window, windowed_layers(fields, model.layers, unsaid), model);
}

void read_windows_or_none(ConfigFields& fields, int64_t pattern, ModelConfig& model) {
  if (!fields.is_null("sliding_window")) return read_window_pattern(fields, pattern, model);
  check_all_alike(fields, "full_attention", "all are without a \"sliding_window\"");
}

void refuse_other_windows(ConfigFields& fields, const ModelConfig& model) {
  check_all_alike(fields, model.window == 0 ? "full_attention" : "sliding_attention",
                  "all are with this \"sliding_window\"");
}

void read_phi3_window(ConfigFields& fields, ModelConfig& model) {
  model.window = fields.has("sliding_window") ? fields.whole("sliding_window") : 0;
  refuse_other_windows(fields, model);
}

void read_smollm3_layers(ConfigFields& fields, ModelConfig& model) {
  const std::vector<bool> turned = rotary_layers(fields, model.layers);
  std::vector<int64_t> others;
  for (int64_t i = 0; i < model.layers; ++i) {
    (turned[static_cast<size_t>(i)] ? model.rotary_layers : others).push_back(i);
  }
  if (model.rotary_layers.empty()) model.positions = "none";
  if (others.empty()) model.rotary_layers.clear();
  const bool used = fields.flag("use_sliding_window", false);
  const int64_t window = fields.has("sliding_window") ? fields.whole("sliding_window") : 0;
  (void)fields.any("max_window_layers");  // is Qwen's
  const std::vector<int64_t> windowed = windowed_layers(fields, model.layers, others);
  set_window(fields, used && window > 0, window, windowed, model);
}

}  // namespace penstock
