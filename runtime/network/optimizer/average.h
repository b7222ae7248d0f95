// runtime/network/optimizer/average.h -- WeightAverage: the exponential moving averages of the
// weights, which evaluate better than the last weights (Polyak & Juditsky 1992), and of the norms'
// statistics.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "kernels/ops/update.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

// The decay of step `step` (from 1): min(decay, (1 + step) / (10 + step)). The ramp lets the
// average forget the initial weights in short runs; TensorFlow's
// ExponentialMovingAverage(num_updates), with which AmoebaNet was trained, has the same.
[[nodiscard]] double average_decay(double decay, int64_t step);

class WeightAverage {
 public:
  explicit WeightAverage(double decay) : decay_(decay) {}  // optimizer.moving_average, above 0

  // Gives each trained weight and each trained norm's moving statistics an average
  // (Purpose::Optimizer), equal to the value now. Where replicas share the updates
  // (StateEntry::cuts), each averages the elements that it updates. Called once, when the values
  // exist. Entries and device must outlive this object.
  void allocate(StateRange range, Device& device);

  // average = d average + (1 - d) value with d = average_decay(decay, step), for weights and
  // statistics. Called after each step.
  void update(int64_t step);

  // Exchanges the elements of weights and statistics with those of their averages: after swap_in
  // they hold the averages, after swap_out their own values again, to the bit. Called in turn,
  // swap_in() first. Where replicas share the updates, each exchanges its own elements, and the
  // caller must gather the others' afterwards.
  void swap_in();
  void swap_out();

 private:
  void exchange();

  double decay_;
  bool swapped_ = false;
  std::vector<StateEntry*> entries_;  // all of the range that is trained
  std::vector<AverageTensors> list_;  // of one update: kept for its memory
  Tensor spare_;                      // one piece of a tensor on its way
  Device* device_ = nullptr;
};

}  // namespace penstock
