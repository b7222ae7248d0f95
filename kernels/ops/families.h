// kernels/ops/families.h -- OpFamilies: every op of one device. All outputs are given by the caller
// and overwritten (=) unless a comment says added to (+=).
#pragma once

#include <memory>

namespace penstock {

class DenseOps;
class ImageOps;
class RowNormOps;
class BatchNormOps;
class ActivationOps;
class PointwiseOps;
class LayoutOps;
class AttentionOps;
class TokenOps;
class ExpertOps;
class UpdateOps;

// The op families of a device. Each has a header in kernels/ops; kernels/ops.h includes them all.
struct OpSet {
  std::unique_ptr<DenseOps> dense;            // matrix products
  std::unique_ptr<ImageOps> image;            // convolution, pooling
  std::unique_ptr<RowNormOps> row_norm;       // layer norm, RMS norm
  std::unique_ptr<BatchNormOps> batch_norm;   // batch norm
  std::unique_ptr<ActivationOps> activation;  // activation functions and gates
  std::unique_ptr<PointwiseOps> pointwise;    // sums, dropout, fills, casts
  std::unique_ptr<LayoutOps> layout;          // concat, split, transpose
  std::unique_ptr<AttentionOps> attention;    // softmax, multi-head attention
  std::unique_ptr<TokenOps> token;            // embedding, cross-entropy
  std::unique_ptr<ExpertOps> experts;         // mixtures of experts
  std::unique_ptr<UpdateOps> update;          // optimizer arithmetic
};

class OpFamilies {
 public:
  virtual ~OpFamilies() = default;

  [[nodiscard]] virtual OpSet& ops() = 0;  // owned by the device, which must outlive their use
  [[nodiscard]] DenseOps& dense() { return *ops().dense; }
  [[nodiscard]] ImageOps& image() { return *ops().image; }
  [[nodiscard]] RowNormOps& row_norm() { return *ops().row_norm; }
  [[nodiscard]] BatchNormOps& batch_norm() { return *ops().batch_norm; }
  [[nodiscard]] ActivationOps& activation() { return *ops().activation; }
  [[nodiscard]] PointwiseOps& pointwise() { return *ops().pointwise; }
  [[nodiscard]] LayoutOps& layout() { return *ops().layout; }
  [[nodiscard]] AttentionOps& attention() { return *ops().attention; }
  [[nodiscard]] TokenOps& token() { return *ops().token; }
  [[nodiscard]] ExpertOps& experts() { return *ops().experts; }
  [[nodiscard]] UpdateOps& update() { return *ops().update; }
};

}  // namespace penstock
