#include "runtime/layers/library/attention.h"

#include "kernels/ops/layout.h"

namespace penstock {
namespace {

int64_t inner_width(const AttentionLayerOptions& options) {
  return options.head_width > 0 ? options.heads * options.head_width : options.width;
}

Linear::Options inwards(const AttentionLayerOptions& options) {
  return {.in = options.width,
          .out = inner_width(options),
          .bias = options.bias,
          .activation = std::nullopt,
          .init_factor = 1.0};
}

Linear::Options outwards(const AttentionLayerOptions& options) {
  return {.in = inner_width(options),
          .out = options.width,
          .bias = options.bias,
          .activation = std::nullopt,
          .init_factor = options.out_init_factor};
}

}  // namespace

AttentionHeads::AttentionHeads(const std::string& name, const AttentionLayerOptions& options,
                               Keeps keeps)
    : options_(options),
      keeps_(keeps),
      name_hash_(hash_name(name)),
      query_(name + ".query", inwards(options)),
      key_(name + ".key", inwards(options)),
      value_(name + ".value", inwards(options)),
      output_(name + ".output", outwards(options)) {}

std::string AttentionHeads::trouble() const {
  if (options_.heads < 1 || inner_width(options_) % options_.heads != 0) {
    return "width " + std::to_string(options_.width) + " is not a multiple of its " +
           std::to_string(options_.heads) + " heads: change model.width or model.heads";
  }
  if (!(options_.dropout >= 0.0 && options_.dropout < 1.0)) return "its dropout must be in [0, 1)";
  return {};
}

void AttentionHeads::declare(ParameterSet& set) const {
  for (const Linear* part : {&query_, &key_, &value_, &output_}) part->declare(set);
}

std::vector<std::string> AttentionHeads::reads() const {
  if (options_.key_lengths.empty()) return {};
  return {options_.key_lengths};
}

int64_t AttentionHeads::past_width() const {
  return keeps_ == Keeps::Nothing ? 0 : 2 * inner_width(options_);
}

AttentionHeads::KeysValues AttentionHeads::project(Context& context, const Variable& from) const {
  // Two statements: the order on the tape must not be the compiler's choice.
  KeysValues now;
  now.keys = key_.forward(context, {from})[0];
  now.values = value_.forward(context, {from})[0];
  return now;
}

// Whole rows are remembered; to one position its past is added.
AttentionHeads::KeysValues AttentionHeads::with_past(Context& context, const Variable& from) const {
  Past& past = *context.batch.decoding->past;
  Device& device = context.device();
  if (!context.one_position()) {
    KeysValues now = project(context, from);
    past.remember(device, name_hash_, context.batch.global_index(),
                  {now.keys.value, now.values.value}, context.batch.decoding->fresh);
    return now;
  }
  Past::Kept& kept = past.of(name_hash_, context.batch.global_index());
  if (keeps_ == Keeps::Growing) {
    const KeysValues now = project(context, from);
    const Tensor& places = context.field(kPlaces);
    device.layout().put_rows(kept.keys, now.keys.value, places);
    device.layout().put_rows(kept.values, now.values.value, places);
  }
  return {{kept.keys, -1}, {kept.values, -1}};
}

Variable AttentionHeads::attend(Context& context, const Variable& to, const Variable& from) const {
  const bool decoding = context.batch.decoding != nullptr && keeps_ != Keeps::Nothing;
  const Variable q = query_.forward(context, {to})[0];
  const KeysValues seen = decoding ? with_past(context, from) : project(context, from);
  AttentionOptions how;
  how.heads = static_cast<int>(options_.heads);
  how.causal = options_.causal;
  if (context.training() && options_.dropout > 0.0) {
    how.dropout = static_cast<float>(options_.dropout);
    how.stream = context.random(name_hash_);
  }
  const Tensor* lengths =
      options_.key_lengths.empty() ? nullptr : &context.field(options_.key_lengths);
  if (decoding && context.one_position() && keeps_ == Keeps::Growing) {
    how.causal = false;  // the one query is the last of those seen
    lengths = &context.field(kSeen);
  }
  return output_.forward(context,
                         {attention(context.tape, q, seen.keys, seen.values, lengths, how)})[0];
}

SelfAttention::SelfAttention(const std::string& name, const Options& options)
    : UnaryLayer(name),
      heads_(name, options,
             options.causal ? AttentionHeads::Keeps::Growing : AttentionHeads::Keeps::Nothing) {
  if (const std::string trouble = heads_.trouble(); !trouble.empty()) misfit(trouble);
}

Shape SelfAttention::shape_of(const Shape& input) const {
  if (!heads_.takes(input)) {
    misfit("expects [batch, time, " + std::to_string(heads_.options().width) + "] but is given " +
           input.text());
  }
  return input;
}

CrossAttention::CrossAttention(const std::string& name, const Options& options)
    : Layer(name),
      heads_(
          name,
          [&] {
            Options all_keys = options;
            all_keys.causal = false;
            return all_keys;
          }(),
          AttentionHeads::Keeps::Lasting) {
  if (const std::string trouble = heads_.trouble(); !trouble.empty()) misfit(trouble);
}

Shapes CrossAttention::infer(const Shapes& inputs) const {
  if (inputs.size() != 2 || !heads_.takes(inputs[0]) || !heads_.takes(inputs[1]) ||
      inputs[0][0] != inputs[1][0]) {
    std::string given;
    for (const Shape& shape : inputs) given += (given.empty() ? "" : " and ") + shape.text();
    misfit("expects two sequences [batch, time, " + std::to_string(heads_.options().width) +
           "] but is given " + given);
  }
  return {inputs[0]};
}

}  // namespace penstock
