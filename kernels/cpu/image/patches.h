// kernels/cpu/image/patches.h -- convolutions of few pixels as products of matrices: of the filter,
// which they read where it lies, by the patches, what lies under the window at each position of it.
//
// oneDNN's own convolutions want the filter in another order, and its gradient comes in one, too. A
// filter of 512 x 512 channels that meets images of 2 x 2 pixels is larger than all patches of a
// micro-batch together, and these copies of it take as long as the convolution.
#pragma once

#include <optional>

#include "kernels/cpu/families.h"
#include "kernels/cpu/matmul_plan.h"

namespace penstock {

// The products of a convolution of x with a filter [out, in, kernel_h, kernel_w], all fp32 and
// dense. Its patches are a matrix [positions, numbers], whose rows have the order of the filter.
struct PatchProducts {
  int64_t positions;  // of the window in all images
  int64_t numbers;    // of a patch: in * kernel_h * kernel_w
  int64_t out;

  // y^T [out, positions] = w patches^T. With few positions this is up to 1.6 times as fast as y
  // itself, for which the library would copy the filter.
  [[nodiscard]] MatmulPlan forward() const;
  // The gradient of the patches = g w, where g [positions, out] is that of y.
  [[nodiscard]] MatmulPlan input_gradient() const;
  // dw = (accumulate ? dw : 0) + g^T patches, from a copy of g^T [out, positions] that is dense.
  [[nodiscard]] MatmulPlan weight_gradient(bool accumulate) const;
};

// Returns the products that stand in place of a convolution with that filter whose result, or the
// result's gradient, is `y`; nothing where oneDNN's convolutions are the faster ones.
[[nodiscard]] std::optional<PatchProducts> patch_products(const Tensor& y, const Shape& filter,
                                                          int groups);

// ImageOps::conv2d_forward(), conv2d_backward_input() and conv2d_backward_weight(), the latter
// without a bias, by the products. The caller has checked the shapes.
void forward_by_patches(CpuContext& context, const PatchProducts& products, const Tensor& y,
                        const Tensor& x, const Tensor& w, const Tensor* bias, const Window& window,
                        Fused f);
void backward_input_by_patches(CpuContext& context, const PatchProducts& products, const Tensor& dx,
                               const Tensor& g, const Tensor& w, const Window& window);
void backward_weight_by_patches(CpuContext& context, const PatchProducts& products,
                                const Tensor& dw, const Tensor& x, const Tensor& g,
                                const Window& window, bool accumulate);

}  // namespace penstock
