// runtime/network/layers/library/embedding.h -- Embedding: the layer that turns token ids into
// vectors, and adds to each a vector for its position in the row. What the overridden functions do
// is said in runtime/network/layers/layer.h.
#pragma once

#include "runtime/network/layers/layer.h"

namespace penstock {

// Token ids, I32 [b, t], -> [b, t, width]: row `id` of a table (parameter `token.weight`
// [vocabulary, width]) plus the vector of the position. None: nothing is added. Learned: a row of a
// second trained table (parameter `position.weight` [context, width]). Sinusoidal: sines and
// cosines (Vaswani et al. 2017, 3.5), and the token's row is multiplied by sqrt(width) before. In
// each case the row is also multiplied by Options::scale.
class Embedding final : public UnaryLayer {
 public:
  enum class Positions : uint8_t { None, Sinusoidal, Learned };
  struct Options {
    int64_t vocabulary = 0, width = 0, context = 0;  // context: the longest t
    float scale = 1.0F;
    Positions positions = Positions::Sinusoidal;
    // If other layers hold the table too (tied weights), the name of that shared parameter.
    // Empty: the table is this layer's own.
    std::string shared = {};
    // For rows that pack several samples, the name of a field of the data, I32 [b, t]: the position
    // in the row at which the sample of each position starts, from which its place is counted.
    // Empty: places are counted from the beginning of the row.
    std::string starts = {};
  };
  // How a table with these options is initialised, for other layers that share it.
  [[nodiscard]] static Initializer table_initializer(const Options& options);
  Embedding(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "embedding"; }
  void declare(ParameterSet& set) const override;
  [[nodiscard]] std::vector<std::string> reads() const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  [[nodiscard]] const Tensor& waves(Context& context) const;
  [[nodiscard]] Variable add_position(Context& context, const Variable& rows) const;
  [[nodiscard]] Variable add_places(Context& context, const Variable& rows) const;

  Options options_;
  Slot token_, position_;
  Slot waves_;  // a constant: the sinusoidal table, fp32 [context, width]
};

}  // namespace penstock
