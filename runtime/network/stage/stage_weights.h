// runtime/network/stage/stage_weights.h -- StageWeights: the memory of all parameters and buffers
// of one stage, the table that lists them, and the division of the updates among replicas.
//
// Order: the constructor collects what the layers declare; allocate() gives it memory and initial
// values; share(), with several replicas, says which elements each replica updates. All fp32
// weights of a stage lie in one vector, in layer order, all gradients in another one
// (stage_gradients.h).
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

// Whether the parameter of that name gets the initial values that it declares; else it stays zero,
// since the caller will read it from a file.
using IsDrawn = std::function<bool(const std::string& name)>;

class StageWeights {
 public:
  // Collects what the layers declare; allocates nothing. Parameters that the patterns `freeze`
  // (name_patterns.h) choose are not trained. `computed` is the type in which the layers compute:
  // some frozen weights are kept in it (Parameter::kept_type()).
  StageWeights(std::span<const std::unique_ptr<Layer>> layers, std::span<const std::string> freeze,
               DType computed = DType::F32);
  StageWeights(const StageWeights&) = delete;
  StageWeights& operator=(const StageWeights&) = delete;

  // Gives parameters and buffers memory and their initial values, which depend on (seed, name)
  // alone, and makes the gradients, all zero. An `is_drawn` saves the time of drawing random
  // numbers for parameters that are read from a file anyway; empty: all are drawn.
  void allocate(uint64_t seed, Device& device, const IsDrawn& is_drawn = {});

  // The parameters and buffers as layers look them up, by slot.
  [[nodiscard]] ParameterSet& set() { return set_; }
  [[nodiscard]] const ParameterSet& set() const { return set_; }
  // The trained parameters that layer number `layer` of this stage, from 0, declared.
  [[nodiscard]] std::span<const Parameter* const> parameters_of(size_t layer) const {
    return trained_[layer];
  }
  // The parameters and buffers as a table, for the optimizer, checkpoints and others.
  [[nodiscard]] StateRange state() const { return table_->entries(); }
  // Valid after allocate().
  [[nodiscard]] StageGradients& gradients() { return gradients_; }

  // ---- shares: each replica updates a part of the weights only (ZeRO stage 1, shares.h)
  // Called at most once, after allocate(): divides the updates among `replicas` replicas, of which
  // this is number `replica`, and writes the cuts to the table (StateEntry::cuts). Without this
  // call every replica updates all weights. A parameter for which `is_whole` is true is not cut:
  // one replica updates all of it; empty: all may be cut.
  using IsWhole = std::function<bool(const Parameter&)>;
  void share(int replicas, int replica, const IsWhole& is_whole = {});
  // `part`: a range of the gradients. With `cuts` replica r needs the sum over replicas of elements
  // [cuts[r], cuts[r + 1]) of it; with empty `cuts` every replica needs the sum of all of it.
  using WithPart = std::function<void(const Tensor& part, std::span<const int64_t> cuts)>;
  // Called before the last weight half of a step: in it `start` is called with the parts of each
  // bucket of gradients (gradient_buckets.h) as soon as the bucket is complete.
  void begin_reduction(WithPart start);
  // A range of the values (weights) that layers from number `first_layer` on read. Replica r
  // updates elements [cuts[r], cuts[r + 1]) and must get the others from the replicas that update
  // them.
  struct SharedValues {
    size_t first_layer = 0;
    Tensor values;
    std::span<const int64_t> cuts;
  };
  // All ranges, in layer order: layer i reads none whose first_layer is above i. Empty without
  // share().
  [[nodiscard]] std::vector<SharedValues> shared_values() const;

 private:
  void allocate_values(uint64_t seed, Device& device, const IsDrawn& is_drawn);
  [[nodiscard]] Tensor lay_out_values(DType type, Device& device);
  // A part of the gradients that replicas sum as one message, and the values that it changes.
  struct Part {
    Tensor gradients, values;  // values: empty where an earlier layer holds them
    std::vector<int64_t> cuts;
  };
  [[nodiscard]] std::vector<ParameterPlace> places_of(size_t first_layer, size_t last_layer,
                                                      const IsWhole& is_whole);
  void say_in_table(const std::vector<Stretch>& stretches, int replica);

  DType computed_;
  ParameterSet set_;
  TrainedByLayer trained_;
  std::optional<StateTable> table_;  // of the set, once the layers have declared
  Tensor values_;                    // all fp32 weights, among them all that is trained
  StageGradients gradients_;
  std::vector<std::vector<Part>> shared_;  // by bucket; empty: share() was not called
};

}  // namespace penstock
