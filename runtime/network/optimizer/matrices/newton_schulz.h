// runtime/network/optimizer/matrices/newton_schulz.h -- NewtonSchulz: makes a matrix nearly
// orthogonal, by products of matrices alone, as muon wants its updates.
//
// The result for a matrix X = U S V^T is about U V^T: X over its norm, then five times
// X = a X + (b G + c G^2) X with G = X X^T, where a, b, c are Keller Jordan's. Singular values end
// between 0.7 and 1.2, but for those that are nearly 0 beside the norm. The products are those of
// the device, in fp32, so the bits follow from the matrix alone.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/device.h"
#include "runtime/network/optimizer/matrices/matrix_size.h"

namespace penstock {

class NewtonSchulz {
 public:
  // Makes memory for any one of these matrices at a time (Purpose::Workspace). The device must
  // outlive this object.
  void allocate(std::span<const MatrixSize> matrices, Device& device);

  // Two tensors [elements] of that memory: the caller writes the matrix, row by row, to the first;
  // the second is free until orthogonalize().
  [[nodiscard]] Tensor matrix(const MatrixSize& size) const;
  [[nodiscard]] Tensor spare(const MatrixSize& size) const;
  // Makes matrix() nearly orthogonal and returns the result, [elements], which is valid until
  // matrix() is written to again. A matrix of zeros stays one.
  [[nodiscard]] Tensor orthogonalize(const MatrixSize& size);

 private:
  void iterate(Tensor& next, const Tensor& x, const MatrixSize& size);

  Device* device_ = nullptr;
  Tensor memory_;   // matrix(), spare(), then three squares of G's size
  Tensor squares_;  // F64: what the norm is taken from
};

}  // namespace penstock
