// tests/unit/network/layers/batch_norm_network.h -- NormReplica: one batch norm as a network, on
// images that tell their micro-batch; and the statistics that it must find.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "runtime/network/layers/library/norm.h"
#include "tests/unit/network/layers/network.h"

namespace penstock {

inline constexpr int64_t kNormChannels = 3;
inline constexpr int kNormMicroBatches = 3;
inline constexpr double kNormDecay = 0.8;
inline constexpr double kNormEpsilon = 1e-3;

class NormReplica : public SmallNetwork {
 public:
  explicit NormReplica(RecomputeMode mode = RecomputeMode::None,
                       const std::vector<std::string>& freeze = {})
      : SmallNetwork(layers_of(std::make_unique<BatchNorm>(
                         "norm", kNormChannels,
                         BatchNorm::Options{.epsilon = static_cast<float>(kNormEpsilon),
                                            .decay = static_cast<float>(kNormDecay)})),
                     kNormMicroBatches, mode, freeze),
        mode_(mode) {}

  // Adds `centre` to all images from now on.
  void move_images(float centre) { centre_ = centre; }
  // The images of micro-batch `number`, whose mean and variance differ from those of the others.
  Tensor images(int number) {
    Tensor x = random({2, 2, 3, kNormChannels}, static_cast<uint64_t>(number));
    for (float& value : x.span<float>()) {
      value = value * static_cast<float>(number + 1) + 0.5F * static_cast<float>(number) + centre_;
    }
    return x;
  }
  // Runs forward and backward of all micro-batches; the first has the images number `first`.
  void run(int first) {
    stage().begin_step();
    for (int m = 0; m < kNormMicroBatches; ++m) {
      (void)stage().forward(micro_batch(m), {images(first + m)}, mode_ == RecomputeMode::None);
    }
    for (int m = 0; m < kNormMicroBatches; ++m) {
      if (mode_ != RecomputeMode::None) stage().recompute(micro_batch(m));
      (void)stage().backward(micro_batch(m), {random({2, 2, 3, kNormChannels}, 50)});
    }
  }
  // The norm's sums of the step.
  Tensor& sums() { return stage().weights().set().declared().step_sums[0].value; }
  // The norm's running means, then its running variances.
  [[nodiscard]] Numbers averages() {
    Numbers all = buffer("norm.running_mean");
    for (double v : buffer("norm.running_var")) all.push_back(v);
    return all;
  }

 private:
  RecomputeMode mode_;
  float centre_ = 0.0F;
};

// The means of all channels, then their unbiased variances, over micro-batches [first, last).
inline Numbers statistics(NormReplica& replica, int first, int last) {
  Numbers result(2 * kNormChannels);
  for (size_t c = 0; c < kNormChannels; ++c) {
    Numbers column;
    for (int m = first; m < last; ++m) {
      const Numbers x = numbers_of(replica.images(m));
      for (size_t i = c; i < x.size(); i += kNormChannels) column.push_back(x[i]);
    }
    double mean = 0.0;
    for (double x : column) mean += x / static_cast<double>(column.size());
    double variance = 0.0;
    for (double x : column) variance += (x - mean) * (x - mean);
    result[c] = mean;
    result[kNormChannels + c] = variance / static_cast<double>(column.size() - 1);
  }
  return result;
}

}  // namespace penstock
