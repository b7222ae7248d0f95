// runtime/network/layers/library/embedding.h -- Embedding: turns token ids into vectors, and adds
// positions.
#pragma once

#include "runtime/network/layers/layer.h"

namespace penstock {

// I32 [b, t] -> [b, t, width]: the rows of a table (parameter `token`) plus a position: learned
// (parameter `position`), or sinusoidal (Vaswani et al. 2017, 3.5, where the rows are scaled by
// sqrt(width), too).
class Embedding final : public UnaryLayer {
 public:
  enum class Positions : uint8_t { None, Sinusoidal, Learned };
  struct Options {
    int64_t vocabulary = 0, width = 0, context = 0;  // context: the longest t
    Positions positions = Positions::Sinusoidal;
    std::string shared = {};  // the table's name, where other layers hold it too
    std::string starts = {};  // batch field, I32 [b, t]: where positions restart from 0 in a row
  };
  // The initial values of a table with these options, for other layers that hold it.
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
  Slot waves_;  // a constant, fp32 [context, width]
};

}  // namespace penstock
