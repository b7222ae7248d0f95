// kernels/counting/tally.h -- Tally: where the counting op families add what they would do.
// Private to kernels/counting.
#pragma once

#include <initializer_list>
#include <memory>

#include "kernels/counting/counting_device.h"
#include "kernels/ops.h"

namespace penstock {

class Tally {
 public:
  // What an op reads or writes; null tensors are none, and one both read and written counts twice.
  using Operands = std::initializer_list<const Tensor*>;

  // `memory` takes the copies of weights and the scratch tensors that the device would.
  Tally(const DeviceModel& model, Memory& memory) : model_(model), memory_(memory) {}

  // Matrix products of numbers of that type. `weight_bytes` come on top of the operands.
  void product(double flops, DType dtype, Operands operands, double weight_bytes = 0);
  // One pass over the operands, so many operations in all.
  void pass(double flops, Operands operands);

  // The two uses of a weight that may want two layouts.
  enum class Use : uint8_t { Forward, InputGradient };
  // Makes the copy of the weight that this use reads where the device keeps one (a pass of its own
  // after each change), and returns the bytes read.
  [[nodiscard]] double read(Weight& weight, DType dtype, Use use);

  // Scratch memory of kernels/cpu, taken until the result goes; nothing on other devices.
  [[nodiscard]] Tensor scratch(int64_t elements, DType dtype);
  // That of a sum over the rows of g, as kernels/cpu/bias_gradient.cpp takes it.
  [[nodiscard]] Tensor bias_scratch(const Tensor& g);

  [[nodiscard]] const OpCount& count() const { return count_; }
  [[nodiscard]] const DeviceModel& model() const { return model_; }

 private:
  void add(double flops, double rate, double bytes);

  DeviceModel model_;
  Memory& memory_;
  OpCount count_;
};

// The tally must outlive the ops.
[[nodiscard]] std::unique_ptr<DenseOps> counting_dense_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<ImageOps> counting_image_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<NormOps> counting_norm_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<PointwiseOps> counting_pointwise_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<LayoutOps> counting_layout_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<AttentionOps> counting_attention_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<TokenOps> counting_token_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<UpdateOps> counting_update_ops(Tally& tally);

}  // namespace penstock
