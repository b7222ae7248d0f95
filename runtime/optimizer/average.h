// runtime/optimizer/average.h -- WeightAverage: the exponential moving average of the weights, with
// which evaluation is better than with the last ones (Polyak & Juditsky 1992).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device.h"
#include "kernels/ops/update.h"
#include "runtime/autograd/parameter.h"
#include "runtime/optimizer/state.h"

namespace penstock {

// The decay of step `step` (from 1): min(decay, (1 + step) / (10 + step)). The ramp lets the
// average forget the initial weights in short runs; it is that of TensorFlow's
// ExponentialMovingAverage(num_updates), which AmoebaNet was trained with.
[[nodiscard]] double average_decay(double decay, int64_t step);

class WeightAverage {
 public:
  explicit WeightAverage(double decay) : decay_(decay) {}  // optimizer.moving_average, above 0

  // Makes the averages (Purpose::Optimizer), equal to the weights now. Parameters and device must
  // outlive this object. Once; the weights must exist.
  void allocate(std::span<Parameter* const> parameters, Device& device);

  // average = d average + (1 - d) weight with d = average_decay(decay, step). After each step.
  void update(int64_t step);

  // Exchanges the elements of weights and averages: after swap_in the parameters hold the averages,
  // after swap_out their own values again, to the bit. Strictly in turn.
  void swap_in();
  void swap_out();

  // Slot "average", for a checkpoint to write or to read into. Not between swap_in and swap_out.
  [[nodiscard]] std::vector<StateTensor> state() const;

 private:
  void exchange();

  double decay_;
  bool swapped_ = false;
  std::vector<Parameter*> parameters_;
  std::vector<Tensor> averages_;      // of parameters_, same order
  std::vector<AverageTensors> list_;  // of one update: kept for its memory
  Tensor spare_;                      // one piece of a weight on its way
  Device* device_ = nullptr;
};

}  // namespace penstock
