// runtime/network/stage/stage_weights.h -- StageWeights: the parameters and buffers that the layers
// of one stage have declared: their memory, the table that lists them, and the shares that replicas
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

// Whether the parameter of that name gets its initial values, random or constant; else it is zero.
using IsDrawn = std::function<bool(const std::string& name)>;

class StageWeights {
 public:
  // Collects what the layers, which compute in `computed`, declare; allocates nothing. Parameters
  // whose names match a pattern of `freeze` (name_patterns.h) are not trained.
  StageWeights(std::span<const std::unique_ptr<Layer>> layers, std::span<const std::string> freeze,
               DType computed = DType::F32);
  StageWeights(const StageWeights&) = delete;
  StageWeights& operator=(const StageWeights&) = delete;

  // Parameters and buffers get their initial values, from (seed, name) alone; gradients are zero.
  // With `is_drawn`, parameters whose names it refuses stay zero: the caller reads them from a
  // file, and drawing half a billion numbers takes longer than reading them.
  void allocate(uint64_t seed, Device& device, const IsDrawn& is_drawn = {});

  // The parameters and buffers by slot, as layers look them up.
  [[nodiscard]] ParameterSet& set() { return set_; }
  [[nodiscard]] const ParameterSet& set() const { return set_; }
  // The parameters that layer number `layer` of this stage has declared and trains.
  [[nodiscard]] std::span<const Parameter* const> parameters_of(size_t layer) const {
    return trained_[layer];
  }
  // The parameters and buffers as a table, for all others.
  [[nodiscard]] StateRange state() const { return table_->entries(); }
  // Valid after allocate().
  [[nodiscard]] StageGradients& gradients() { return gradients_; }

  // Called once, after allocate(): shares the updates out over `replicas` replicas (shares.h), of
  // which this is number `replica`, and writes the cuts to the table.
  void share(int replicas, int replica);
  // A part of the gradients or of the values. Replica r has elements [cuts[r], cuts[r + 1]) of it;
  // with empty `cuts` every replica has all of it.
  using WithPart = std::function<void(const Tensor& part, std::span<const int64_t> cuts)>;
  // Called before the last weight half of a step, in which `start` is called with each part of a
  // bucket as soon as the bucket is complete.
  void begin_reduction(WithPart start);
  // Values that layers from `first_layer` on read. Replica r updates elements [cuts[r], cuts[r +
  // 1]) and needs the others from the other replicas.
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
  // A part of the gradients that replicas sum as one message, and the values that it changes.
  struct Part {
    Tensor gradients, values;  // values: empty where an earlier layer holds them
    std::vector<int64_t> cuts;
  };
  [[nodiscard]] std::vector<ParameterPlace> places_of(size_t first_layer, size_t last_layer);
  void say_in_table(const std::vector<Stretch>& stretches, int replica);

  DType computed_;
  ParameterSet set_;
  TrainedByLayer trained_;
  std::optional<StateTable> table_;  // of the set, once the layers have declared
  Tensor values_;                    // all fp32 weights, among them all that is trained
  StageGradients gradients_;
  std::vector<std::vector<Part>> shared_;  // by bucket; empty: not shared
};

}  // namespace penstock
