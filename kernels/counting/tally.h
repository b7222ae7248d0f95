// kernels/counting/tally.h -- Tally: where the counting op families add what they would do.
// Private to kernels/counting.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>

#include "kernels/counting/counting_device.h"
#include "kernels/cpu/onednn/filter_form.h"
#include "kernels/cpu/operands.h"
#include "kernels/ops.h"

namespace penstock {

// The number of elements as a double, the type in which FLOPs are counted.
inline double elements(const Tensor& t) {
  return static_cast<double>(t.elements());
}

class Tally {
 public:
  // The tensors that an op reads or writes, for the bytes that it moves. Null pointers are skipped;
  // a tensor that is both read and written stands in the list twice.
  using Operands = std::initializer_list<const Tensor*>;

  using Spent = std::function<void(double seconds)>;

  // Copies of weights and scratch tensors that the modelled device would make are taken from
  // `memory`, so that its account is that of the device. `spent` (may be empty) is called with the
  // seconds of each op.
  Tally(const DeviceModel& model, Memory& memory, Spent spent = {})
      : model_(model), memory_(memory), spent_(std::move(spent)) {}

  // Counts a matrix product of numbers of type `dtype`. `more_bytes` are read or written besides
  // the operands: a weight, or the tensor that is added to. Where the model emulates bf16, also
  // counts a widening pass for each bf16 operand, and takes the fp32 copies of all of them from the
  // memory at the same time.
  void product(ProductKind kind, double flops, DType dtype, Operands operands,
               double more_bytes = 0);
  // product() whose operands need no widening, or whose widening was counted before.
  void product_as_is(ProductKind kind, double flops, DType dtype, Operands operands,
                     double more_bytes = 0);
  // Counts an op that goes once over its operands, element by element, with `flops` operations in
  // all.
  void pass(double flops, Operands operands);

  // Counts the sum over the rows of g that is added to the gradient of a bias.
  void bias_gradient(const Tensor& dbias, const Tensor& g);

  // Counts the product that the plan describes, the copies of its operands (plan_operands(); on a
  // GPU, of rows of outputs: row_pieces.h) and the memory that these take. `b`: the weight that the
  // product reads, if it reads one. `others` are read or written besides a, b and c. Where no
  // operands are copied, oneDNN's own scratch memory is taken, whose copies are part of the
  // product's time.
  void multiply(const MatmulPlan& plan, Weight* b, Operands others);

  // What a convolution, or a product of experts, reads of a weight.
  struct WeightRead {
    double bytes = 0;  // bytes that it reads
    // The copy of a weight that is read once; the caller holds it until the op has been counted.
    // Empty where the op reads the value or a copy that the weight keeps.
    Tensor made;
  };
  // Says what an op on numbers of type `dtype` reads of the weight. Where the device reads a copy
  // of the value that is narrowed to bf16, it makes that copy and counts the pass over it: into the
  // weight, once after each Weight::changed().
  [[nodiscard]] WeightRead read(Weight& weight, DType dtype);
  // The same of the filter that a convolution reads, whose copy may be packed, too, and is made
  // into WeightRead::made where the weight is read once.
  [[nodiscard]] WeightRead read_filter(Weight& weight, const ConvolutionPlan& plan, FilterUse use);
  // The memory that kernels/cpu holds for the gradient of a filter, as scratch() is.
  [[nodiscard]] Tensor filter_gradient(const ConvolutionPlan& plan);

  // Scratch memory that kernels/cpu would take, held until the result is destroyed; an empty tensor
  // where another device is modelled.
  [[nodiscard]] Tensor scratch(int64_t elements, DType dtype);
  // Scratch memory on any device, held until the result is destroyed.
  [[nodiscard]] Tensor workspace(int64_t elements, DType dtype);
  // The memory of the fp32 copy of a bf16 tensor where the model emulates bf16; the pass that
  // widens the tensor into the copy, or rounds the tensor from it, is counted. Else counts nothing
  // and returns an empty tensor.
  [[nodiscard]] Tensor widened(const Tensor& tensor);
  // Counts an op that widens or rounds `elements` elements.
  void convert(double elements);
  // What oneDNN takes for blocks of operands that each thread copies in a product of a linear
  // layer: found by asking 2.6 for the scratch memory of products with 128 to 4096 rows, columns
  // and depth, which this bounds.
  [[nodiscard]] Tensor library_scratch(const MatmulPlan& plan);

  [[nodiscard]] const OpCount& count() const { return count_; }
  [[nodiscard]] const DeviceModel& model() const { return model_; }
  [[nodiscard]] OperandFacts operand_facts(bool read_once = false) const {
    return {!model_.emulates_bf16, model_.operand_copies, read_once};
  }

 private:
  void add(double flops, double rate, double bytes);
  // What read() says of a copy of that size: it is kept under `key` where `keep` is true, else
  // made.
  [[nodiscard]] WeightRead read_copy(Weight& weight, uint64_t key, bool keep, int64_t size_bytes);
  // The form of a filter that kernels/cpu has for the convolution on the modelled processor.
  [[nodiscard]] FilterForm form_of_filter(ConvolutionPlan plan, FilterUse use) const;
  // Counts a pass that copies `elements` numbers.
  void copy(double elements, DType from, DType to);
  // Scratch memory of the rows of outputs that a GPU copies for the product, whose copy is counted;
  // else an empty tensor.
  [[nodiscard]] Tensor copied_rows(const MatmulPlan& plan);

  DeviceModel model_;
  Memory& memory_;
  OpCount count_;
  Spent spent_;
};

// An op family that adds what it would do to a tally.
template <class Family>
class Counted : public Family {
 public:
  explicit Counted(Tally& tally) : tally_(tally) {}

 protected:
  Tally& tally_;
};

// Make the families that only count, each of these functions some of them. The tally must outlive
// the ops.
void add_product_ops(OpSet& ops, Tally& tally);
void add_pass_ops(OpSet& ops, Tally& tally);
void add_expert_ops(OpSet& ops, Tally& tally);

}  // namespace penstock
