#include "runtime/network/optimizer/matrices/newton_schulz.h"

#include <algorithm>
#include <utility>

#include "kernels/ops/dense.h"
#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"
#include "runtime/network/stage/stage_gradients.h"

namespace penstock {
namespace {

constexpr int kIterations = 5;
constexpr float kA = 3.4445F, kB = -4.7750F, kC = 2.0315F;
constexpr float kLeastNorm = 1e-7F;

// These return how many elements a tensor takes in the memory, rounded up to whole lines of 64
// bytes.
int64_t room_of_matrix(const MatrixSize& size) {
  return with_padding(size.elements());
}
int64_t room_of_square(const MatrixSize& size) {
  return with_padding(size.shorter() * size.shorter());
}

}  // namespace

void NewtonSchulz::allocate(std::span<const MatrixSize> matrices, Device& device) {
  device_ = &device;
  int64_t numbers = 0;
  int64_t blocks = 0;
  for (const MatrixSize& size : matrices) {
    numbers = std::max(numbers, 2 * room_of_matrix(size) + 3 * room_of_square(size));
    blocks = std::max(blocks, squares_blocks(size.elements()));
  }
  memory_ = device.empty({numbers}, DType::F32, Purpose::Workspace);
  squares_ = device.empty({blocks}, DType::F64, Purpose::Workspace);
}

Tensor NewtonSchulz::matrix(const MatrixSize& size) const {
  return memory_.view(0, {size.elements()});
}

Tensor NewtonSchulz::spare(const MatrixSize& size) const {
  return memory_.view(room_of_matrix(size), {size.elements()});
}

Tensor NewtonSchulz::orthogonalize(const MatrixSize& size) {
  Tensor x = matrix(size);
  Tensor next = spare(size);
  Tensor squares = squares_.view(0, {squares_blocks(size.elements())});
  device_->update().squares_by_block(squares, {&x, 1});
  device_->update().divide_by_norm(x, squares, kLeastNorm);
  for (int i = 0; i < kIterations; ++i) {
    iterate(next, x, size);
    std::swap(next, x);
  }
  return x;
}

// Writes the next iterate to `next`: X times a polynomial of its Gram matrix G. G = X X^T stands on
// the left of X. For a tall matrix G = X^T X stands on the right, because it is smaller.
void NewtonSchulz::iterate(Tensor& next, const Tensor& x, const MatrixSize& size) {
  DenseOps& dense = device_->dense();
  PointwiseOps& pointwise = device_->pointwise();
  const bool tall = size.rows > size.columns;
  const Shape whole{1, size.rows, size.columns};
  const Shape square{1, size.shorter(), size.shorter()};
  const Tensor from = x.reshaped(whole);
  Tensor to = next.reshaped(whole);
  const int64_t squares = 2 * room_of_matrix(size);
  Tensor gram = memory_.view(squares, square);
  Tensor scaled = memory_.view(squares + room_of_square(size), square);
  Tensor polynomial = memory_.view(squares + 2 * room_of_square(size), square);
  dense.matmul(gram, from, from, tall, !tall, false);
  pointwise.scale(polynomial, gram, kB);
  pointwise.scale(scaled, gram, kC);
  dense.matmul(polynomial, scaled, gram, false, false, true);
  pointwise.scale(to, from, kA);
  const Tensor& left = tall ? from : polynomial;
  const Tensor& right = tall ? polynomial : from;
  dense.matmul(to, left, right, false, false, true);
}

}  // namespace penstock
