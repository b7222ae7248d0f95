// runtime/network/layers/library/attention.h -- multi-head attention (Vaswani et al. 2017, 3.2) of
// a sequence to itself or to another one. Parameters: `query`, `key`, `value`, `output`; with norms
// over the heads of queries and keys also `query_norm` and `key_norm`.
#pragma once

#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/rotary.h"

namespace penstock {

struct AttentionLayerOptions {
  int64_t width = 0;
  int64_t heads = 1;       // of queries
  int64_t head_width = 0;  // 0: width / heads; else heads of any width (GPipe's T(L, H, A) has 64)
  bool causal = true;      // self-attention only
  bool bias = true;
  double dropout = 0.0;          // on the attention probabilities
  double out_init_factor = 1.0;  // of `output`'s initial standard deviation
  std::string key_lengths = {};  // batch field, I32 [b]: how many keys a sample has; empty: all
  std::optional<bool> output_bias = std::nullopt;  // nullopt: as `bias`
  int64_t kv_heads = 0;                            // heads of keys and values; 0: `heads`
  // The options from here on are for self-attention only.
  std::optional<RotaryOptions> rotary = std::nullopt;
  int64_t context = 0;                                 // with rotary: the longest row
  std::optional<float> query_key_norm = std::nullopt;  // the norms' epsilon; nullopt: no norms
  int64_t window = 0;         // how many keys a position sees, with its own; 0: all
  std::string starts = {};    // batch field, I32 [b, t]: where each position's sample starts
  AdaptedParts adapted = {};  // of query, key, value, output
};

// The computation of SelfAttention and CrossAttention.
class AttentionHeads {
 public:
  // The keys and values that are kept while tokens are generated one by one (past.h). Growing: each
  // round adds those of its position. Lasting: those of the first round serve all rounds.
  enum class Keeps : uint8_t { Nothing, Growing, Lasting };
  AttentionHeads(const std::string& name, const AttentionLayerOptions& options, Keeps keeps);
  void declare(ParameterSet& set) const;
  // Queries from `to` [b, tq, width], keys and values from `from` [b, tk, width] -> [b, tq, width].
  [[nodiscard]] Variable attend(Context& context, const Variable& to, const Variable& from) const;
  [[nodiscard]] const AttentionLayerOptions& options() const { return options_; }
  // The reason why the options make no sense; empty: they do.
  [[nodiscard]] std::string trouble() const;
  // Whether an input of that shape fits: [b, t, width].
  [[nodiscard]] bool takes(const Shape& shape) const {
    return shape.rank() == 3 && shape[2] == options_.width;
  }
  // The batch fields that the options name.
  [[nodiscard]] std::vector<std::string> reads() const;
  // The numbers that are kept of each position: its keys and values; 0: none are kept.
  [[nodiscard]] int64_t past_width() const;

 private:
  struct KeysValues {
    Variable keys, values;
  };
  [[nodiscard]] bool packed(const Context& context) const {
    return !options_.starts.empty() && !context.one_position();
  }
  // Queries or keys as they are compared: their heads normalised, then turned by their places.
  [[nodiscard]] Variable placed(Context& context, const Variable& x, const RmsNorm* norm) const;
  [[nodiscard]] const Tensor& waves(Context& context, int64_t time) const;
  [[nodiscard]] KeysValues project(Context& context, const Variable& from) const;
  [[nodiscard]] KeysValues with_past(Context& context, const Variable& from) const;

  AttentionLayerOptions options_;
  Keeps keeps_;
  uint64_t name_hash_;
  Linear query_, key_, value_, output_;
  std::optional<RmsNorm> query_norm_, key_norm_;
  Slot waves_;  // a constant, fp32 [places, head width]
};

class SelfAttention final : public UnaryLayer {  // [b, t, width] -> [b, t, width]
 public:
  using Options = AttentionLayerOptions;
  SelfAttention(const std::string& name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "self-attention"; }
  void declare(ParameterSet& set) const override { heads_.declare(set); }
  [[nodiscard]] std::vector<std::string> reads() const override { return heads_.reads(); }
  [[nodiscard]] int64_t past_width() const override { return heads_.past_width(); }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override {
    return heads_.attend(context, x, x);
  }

 private:
  AttentionHeads heads_;
};

// (x [b, tq, width], memory [b, tk, width]) -> [b, tq, width]: x asks, the memory answers.
class CrossAttention final : public Layer {
 public:
  using Options = AttentionLayerOptions;  // causal has no meaning here
  CrossAttention(const std::string& name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "cross-attention"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  void declare(ParameterSet& set) const override { heads_.declare(set); }
  Variables forward(Context& context, const Variables& inputs) const override {
    return {heads_.attend(context, inputs[0], inputs[1])};
  }
  [[nodiscard]] std::vector<std::string> reads() const override { return heads_.reads(); }
  [[nodiscard]] int64_t past_width() const override { return heads_.past_width(); }

 private:
  AttentionHeads heads_;
};

}  // namespace penstock
