// runtime/layers/embedding.h -- token ids to vectors, with positions.
#pragma once

#include "runtime/layers/layer.h"

namespace penstock {

// I32 [b, t] -> [b, t, width]: the table's rows plus a position, learned (parameter `position`) or
// sinusoidal (Vaswani et al. 2017, 3.5; the rows are then scaled by sqrt(width) as there).
class Embedding final : public UnaryLayer {
 public:
  enum class Positions : uint8_t { None, Sinusoidal, Learned };
  struct Options {
    int64_t vocabulary = 0, width = 0, context = 0;  // context: the longest t
    Positions positions = Positions::Sinusoidal;
    std::string shared = {};  // the table's name where other layers hold it too
  };
  // Of a table with these options, for those other layers.
  [[nodiscard]] static Initializer table_initializer(const Options& options);
  Embedding(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "embedding"; }
  void declare(ParameterSet& set) override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) override;

 private:
  [[nodiscard]] const Tensor& waves(Device& device, int64_t time);
  [[nodiscard]] Variable add_position(Context& context, const Variable& rows);

  Options options_;
  Parameter* token_ = nullptr;
  Parameter* position_ = nullptr;
  Tensor waves_;  // fp32 [time, width], made at the first forward
};

}  // namespace penstock
