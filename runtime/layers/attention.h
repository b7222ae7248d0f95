// runtime/layers/attention.h -- multi-head self-attention (Vaswani et al. 2017, 3.2): parameters
// `query`, `key`, `value` and `output`.
#pragma once

#include "runtime/layers/linear.h"

namespace penstock {

class SelfAttention final : public UnaryLayer {  // [b, t, width] -> [b, t, width]
 public:
  struct Options {
    int64_t width = 0;
    int64_t heads = 1;
    bool causal = true;
    bool bias = true;
    double dropout = 0.0;  // on the attention probabilities
    double out_init_factor = 1.0;
  };
  SelfAttention(const std::string& name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "self-attention"; }
  void declare(ParameterSet& set) override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) override;

 private:
  Options options_;
  uint64_t name_hash_;
  Linear query_, key_, value_, output_;
};

}  // namespace penstock
