// kernels/cuda/image/cudnn_convolution.h -- the only wrapper of cuDNN's convolutions of
// channels-last images.
//
// Callers describe a convolution; the wrapper asks the library once which algorithm it would take,
// keeps descriptors and answer, and runs it. The choice follows from the description and the kind
// of GPU alone: no timing, deterministic algorithms only, and a fixed workspace limit. fp32 is true
// fp32 (no tf32); bf16 sums in fp32. Calls submit commands to the context's queue and do not wait.
#pragma once

#include <map>
#include <memory>

#include "kernels/cuda/image/convolution_way.h"

namespace penstock {

// A convolution of images x [n, height, width, in] with filters [out, kernel_h, kernel_w, in /
// groups], to images y [n, out_height, out_width, out]. pad_h rows of zeros stand above x and as
// many below, pad_w columns on either side.
struct Convolution {
  using Pass = ConvolutionShape::Pass;
  Pass pass = Pass::Forward;
  DType type = DType::F32;  // of images and filters
  int n = 0, height = 0, width = 0, in = 0;
  int out_height = 0, out_width = 0, out = 0;
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  int groups = 1;
  // NOLINTNEXTLINE(modernize-use-nullptr): there is none here
  auto operator<=>(const Convolution&) const = default;
};

class CudnnConvolutions {
 public:
  // The context must outlive this, and this the commands that it has submitted.
  explicit CudnnConvolutions(CudaContext& context);
  ~CudnnConvolutions();
  CudnnConvolutions(const CudnnConvolutions&) = delete;
  CudnnConvolutions& operator=(const CudnnConvolutions&) = delete;

  // Whether the library has a deterministic algorithm within the workspace limit.
  [[nodiscard]] bool supports(const Convolution& convolution);

  // Addresses on the device, of dense tensors in `type`; w is [out, kernel_h, kernel_w, in /
  // groups]. Forward reads x and w and overwrites y. BackwardInput reads the gradient of y at `y`,
  // and w, and overwrites dx at `x`. BackwardWeight reads x and the gradient of y at `y`, and
  // overwrites dw at `w`.
  struct Images {
    void* x;
    void* w;
    void* y;
  };
  // Computes the convolution's pass; no tensor may be empty. Throws Error(Internal) where
  // supports() is false.
  void run(const Convolution& convolution, const Images& images);

  struct Plan;  // cudnn_convolution.cpp

 private:
  Plan& plan_of(const Convolution& convolution);

  CudaContext& context_;
  cudnnHandle_t handle_ = nullptr;
  std::map<Convolution, std::unique_ptr<Plan>> plans_;
};

}  // namespace penstock
