// runtime/network/layers/library/attention.h -- SelfAttention and CrossAttention: multi-head
// attention layers (Vaswani et al. 2017, 3.2), with grouped queries, rotary positions, windows and
// packed rows.
//
// Each has the linear layers `query`, `key`, `value` and `output`, whose parameters are called
// "<name>.query.weight", "<name>.query.bias" and so on; with norms of queries and keys also the RMS
// norms `query_norm` and `key_norm`, and with sinks the parameter `sinks` [heads]. While tokens are
// generated, keys and values are kept in Decoding::past (runtime/network/layers/past.h). What the
// overridden functions do is said in runtime/network/layers/layer.h. The constructors of the two
// layers throw Error(Input), naming the layer, for options that do not fit each other.
#pragma once

#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/rotary.h"

namespace penstock {

struct AttentionLayerOptions {
  int64_t width = 0;             // of the input and output vectors
  int64_t heads = 1;             // of queries
  int64_t head_width = 0;        // 0: width / heads; else any width
  bool causal = true;            // a position sees none behind it; self-attention only
  bool bias = true;              // of the four linear layers
  double dropout = 0.0;          // rate of dropout on the attention probabilities, in [0, 1)
  double out_init_factor = 1.0;  // multiplies the standard deviation of `output`'s initial weights
  // The name of a field of the data, I32 [b], that says how many keys each sample has, the others
  // being padding; empty: all are keys.
  std::string key_lengths = {};
  std::optional<bool> output_bias = std::nullopt;  // bias of `output`; nullopt: as `bias`
  int64_t kv_heads = 0;  // heads of keys and values, a divisor of `heads`; 0: `heads`
  double scale =
      0.0;  // scores are products of queries and keys times this; 0: 1 / sqrt(width of a head)
  float softcap = 0.0F;  // a score s becomes softcap tanh(s / softcap); 0: it stays
  bool sinks = false;    // a number for each head takes part in every softmax, as a score
  // The options from here on are for self-attention only.
  std::optional<RotaryOptions> rotary = std::nullopt;  // nullopt: no rotary positions
  int64_t context = 0;                                 // with rotary: positions of the longest row
  std::optional<float> query_key_norm = std::nullopt;  // epsilon of the norms; nullopt: no norms
  bool norm_whole_projection = false;  // these norms are over all heads as one, else over each
  bool norm_zero_centered = false;     // these norms are as RmsNorm says with `zero_centered`
  int64_t window = 0;  // a position sees itself and the window - 1 before it; 0: all before it
  // For rows that pack several samples, the name of a field of the data, I32 [b, t]: the position
  // in the row at which the sample of each position starts. A position sees none before that.
  // Empty: a row is one sample.
  std::string starts = {};
  AdaptedParts adapted = {};  // those of query, key, value and output that have adapters (LoRA)
};

// The computation that SelfAttention and CrossAttention have in common; a part of them, no layer.
class AttentionHeads {
 public:
  // What is kept of keys and values while tokens are generated one by one (past.h). Growing: each
  // round adds those of its new position (causal self-attention). Lasting: those of the first round
  // serve all rounds (cross-attention to an encoder's output).
  enum class Keeps : uint8_t { Nothing, Growing, Lasting };
  AttentionHeads(const std::string& name, const AttentionLayerOptions& options, Keeps keeps);
  void declare(ParameterSet& set) const;
  // The forward: makes queries of `to` [b, tq, width], keys and values of `from` [b, tk, width],
  // and returns [b, tq, width].
  [[nodiscard]] Variable attend(Context& context, const Variable& to, const Variable& from) const;
  [[nodiscard]] const AttentionLayerOptions& options() const { return options_; }
  // What is wrong with the options, for an error message; empty: nothing.
  [[nodiscard]] std::string trouble() const;
  // Whether an input of that shape fits: [b, t, width].
  [[nodiscard]] bool takes(const Shape& shape) const {
    return shape.rank() == 3 && shape[2] == options_.width;
  }
  // The fields of the data that the options name: key_lengths and starts.
  [[nodiscard]] std::vector<std::string> reads() const;
  // How many numbers are kept for each position: those of its key and its value; 0: none are kept.
  [[nodiscard]] int64_t past_width() const;

 private:
  struct KeysValues {
    Variable keys, values;
  };
  [[nodiscard]] bool packed(const Context& context) const {
    return !options_.starts.empty() && !context.one_position();
  }
  // Queries or keys as they are compared: normalised by `norm` (null: not), then turned by the
  // rotary angles of their positions, if there are any.
  [[nodiscard]] Variable placed(Context& context, const Variable& x, const RmsNorm* norm) const;
  [[nodiscard]] Variable normalised(Context& context, const Variable& x, const RmsNorm& norm) const;
  // The function rotary() on the leading elements of each head, as many as `table` is wide.
  [[nodiscard]] Variable turned(Tape& tape, const Variable& x, const Tensor& table,
                                const Tensor* places) const;
  [[nodiscard]] const Tensor& waves(Context& context, int64_t time) const;
  [[nodiscard]] KeysValues project(Context& context, const Variable& from) const;
  [[nodiscard]] KeysValues with_past(Context& context, const Variable& from) const;

  AttentionLayerOptions options_;
  Keeps keeps_;
  std::string name_;
  uint64_t name_hash_;
  Linear query_, key_, value_, output_;
  std::optional<RmsNorm> query_norm_, key_norm_;
  Slot sinks_;
  Slot waves_;  // a constant: the rotary table, fp32 [places, elements turned of a head]
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

// (x [b, tq, width], memory [b, tk, width]) -> [b, tq, width]: queries are made of x, keys and
// values of the memory, such as an encoder's output.
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
