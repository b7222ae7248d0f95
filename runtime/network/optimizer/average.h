// runtime/network/optimizer/average.h -- WeightAverage: exponential moving averages of the weights
// and of the statistics of batch norms, which usually evaluate better than the last weights (Polyak
// & Juditsky 1992).
//
// Used where optimizer.moving_average is above 0. Training calls update() after each step; an
// evaluation calls swap_in(), computes with the averages, and calls swap_out(). Each rank averages
// what it holds.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "kernels/ops/update.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

// The decay d of step `step`, counted from 1: min(decay, (1 + step) / (10 + step)). It is smaller
// in the first steps, so that the average soon forgets the initial weights, as in TensorFlow's
// ExponentialMovingAverage(num_updates).
[[nodiscard]] double average_decay(double decay, int64_t step);

class WeightAverage {
 public:
  explicit WeightAverage(double decay) : decay_(decay) {}  // optimizer.moving_average, above 0

  // Called once, when the weights have their values. Gives each trained weight, and the moving
  // statistics of each batch norm that is trained, an average (Purpose::Optimizer) that equals the
  // value now, in StateEntry::average. Where replicas share the updates out (StateEntry::cuts),
  // each averages only the elements that it updates. Entries and device must outlive this object.
  void allocate(StateRange range, Device& device);

  // average = d * average + (1 - d) * value with d = average_decay(decay, step), for weights and
  // statistics. Called after each step. Throws Error(Internal) between swap_in() and swap_out().
  void update(int64_t step);

  // Exchange the elements of weights and statistics with those of their averages: after swap_in()
  // the weights hold the averages, after swap_out() their own values again, to the bit. They are
  // called in turn, swap_in() first; else they throw Error(Internal). Where replicas share the
  // updates out, each exchanges its own elements only, and the caller must then gather the elements
  // of the others.
  void swap_in();
  void swap_out();

 private:
  void exchange();

  double decay_;
  bool swapped_ = false;
  std::vector<StateEntry*> entries_;  // trained entries with elements to average here
  std::vector<AverageTensors> list_;  // of one update: a member so that its memory is reused
  Tensor spare_;                      // holds a piece of a tensor while it is exchanged
  Device* device_ = nullptr;
};

}  // namespace penstock
