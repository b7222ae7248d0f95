// kernels/counting/tally.h -- Tally: where the counting op families add what they would do.
// Private to kernels/counting.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>

#include "kernels/counting/counting_device.h"
#include "kernels/cpu/loops/row_padding.h"
#include "kernels/cpu/loops/tiled_operands.h"
#include "kernels/cpu/loops/weight_pieces.h"
#include "kernels/cpu/onednn/packed_filters.h"
#include "kernels/ops.h"

namespace penstock {

// As FLOPs are counted.
inline double elements(const Tensor& t) {
  return static_cast<double>(t.elements());
}

class Tally {
 public:
  // What an op reads or writes; null tensors are none, and one both read and written counts twice.
  using Operands = std::initializer_list<const Tensor*>;

  using Spent = std::function<void(double seconds)>;

  // `memory` takes the copies of weights and the scratch tensors that the device would; `spent`
  // (may be empty) is called with the seconds of each op.
  Tally(const DeviceModel& model, Memory& memory, Spent spent = {})
      : model_(model), memory_(memory), spent_(std::move(spent)) {}

  // Matrix products of numbers of that type. `more_bytes` come on top of the operands: a weight, or
  // what is added to. Where bf16 is emulated all operands of that type are widened at once.
  void product(ProductKind kind, double flops, DType dtype, Operands operands,
               double more_bytes = 0);
  // The same, where what is widened was counted before.
  void product_as_is(ProductKind kind, double flops, DType dtype, Operands operands,
                     double more_bytes = 0);
  // One pass over the operands, so many operations in all.
  void pass(double flops, Operands operands);

  struct WeightRead {
    double bytes = 0;  // that the product reads
    // Copies made for this product alone, held meanwhile: what of a bf16 value is widened at once
    // where bf16 is emulated, and the filter of a weight that is read once.
    Tensor made;
  };
  // Makes the copy of the weight that this use reads where the device keeps one (a pass of its own
  // after each change), or has one for the product. `groups` are those of a filter.
  [[nodiscard]] WeightRead read(Weight& weight, DType dtype, FilterUse use, int groups = 1);

  // Scratch memory of kernels/cpu, taken until the result goes; nothing on other devices.
  [[nodiscard]] Tensor scratch(int64_t elements, DType dtype);
  // The same on any device.
  [[nodiscard]] Tensor workspace(int64_t size_bytes);
  // The fp32 numbers that stand for `tensor` where its type is emulated, with the pass that widens
  // it into them or rounds it from them; nothing of other types and on other devices.
  [[nodiscard]] Tensor widened(const Tensor& tensor);
  // Such passes over so many elements in all.
  void convert(double elements);
  // The same for a linear layer's product, of the weight's value, of its narrowed copy or of copies
  // that the product makes.
  [[nodiscard]] WeightRead read_linear(LinearProduct product, Weight& weight, int64_t rows,
                                       DType dtype);

  // A linear layer: y[rows, out] = x[rows, in] w[out, in]^T.
  struct Linear {
    int64_t rows, in, out;
    DType dtype;   // of x and y
    DType weight;  // of w, not of its gradient
  };
  // Scratch memory for what a product of it reads from copies (OperandCopies), with the pass that
  // makes them; nothing on other devices.
  [[nodiscard]] Tensor copies(LinearProduct product, const Linear& linear);
  // That of a sum over the rows of g, as kernels/cpu/bias_gradient.cpp takes it.
  [[nodiscard]] Tensor bias_scratch(const Tensor& g);

  [[nodiscard]] const OpCount& count() const { return count_; }
  [[nodiscard]] const DeviceModel& model() const { return model_; }

 private:
  void add(double flops, double rate, double bytes);
  // Whether that product is computed from copies in tiles.
  [[nodiscard]] bool tiles(LinearProduct product, const Linear& linear) const;
  [[nodiscard]] Tensor padded(LinearProduct product, const Linear& linear);
  [[nodiscard]] Tensor tiled(LinearProduct product, const Linear& linear);

  DeviceModel model_;
  Memory& memory_;
  OpCount count_;
  Spent spent_;
};

// The tally must outlive the ops.
[[nodiscard]] std::unique_ptr<DenseOps> counting_dense_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<ImageOps> counting_image_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<RowNormOps> counting_row_norm_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<BatchNormOps> counting_batch_norm_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<ActivationOps> counting_activation_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<PointwiseOps> counting_pointwise_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<LayoutOps> counting_layout_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<AttentionOps> counting_attention_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<TokenOps> counting_token_ops(Tally& tally);
[[nodiscard]] std::unique_ptr<UpdateOps> counting_update_ops(Tally& tally);

}  // namespace penstock
