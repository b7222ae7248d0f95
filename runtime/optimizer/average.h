// runtime/optimizer/average.h -- WeightAverage: the exponential moving average of the weights, with
// which evaluation is better than with the last ones (Polyak & Juditsky 1992), and of the
// statistics that belong to them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

// A tensor that training changes, though not by a gradient: a batch norm's moving mean or variance,
// which is of the activations that the last weights make. With the weights' averages go its own.
struct MovingStatistic {
  std::string name;  // "blocks.2.norm.running_mean"
  Tensor value;      // fp32; a reference to the live tensor
};

class WeightAverage {
 public:
  explicit WeightAverage(double decay) : decay_(decay) {}  // optimizer.moving_average, above 0

  // Makes the averages (Purpose::Optimizer), equal to the weights and statistics now. Parameters
  // and device must outlive this object. Once; the weights must exist.
  void allocate(std::span<Parameter* const> parameters, std::span<const MovingStatistic> statistics,
                Device& device);

  // average = d average + (1 - d) value with d = average_decay(decay, step), for weights and
  // statistics. After each step.
  void update(int64_t step);

  // Exchanges the elements of weights and statistics with those of their averages: after swap_in
  // they hold the averages, after swap_out their own values again, to the bit. Strictly in turn.
  void swap_in();
  void swap_out();

  // Slot "average", for a checkpoint to write or to read into. Not between swap_in and swap_out.
  [[nodiscard]] std::vector<StateTensor> state() const;

 private:
  struct Entry {
    std::string name;
    Parameter* parameter;  // null: a statistic
    Tensor value, average;
  };
  void add(const std::string& name, Parameter* parameter, const Tensor& value);
  void exchange();

  double decay_;
  bool swapped_ = false;
  std::vector<Entry> entries_;
  std::vector<AverageTensors> list_;  // of one update: kept for its memory
  Tensor spare_;                      // one piece of a tensor on its way
  Device* device_ = nullptr;
};

}  // namespace penstock
