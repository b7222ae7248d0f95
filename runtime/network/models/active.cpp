#include "runtime/network/models/active.h"

#include "runtime/network/models/adapters.h"
#include "runtime/network/models/transformer_parts.h"

namespace penstock {

int64_t idle_parameters(const ModelConfig& config) {
  if (config.kind != "decoder" || config.experts == 0) return 0;
  const TransformerWidths widths = widths_of(config);
  const int64_t hidden = config.expert_width > 0 ? config.expert_width : widths.hidden;
  const int64_t mixtures = config.layers - std::ssize(config.dense_layers);
  const int64_t biases = config.bias ? 2 * hidden + widths.width : 0;
  const bool adapted = adapted_parts(config.lora).of("experts").has_value();
  const int64_t adapters = adapted ? config.lora.rank * (2 * widths.width + 3 * hidden) : 0;
  return mixtures * (config.experts - config.experts_per_token) *
         (3 * widths.width * hidden + biases + adapters);
}

}  // namespace penstock
