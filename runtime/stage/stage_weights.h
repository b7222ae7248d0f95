// runtime/stage/stage_weights.h -- StageWeights: the parameters, gradients and buffers of one
// stage's layers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/layers/layer.h"
#include "runtime/stage/gradient_buckets.h"
#include "runtime/stage/pairwise_sum.h"
#include "runtime/stage/shares.h"
#include "runtime/stage/state_table.h"

namespace penstock {

class StageWeights {
 public:
  // What the layers declare. Parameters whose names match a pattern of `freeze` (name_patterns.h)
  // are not trained. Nothing is allocated.
  StageWeights(std::span<const std::unique_ptr<Layer>> layers, std::span<const std::string> freeze);

  // Parameters and buffers get their initial values, from (seed, name) alone; gradients are zero.
  void allocate(uint64_t seed, Device& device);
  // After allocate(): the micro-batches of a step, that many, are added up in pairs.
  void add_in_pairs(int micro_batches, Device& device);

  // The step sums begin at zero and, unless they stay, the gradients before them. Where the device
  // has it so, gradients are not filled but marked stale: the first micro-batch overwrites what it
  // can. Not those that are added in pairs, of which every micro-batch begins anew.
  void begin_sums(Device& device, bool gradients_stay);
  // Those that have stayed.
  void begin_gradients(Device& device);
  // The weight half of a micro-batch has come past this layer: what it left stale is zero.
  void complete_gradients(size_t layer, Device& device);

  // For layers, which ask by slot.
  [[nodiscard]] ParameterSet& set() { return set_; }
  [[nodiscard]] const ParameterSet& set() const { return set_; }
  // What a layer has declared and trains.
  [[nodiscard]] std::vector<const Parameter*> parameters_of(size_t layer) const;
  // For all others.
  [[nodiscard]] StateRange state() const { return table_->entries(); }
  // One fp32 vector: all gradients, in layer order, and the step sums behind them. What is frozen
  // has none.
  [[nodiscard]] Tensor& gradients() { return gradients_; }
  [[nodiscard]] GradientBuckets& buckets() { return buckets_; }
  // Once, after allocate(): that many replicas share the updates out (shares.h), this being one of
  // them. Says so in the table.
  void share(int replicas, int replica);
  // A part of one of the two vectors. With `cuts`, one more than there are replicas, replica r has
  // elements [cuts[r], cuts[r + 1]) of it; without, everyone has all of it.
  using WithPart = std::function<void(const Tensor& part, std::span<const int64_t> cuts)>;
  // The next weight gradient is the last of the step: `start` is called with the parts of each
  // bucket of gradients() as soon as it is complete.
  void begin_reduction(WithPart start);
  // The values that are shared, part by part: what each replica has updated, all others want.
  void each_shared_value(const WithPart& visit) const;
  // Of the gradients, and of the step sums behind them, which forwards complete.
  [[nodiscard]] PairwiseSum& gradient_sum() { return gradient_sum_; }
  [[nodiscard]] PairwiseSum& forward_sum() { return forward_sum_; }

 private:
  void allocate_weights(uint64_t seed, Device& device);
  void allocate_gradients(Device& device);
  // Whether gradients are overwritten by the first micro-batch.
  bool mark_stale(const Device& device);
  // A part of the gradients that is added up in one go, and the values that it changes.
  struct Part {
    Tensor gradients, values;  // the latter empty where an earlier layer has them
    std::vector<int64_t> cuts;
  };
  [[nodiscard]] std::vector<ParameterPlace> places_of(size_t first, size_t last) const;
  void say_in_table(const std::vector<Stretch>& stretches, int replica);
  [[nodiscard]] size_t end_of_layer(size_t layer) const;

  ParameterSet set_;
  std::optional<StateTable> table_;      // of the set, once the layers have declared
  std::vector<size_t> first_parameter_;  // by layer
  Tensor values_, gradients_;
  int64_t first_sum_ = 0;  // where in gradients_ the step sums begin
  bool in_pairs_ = false;
  GradientBuckets buckets_;
  std::vector<std::vector<Part>> shared_;  // by bucket; empty: not shared
  PairwiseSum gradient_sum_, forward_sum_;
};

}  // namespace penstock
