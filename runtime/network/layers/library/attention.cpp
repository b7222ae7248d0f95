#include "runtime/network/layers/library/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "kernels/joined.h"
#include "kernels/ops/layout.h"
#include "runtime/network/layers/places.h"

namespace penstock {
namespace {

int64_t inner_width(const AttentionLayerOptions& options) {
  return options.head_width > 0 ? options.heads * options.head_width : options.width;
}

int64_t head_width(const AttentionLayerOptions& options) {
  return inner_width(options) / std::max<int64_t>(options.heads, 1);
}

int64_t kv_width(const AttentionLayerOptions& options) {
  return options.kv_heads > 0 ? options.kv_heads * head_width(options) : inner_width(options);
}

// How many elements of a head rotary positions turn.
int64_t turned_width(const AttentionLayerOptions& options) {
  return options.rotary->width > 0 ? options.rotary->width : head_width(options);
}

Linear::Options inwards(const AttentionLayerOptions& options, int64_t inner,
                        std::string_view part) {
  return {
      .in = options.width, .out = inner, .bias = options.bias, .adapter = options.adapted.of(part)};
}

Linear::Options outwards(const AttentionLayerOptions& options) {
  return {.in = inner_width(options),
          .out = options.width,
          .bias = options.output_bias.value_or(options.bias),
          .init_factor = options.out_init_factor,
          .adapter = options.adapted.of("output")};
}

}  // namespace

AttentionHeads::AttentionHeads(const std::string& name, const AttentionLayerOptions& options,
                               Keeps keeps)
    : options_(options),
      keeps_(keeps),
      name_(name),
      name_hash_(hash_name(name)),
      query_(name + ".query", inwards(options, inner_width(options), "query")),
      key_(name + ".key", inwards(options, kv_width(options), "key")),
      value_(name + ".value", inwards(options, kv_width(options), "value")),
      output_(name + ".output", outwards(options)) {
  if (!options.query_key_norm) return;
  const bool whole = options.norm_whole_projection;
  query_norm_.emplace(name + ".query_norm", whole ? inner_width(options) : head_width(options),
                      *options.query_key_norm, options.norm_zero_centered);
  key_norm_.emplace(name + ".key_norm", whole ? kv_width(options) : head_width(options),
                    *options.query_key_norm, options.norm_zero_centered);
}

std::string AttentionHeads::trouble() const {
  if (options_.heads < 1 || inner_width(options_) % options_.heads != 0) {
    return "width " + std::to_string(options_.width) + " is not a multiple of its " +
           std::to_string(options_.heads) + " heads: change model.width or model.heads";
  }
  if (options_.kv_heads < 0 || (options_.kv_heads > 0 && options_.heads % options_.kv_heads != 0)) {
    return std::to_string(options_.heads) + " heads of queries are no multiple of " +
           std::to_string(options_.kv_heads) +
           " heads of keys: change model.heads or model.kv_heads";
  }
  if (options_.rotary && options_.rotary->width > head_width(options_)) {
    return "rotary positions cannot turn " + std::to_string(options_.rotary->width) +
           " elements of a head that has " + std::to_string(head_width(options_)) +
           ": change model.rotary_width";
  }
  if (options_.rotary && turned_width(options_) % 2 != 0) {
    return "rotary positions turn pairs, and of a head " + std::to_string(turned_width(options_)) +
           " elements are to be turned: change model." +
           (options_.rotary->width > 0 ? "rotary_width" : "head_width");
  }
  if (options_.rotary) {
    std::string trouble = rotary_trouble(*options_.rotary, turned_width(options_));
    if (!trouble.empty()) return trouble;
  }
  if (!(options_.dropout >= 0.0 && options_.dropout < 1.0)) return "its dropout must be in [0, 1)";
  return {};
}

void AttentionHeads::declare(ParameterSet& set) const {
  for (const Linear* part : {&query_, &key_, &value_, &output_}) part->declare(set);
  if (query_norm_) query_norm_->declare(set);
  if (key_norm_) key_norm_->declare(set);
  if (options_.sinks) set.add(sinks_, name_ + ".sinks", {options_.heads}, {}, ParameterKind::Bias);
  if (options_.rotary) {
    set.add_constant(waves_, rotary_name(*options_.rotary, turned_width(options_)));
  }
}

std::vector<std::string> AttentionHeads::reads() const {
  std::vector<std::string> fields;
  if (!options_.key_lengths.empty()) fields.push_back(options_.key_lengths);
  if (!options_.starts.empty()) fields.push_back(options_.starts);
  return fields;
}

int64_t AttentionHeads::past_width() const {
  return keeps_ == Keeps::Nothing ? 0 : 2 * kv_width(options_);
}

AttentionHeads::KeysValues AttentionHeads::project(Context& context, const Variable& from) const {
  // These are two statements, so that the order on the tape is fixed and not the compiler's choice.
  KeysValues now;
  now.keys = placed(context, key_.forward(context, {from})[0], key_norm_ ? &*key_norm_ : nullptr);
  now.values = value_.forward(context, {from})[0];
  return now;
}

Variable AttentionHeads::placed(Context& context, const Variable& x, const RmsNorm* norm) const {
  Variable y = norm != nullptr ? normalised(context, x, *norm) : x;
  if (!options_.rotary) return y;
  const Tensor& table = waves(context, std::max(x.shape()[1], options_.context));
  if (context.one_position()) return turned(context.tape, y, table, &context.field(kPositions));
  if (!packed(context)) return turned(context.tape, y, table, nullptr);
  const Tensor places = packed_places(context, options_.starts);
  return turned(context.tape, y, table, &places);
}

Variable AttentionHeads::normalised(Context& context, const Variable& x,
                                    const RmsNorm& norm) const {
  if (options_.norm_whole_projection) return norm.forward(context, {x})[0];
  const int64_t depth = head_width(options_);
  const Shape shape = x.shape();
  const Variable heads = reshape(context.tape, x, {shape[0], shape[1], shape[2] / depth, depth});
  return reshape(context.tape, norm.forward(context, {heads})[0], shape);
}

Variable AttentionHeads::turned(Tape& tape, const Variable& x, const Tensor& table,
                                const Tensor* places) const {
  const int64_t depth = head_width(options_);
  const int64_t front = table.dim(1);
  if (front == depth) return rotary(tape, x, table, places, options_.rotary->pairs);
  const Shape shape = x.shape();
  const int64_t heads = shape[2] / depth;
  const Variable apart = reshape(tape, x, {shape[0], shape[1], heads, depth});
  const std::array<int64_t, 2> extents = {front, depth - front};
  const Variables parts = split(tape, apart, extents, 3);
  const Variable flat = reshape(tape, parts[0], {shape[0], shape[1], heads * front});
  const Variable around = rotary(tape, flat, table, places, options_.rotary->pairs);
  const Variable again = reshape(tape, around, parts[0].shape());
  return reshape(tape, concat(tape, {again, parts[1]}, 3), shape);
}

// Returns the rotary table, with at least `time` places. Makes a new table if there is none, or one
// that is too short.
const Tensor& AttentionHeads::waves(Context& context, int64_t time) const {
  Device& device = context.device();
  Tensor& waves = context.owned.constant(waves_);
  if (waves && waves.dim(0) >= time) return waves;
  const int64_t depth = turned_width(options_);
  waves = device.empty({time, depth}, DType::F32, Purpose::Parameters);
  if (device.holds_values()) {
    const std::vector<float> host = rotary_table(*options_.rotary, time, depth);
    device.copy_from_host(waves, host.data(), waves.size_bytes());
  }
  return waves;
}

// Returns this pass's keys and values with those of earlier positions. A pass over whole rows
// computes all of these, and remembers them in Past. A pass over one position takes those that Past
// remembers; in self-attention it first adds the position's own to Past.
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
  Variable q =
      placed(context, query_.forward(context, {to})[0], query_norm_ ? &*query_norm_ : nullptr);
  if (options_.scale > 0.0) {  // attention() itself multiplies by 1 / sqrt(width of a head)
    const double own = std::sqrt(static_cast<double>(head_width(options_)));
    const auto factor = static_cast<float>(options_.scale * own);
    if (factor != 1.0F) q = scale(context.tape, q, factor);
  }
  const KeysValues seen = decoding ? with_past(context, from) : project(context, from);
  AttentionOptions how;
  how.heads = static_cast<int>(options_.heads);
  how.kv_heads = static_cast<int>(options_.kv_heads);
  how.causal = options_.causal;
  how.window = options_.window;
  how.softcap = options_.softcap;
  if (context.training() && options_.dropout > 0.0) {
    how.dropout = static_cast<float>(options_.dropout);
    how.stream = context.random(name_hash_);
  }
  AttentionMask mask;
  if (!options_.key_lengths.empty()) mask.key_lengths = &context.field(options_.key_lengths);
  if (packed(context)) mask.starts = &context.field(options_.starts);
  if (decoding && context.one_position() && keeps_ == Keeps::Growing) {
    how.causal = false;  // the one query is the last of the positions seen, so it sees all
    mask.key_lengths = &context.field(kSeen);
  }
  return output_.forward(context, {attention(context.tape, q, seen.keys, seen.values, mask, how,
                                             context.parameter_if(sinks_))})[0];
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
  if (options.rotary || options.query_key_norm || options.window > 0 || !options.starts.empty()) {
    misfit(
        "rotary positions, norms of queries and keys, windows and packed rows are for "
        "self-attention");
  }
  if (const std::string trouble = heads_.trouble(); !trouble.empty()) misfit(trouble);
}

Shapes CrossAttention::infer(const Shapes& inputs) const {
  if (inputs.size() != 2 || !heads_.takes(inputs[0]) || !heads_.takes(inputs[1]) ||
      inputs[0][0] != inputs[1][0]) {
    misfit("expects two sequences [batch, time, " + std::to_string(heads_.options().width) +
           "] but is given " + joined(inputs, " and ", &Shape::text));
  }
  return {inputs[0]};
}

}  // namespace penstock
