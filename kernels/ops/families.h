// kernels/ops/families.h -- OpFamilies: every op of one device. All outputs are given by the caller
// and overwritten (=) unless a comment says added to (+=).
#pragma once

namespace penstock {

class DenseOps;
class ImageOps;
class NormOps;
class PointwiseOps;
class LayoutOps;
class AttentionOps;
class TokenOps;
class UpdateOps;

// One header each in this directory; kernels/ops.h has them all.
class OpFamilies {
 public:
  virtual ~OpFamilies() = default;

  virtual DenseOps& dense() = 0;          // matrix products
  virtual ImageOps& image() = 0;          // convolution, pooling
  virtual NormOps& norm() = 0;            // layer norm, batch norm
  virtual PointwiseOps& pointwise() = 0;  // activations, sums, dropout, casts
  virtual LayoutOps& layout() = 0;        // concat, split, transpose
  virtual AttentionOps& attention() = 0;  // softmax, multi-head attention
  virtual TokenOps& token() = 0;          // embedding, cross-entropy
  virtual UpdateOps& update() = 0;        // optimizer arithmetic
};

}  // namespace penstock
