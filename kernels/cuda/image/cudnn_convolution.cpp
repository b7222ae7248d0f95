#include "kernels/cuda/image/cudnn_convolution.h"

#include <array>
#include <span>
#include <string>

#include "kernels/cuda/owned.h"
#include "kernels/error.h"

namespace penstock {
namespace {

using Pass = ConvolutionShape::Pass;

constexpr size_t kConvolutionWorkspace = size_t{256} << 20;

using Image = Owned<cudnnTensorDescriptor_t, &cudnnDestroyTensorDescriptor>;
using Filter = Owned<cudnnFilterDescriptor_t, &cudnnDestroyFilterDescriptor>;
using Sliding = Owned<cudnnConvolutionDescriptor_t, &cudnnDestroyConvolutionDescriptor>;

cudnnDataType_t cudnn_type(DType type) {
  switch (type) {
    case DType::F32:
      return CUDNN_DATA_FLOAT;
    case DType::BF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      fail_internal(std::string("no convolution works in ") + name_of(type));
  }
}

Image new_image(DType type, int n, int channels, int height, int width) {
  cudnnTensorDescriptor_t image = nullptr;
  PENSTOCK_CUDA(cudnnCreateTensorDescriptor(&image));
  Image owned(image);
  PENSTOCK_CUDA(cudnnSetTensor4dDescriptor(image, CUDNN_TENSOR_NHWC, cudnn_type(type), n, channels,
                                           height, width));
  return owned;
}

Filter new_filter(const Convolution& c) {
  cudnnFilterDescriptor_t filter = nullptr;
  PENSTOCK_CUDA(cudnnCreateFilterDescriptor(&filter));
  Filter owned(filter);
  PENSTOCK_CUDA(cudnnSetFilter4dDescriptor(filter, cudnn_type(c.type), CUDNN_TENSOR_NHWC, c.out,
                                           c.in / c.groups, c.kernel_h, c.kernel_w));
  return owned;
}

// Returns the arithmetic that the library may use. Numbers in fp32 must not become tf32; bf16 loses
// nothing on tensor cores.
cudnnMathType_t allowed_math(DType type) {
  return type == DType::F32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
}

Sliding new_sliding(const Convolution& c) {
  cudnnConvolutionDescriptor_t sliding = nullptr;
  PENSTOCK_CUDA(cudnnCreateConvolutionDescriptor(&sliding));
  Sliding owned(sliding);
  PENSTOCK_CUDA(cudnnSetConvolution2dDescriptor(sliding, c.pad_h, c.pad_w, c.stride_h, c.stride_w,
                                                1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  PENSTOCK_CUDA(cudnnSetConvolutionGroupCount(sliding, c.groups));
  PENSTOCK_CUDA(cudnnSetConvolutionMathType(sliding, allowed_math(c.type)));
  return owned;
}

}  // namespace

struct CudnnConvolutions::Plan {
  cudnnHandle_t handle;
  Convolution convolution;
  Image x, y;
  Filter w;
  Sliding sliding;
  int algorithm = 0;  // a number of the enumeration for this pass
  size_t workspace_bytes = 0;
  bool supported = false;

  Plan(cudnnHandle_t library, const Convolution& c)
      : handle(library),
        convolution(c),
        x(new_image(c.type, c.n, c.in, c.height, c.width)),
        y(new_image(c.type, c.n, c.out, c.out_height, c.out_width)),
        w(new_filter(c)),
        sliding(new_sliding(c)) {
    if (c.pass == Pass::Forward) choose_forward();
    if (c.pass == Pass::BackwardInput) choose_backward_input();
    if (c.pass == Pass::BackwardWeight) choose_backward_weight();
  }

  // Takes the library's first suggestion that is deterministic and computes fp32 without tensor
  // cores. size_of_workspace(algorithm) asks the library once more, and fails for an algorithm that
  // cannot be run.
  template <class Suggestion, class F>
  void choose(cudnnStatus_t status, std::span<const Suggestion> suggestions,
              const F& size_of_workspace) {
    if (status != CUDNN_STATUS_SUCCESS) return;
    for (const Suggestion& suggestion : suggestions) {
      if (suggestion.status != CUDNN_STATUS_SUCCESS) continue;
      if (suggestion.determinism != CUDNN_DETERMINISTIC) continue;
      const bool narrow = convolution.type != DType::F32;
      const bool tensor_cores = suggestion.mathType == CUDNN_TENSOR_OP_MATH ||
                                suggestion.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
      if (tensor_cores && !narrow) continue;
      if (narrow) {
        PENSTOCK_CUDA(cudnnSetConvolutionMathType(sliding.get(), suggestion.mathType));
      }
      if (size_of_workspace(suggestion.algo) != CUDNN_STATUS_SUCCESS) continue;
      if (workspace_bytes > kConvolutionWorkspace) continue;
      algorithm = static_cast<int>(suggestion.algo);
      supported = true;
      return;
    }
  }

  void choose_forward() {
    std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> found{};
    int count = 0;
    const cudnnStatus_t status = cudnnGetConvolutionForwardAlgorithm_v7(
        handle, x.get(), w.get(), sliding.get(), y.get(), static_cast<int>(found.size()), &count,
        found.data());
    choose(status, std::span<const cudnnConvolutionFwdAlgoPerf_t>(found).first(count),
           [this](cudnnConvolutionFwdAlgo_t algo) {
             return cudnnGetConvolutionForwardWorkspaceSize(handle, x.get(), w.get(), sliding.get(),
                                                            y.get(), algo, &workspace_bytes);
           });
  }

  void choose_backward_input() {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> found{};
    int count = 0;
    const cudnnStatus_t status = cudnnGetConvolutionBackwardDataAlgorithm_v7(
        handle, w.get(), y.get(), sliding.get(), x.get(), static_cast<int>(found.size()), &count,
        found.data());
    choose(status, std::span<const cudnnConvolutionBwdDataAlgoPerf_t>(found).first(count),
           [this](cudnnConvolutionBwdDataAlgo_t algo) {
             return cudnnGetConvolutionBackwardDataWorkspaceSize(
                 handle, w.get(), y.get(), sliding.get(), x.get(), algo, &workspace_bytes);
           });
  }

  void choose_backward_weight() {
    std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT>
        found{};
    int count = 0;
    const cudnnStatus_t status = cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        handle, x.get(), y.get(), sliding.get(), w.get(), static_cast<int>(found.size()), &count,
        found.data());
    choose(status, std::span<const cudnnConvolutionBwdFilterAlgoPerf_t>(found).first(count),
           [this](cudnnConvolutionBwdFilterAlgo_t algo) {
             return cudnnGetConvolutionBackwardFilterWorkspaceSize(
                 handle, x.get(), y.get(), sliding.get(), w.get(), algo, &workspace_bytes);
           });
  }

  [[nodiscard]] std::string choice() const {
    const Convolution& c = convolution;
    const char* pass = c.pass == Pass::Forward         ? "forward"
                       : c.pass == Pass::BackwardInput ? "backward, input"
                                                       : "backward, weight";
    const std::string asked =
        "a convolution of [" + std::to_string(c.n) + ", " + std::to_string(c.height) + ", " +
        std::to_string(c.width) + ", " + std::to_string(c.in) + "] with [" + std::to_string(c.out) +
        ", " + std::to_string(c.in / c.groups) + ", " + std::to_string(c.kernel_h) + ", " +
        std::to_string(c.kernel_w) + "] of " + name_of(c.type) + ", " + pass;
    if (!supported) return asked + ": refused by cuDNN, our own kernel stands in";
    return asked + ": cuDNN, algorithm " + std::to_string(algorithm) + ", workspace " +
           std::to_string(workspace_bytes) + " bytes";
  }

  static void run(cudaStream_t stream, const Plan* plan, const Images& at, void* workspace) {
    PENSTOCK_CUDA(cudnnSetStream(plan->handle, stream));
    switch (plan->convolution.pass) {
      case Pass::Forward:
        return plan->forward(at, workspace);
      case Pass::BackwardInput:
        return plan->backward_input(at, workspace);
      case Pass::BackwardWeight:
        return plan->backward_weight(at, workspace);
    }
  }

 private:
  static constexpr float kOne = 1.0F;
  static constexpr float kZero = 0.0F;

  void forward(const Images& at, void* workspace) const {
    PENSTOCK_CUDA(cudnnConvolutionForward(handle, &kOne, x.get(), at.x, w.get(), at.w,
                                          sliding.get(),
                                          static_cast<cudnnConvolutionFwdAlgo_t>(algorithm),
                                          workspace, workspace_bytes, &kZero, y.get(), at.y));
  }
  void backward_input(const Images& at, void* workspace) const {
    PENSTOCK_CUDA(
        cudnnConvolutionBackwardData(handle, &kOne, w.get(), at.w, y.get(), at.y, sliding.get(),
                                     static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                                     workspace, workspace_bytes, &kZero, x.get(), at.x));
  }
  void backward_weight(const Images& at, void* workspace) const {
    PENSTOCK_CUDA(
        cudnnConvolutionBackwardFilter(handle, &kOne, x.get(), at.x, y.get(), at.y, sliding.get(),
                                       static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                                       workspace, workspace_bytes, &kZero, w.get(), at.w));
  }
};

CudnnConvolutions::CudnnConvolutions(CudaContext& context) : context_(context) {
  PENSTOCK_CUDA(cudnnCreate(&handle_));
}

CudnnConvolutions::~CudnnConvolutions() {
  plans_.clear();
  (void)cudnnDestroy(handle_);  // nothing can be thrown here
}

CudnnConvolutions::Plan& CudnnConvolutions::plan_of(const Convolution& convolution) {
  std::unique_ptr<Plan>& plan = plans_[convolution];
  if (plan == nullptr) {
    plan = std::make_unique<Plan>(handle_, convolution);
    context_.made(plan->choice());
  }
  return *plan;
}

bool CudnnConvolutions::supports(const Convolution& convolution) {
  return plan_of(convolution).supported;
}

void CudnnConvolutions::run(const Convolution& convolution, const Images& images) {
  const Plan& plan = plan_of(convolution);
  if (!plan.supported) fail_internal("cuDNN was asked for a convolution that it does not support");
  Tensor workspace;
  if (plan.workspace_bytes > 0) {
    workspace = context_.scratch({static_cast<int64_t>(plan.workspace_bytes)}, DType::U8);
  }
  context_.queue.call<&Plan::run>(&plan, images, workspace.raw());
}

}  // namespace penstock
