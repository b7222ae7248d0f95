// runtime/network/optimizer/average.h -- WeightAverage: the exponential moving average of the
// weights, with which evaluation is better than with the last ones (Polyak & Juditsky 1992), and of
// the statistics that belong to them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "kernels/ops/update.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

// The decay of step `step` (from 1): min(decay, (1 + step) / (10 + step)). The ramp lets the
// average forget the initial weights in short runs; it is that of TensorFlow's
// ExponentialMovingAverage(num_updates), which AmoebaNet was trained with.
[[nodiscard]] double average_decay(double decay, int64_t step);

class WeightAverage {
 public:
  explicit WeightAverage(double decay) : decay_(decay) {}  // optimizer.moving_average, above 0

  // Gives all that is trained, by gradients or not, an average (Purpose::Optimizer), equal to the
  // value now. A norm's statistics get one too: they belong to the activations that the last
  // weights make. Where replicas share (StateEntry::cuts), each has the averages of the elements
  // that it updates. Entries and device must outlive this object. Once; the values must exist.
  void allocate(StateRange range, Device& device);

  // average = d average + (1 - d) value with d = average_decay(decay, step), for weights and
  // statistics. Called after each step.
  void update(int64_t step);

  // Exchanges the elements of weights and statistics with those of their averages: after swap_in
  // they hold the averages, after swap_out their own values again, to the bit. Strictly in turn.
  // Where replicas share, each exchanges its own elements: the others' must be gathered after
  // either.
  void swap_in();
  void swap_out();

 private:
  void exchange();

  double decay_;
  bool swapped_ = false;
  std::vector<StateEntry*> entries_;  // of the range, what is trained
  std::vector<AverageTensors> list_;  // of one update: kept for its memory
  Tensor spare_;                      // one piece of a tensor on its way
  Device* device_ = nullptr;
};

}  // namespace penstock
