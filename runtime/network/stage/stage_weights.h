// runtime/network/stage/stage_weights.h -- StageWeights: the parameters and buffers that the layers
// of one stage have declared, with memory for them, the table of them, and the shares that replicas
// update.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/network/layers/layer.h"
#include "runtime/network/stage/shares.h"
#include "runtime/network/stage/stage_gradients.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

// Whether the parameter of that name begins with random numbers.
using IsDrawn = std::function<bool(const std::string& name)>;

class StageWeights {
 public:
  // Collects what the layers declare, which compute in `computed`. Parameters whose names match a
  // pattern of `freeze` (name_patterns.h) are not trained. Nothing is allocated.
  StageWeights(std::span<const std::unique_ptr<Layer>> layers, std::span<const std::string> freeze,
               DType computed = DType::F32);
  StageWeights(const StageWeights&) = delete;
  StageWeights& operator=(const StageWeights&) = delete;

  // Parameters and buffers get their initial values, from (seed, name) alone; gradients are zero.
  // With `is_drawn`, parameters whose names it refuses are zero: they are read from a file before
  // they count, and drawing half a billion numbers takes longer than reading them.
  void allocate(uint64_t seed, Device& device, const IsDrawn& is_drawn = {});

  // The set for layers, which ask by slot.
  [[nodiscard]] ParameterSet& set() { return set_; }
  [[nodiscard]] const ParameterSet& set() const { return set_; }
  // The parameters that a layer has declared and trains.
  [[nodiscard]] std::span<const Parameter* const> parameters_of(size_t layer) const {
    return trained_[layer];
  }
  // The table for everyone but the layers.
  [[nodiscard]] StateRange state() const { return table_->entries(); }
  // Valid after allocate().
  [[nodiscard]] StageGradients& gradients() { return gradients_; }

  // Called once, after allocate(): that many replicas share the updates out (shares.h), this being
  // one of them. Writes the cuts to the table.
  void share(int replicas, int replica);
  // A part of the gradients or of the values. With `cuts`, one more than there are replicas,
  // replica r has elements [cuts[r], cuts[r + 1]) of it; without, everyone has all of it.
  using WithPart = std::function<void(const Tensor& part, std::span<const int64_t> cuts)>;
  // StageGradients::begin_reduction(), with `start` called for each part of a bucket.
  void begin_reduction(WithPart start);
  // Values that layers from `first_layer` on read, and of which each replica updates its own part
  // and needs all others.
  struct SharedValues {
    size_t first_layer = 0;
    Tensor values;
    std::span<const int64_t> cuts;
  };
  // All shared values, in layer order: a layer reads no values whose first_layer comes after it.
  [[nodiscard]] std::vector<SharedValues> shared_values() const;

 private:
  void allocate_values(uint64_t seed, Device& device, const IsDrawn& is_drawn);
  [[nodiscard]] Tensor lay_out_values(DType type, Device& device);
  // A part of the gradients that is added up in one go, and the values that it changes.
  struct Part {
    Tensor gradients, values;  // the latter empty where an earlier layer has them
    std::vector<int64_t> cuts;
  };
  [[nodiscard]] std::vector<ParameterPlace> places_of(size_t first_layer, size_t last_layer);
  void say_in_table(const std::vector<Stretch>& stretches, int replica);

  DType computed_;
  ParameterSet set_;
  TrainedByLayer trained_;
  std::optional<StateTable> table_;  // of the set, once the layers have declared
  Tensor values_;                    // of what is fp32: all that is trained is in it
  StageGradients gradients_;
  std::vector<std::vector<Part>> shared_;  // by bucket; empty: not shared
};

}  // namespace penstock
