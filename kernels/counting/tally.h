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

// The number of elements as a double, the type in which FLOPs are counted.
inline double elements(const Tensor& t) {
  return static_cast<double>(t.elements());
}

class Tally {
 public:
  // The tensors that an op reads or writes: null ones are skipped, and one that is read and written
  // stands there twice.
  using Operands = std::initializer_list<const Tensor*>;

  using Spent = std::function<void(double seconds)>;

  // `memory` takes the copies of weights and the scratch tensors that the device would; `spent`
  // (may be empty) is called with the seconds of each op.
  Tally(const DeviceModel& model, Memory& memory, Spent spent = {})
      : model_(model), memory_(memory), spent_(std::move(spent)) {}

  // Counts a matrix product of numbers of type `dtype`. `more_bytes` are read or written besides
  // the operands: a weight, or the tensor that is added to. Where bf16 is emulated all operands of
  // that type are widened at once.
  void product(ProductKind kind, double flops, DType dtype, Operands operands,
               double more_bytes = 0);
  // product() whose operands need no widening, or whose widening was counted before.
  void product_as_is(ProductKind kind, double flops, DType dtype, Operands operands,
                     double more_bytes = 0);
  // Counts one pass over the operands, with `flops` operations in all.
  void pass(double flops, Operands operands);

  // What a product reads of a weight.
  struct WeightRead {
    double bytes = 0;  // bytes that the product reads
    // Copies made for this product alone, held meanwhile: what of a bf16 value is widened at once
    // where bf16 is emulated, and the filter of a weight that is read once.
    Tensor made;
  };
  // Makes the copy of the weight that this use reads, where the device keeps such a copy (one pass
  // after each change) or makes one for the product. `groups` are the groups of a filter.
  [[nodiscard]] WeightRead read(Weight& weight, DType dtype, FilterUse use, int groups = 1);

  // Scratch memory of kernels/cpu, held until the result is destroyed; empty on other devices.
  [[nodiscard]] Tensor scratch(int64_t elements, DType dtype);
  // Scratch memory on any device, held until the result is destroyed.
  [[nodiscard]] Tensor workspace(int64_t size_bytes);
  // The fp32 copy of `tensor` where its type is emulated, counted with the pass that widens the
  // tensor into the copy or rounds it from there; empty for other types and on other devices.
  [[nodiscard]] Tensor widened(const Tensor& tensor);
  // Counts passes that widen or round `elements` elements in all.
  void convert(double elements);
  // read() for a product of a linear layer: of the weight's value, of its narrowed copy or of
  // copies that the product makes.
  [[nodiscard]] WeightRead read_linear(LinearProduct product, Weight& weight, int64_t rows,
                                       DType dtype);

  // A linear layer: y[rows, out] = x[rows, in] w[out, in]^T.
  struct Linear {
    int64_t rows, in, out;
    DType dtype;   // of x and y
    DType weight;  // of w, not of its gradient
  };
  // Scratch memory for the operands that the product reads from copies (OperandCopies), counted
  // with the pass that makes the copies; empty on other devices.
  [[nodiscard]] Tensor copies(LinearProduct product, const Linear& linear);
  // Scratch memory for a sum over the rows of g, as kernels/cpu/bias_gradient.cpp takes it.
  [[nodiscard]] Tensor bias_scratch(const Tensor& g);

  [[nodiscard]] const OpCount& count() const { return count_; }
  [[nodiscard]] const DeviceModel& model() const { return model_; }

 private:
  void add(double flops, double rate, double bytes);
  // Whether that product is computed from copies in the order of tiles.
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
