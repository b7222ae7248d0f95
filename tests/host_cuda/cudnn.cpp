// tests/host_cuda/cudnn.cpp -- the part of cuDNN that Penstock calls: two-dimensional convolutions
// through descriptors. The graph interface exists and supports nothing, as on a GPU that is too old
// for it. PENSTOCK_HOST_CUDNN=none: no convolution has an algorithm either.
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/host_cuda/convolution.h"
#include "tests/host_cuda/machine.h"
#include "tests/host_cuda/memory.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  bool supported = false;
  penstock::host_cuda::Tensor4 tensor;
};
struct cudnnFilterStruct : cudnnTensorStruct {};
struct cudnnConvolutionStruct {
  penstock::host_cuda::Sliding sliding;
  bool supported = false;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

namespace penstock::host_cuda {
namespace {

using Size = std::array<int64_t, 4>;

constexpr size_t kAlgorithms = 2;  // that are suggested: one of any order, one deterministic

Size strides_of(const Size& size, cudnnTensorFormat_t format) {
  const auto [n, c, h, w] = size;
  if (format == CUDNN_TENSOR_NHWC) return {h * w * c, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
}

cudnnStatus_t put_tensor(cudnnTensorStruct& to, cudnnDataType_t type, const Size& size,
                         const Size& stride) {
  to.supported = type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_BFLOAT16;
  for (const int64_t extent : size) {
    if (extent <= 0) return CUDNN_STATUS_BAD_PARAM;
  }
  to.tensor = {type == CUDNN_DATA_FLOAT ? Element::Float : Element::Bfloat16, size, stride};
  return CUDNN_STATUS_SUCCESS;
}

int64_t output(int64_t in, int64_t pad, int64_t kernel, int64_t dilation, int64_t stride) {
  return 1 + (in + 2 * pad - ((kernel - 1) * dilation + 1)) / stride;
}

// The descriptors as one convolution, or why they are none.
cudnnStatus_t convolution_of(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                             cudnnConvolutionDescriptor_t sliding, cudnnTensorDescriptor_t y,
                             Convolution4& made) {
  if (!x->supported || !w->supported || !y->supported || !sliding->supported) {
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  made.x = x->tensor;
  made.w = w->tensor;
  made.y = y->tensor;
  made.sliding = sliding->sliding;
  const Sliding& s = made.sliding;
  // FMA is plain arithmetic; anything else may take tensor cores, which cut floats short.
  made.sliding.tf32 = made.x.type == Element::Float && sliding->math != CUDNN_FMA_MATH;
  if (made.x.type != made.w.type || made.x.type != made.y.type) return CUDNN_STATUS_NOT_SUPPORTED;
  const Size expected = {made.x.size[0], made.w.size[0],
                         output(made.x.size[2], s.pad_h, made.w.size[2], s.dilation_h, s.stride_h),
                         output(made.x.size[3], s.pad_w, made.w.size[3], s.dilation_w, s.stride_w)};
  const bool fits = made.y.size == expected && made.x.size[1] == made.w.size[1] * s.groups &&
                    made.w.size[0] % s.groups == 0;
  return fits ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

bool told_to_refuse_convolutions() {
  const char* told = std::getenv("PENSTOCK_HOST_CUDNN");
  return told != nullptr && std::string_view(told) == "none";
}

// The better suggestion first: the second is what determinism costs.
template <class Performance, class Algo>
cudnnStatus_t suggest(const std::array<Algo, kAlgorithms>& algorithms,
                      const cudnnConvolutionStruct& sliding, cudnnStatus_t status, int most,
                      int* count, Performance* results) {
  *count = 0;
  if (status != CUDNN_STATUS_SUCCESS || told_to_refuse_convolutions()) return status;
  for (size_t a = 0; a < kAlgorithms && *count < most; ++a) {
    Performance& result = results[(*count)++];
    result = {};
    result.algo = algorithms[a];
    result.status = CUDNN_STATUS_SUCCESS;
    result.time = -1;
    result.determinism = a == 0 ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
    result.mathType = sliding.math;
  }
  return CUDNN_STATUS_SUCCESS;
}

size_t workspace_bytes_for(const Convolution4& c) {
  return static_cast<size_t>(c.w.elements()) * sizeof(float) + 256;
}

cudnnStatus_t run(cudnnHandle_t handle, const Convolution4& c, void (*pass)(const Convolution4&),
                  void* workspace, size_t workspace_bytes) {
  const size_t needed = workspace_bytes_for(c);
  if (workspace_bytes < needed) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  if (!holds(Place::Device, workspace, needed) || !holds(Place::Device, c.x_data, c.x.extent()) ||
      !holds(Place::Device, c.w_data, c.w.extent()) ||
      !holds(Place::Device, c.y_data, c.y.extent())) {
    return CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND;
  }
  const cudaError_t status = submit(handle->stream, at_once([=] {
                                      std::memset(workspace, 0xff, needed);
                                      pass(c);
                                    }));
  return status == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

float number(const void* at) {
  return *static_cast<const float*>(at);
}

}  // namespace
}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT:
      return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND:
      return "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    default:
      return "CUDNN_STATUS_UNKNOWN";
  }
}
void cudnnGetLastErrorString(char* message, size_t most) {
  if (most > 0) *message = '\0';
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  *descriptor = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor,
                                         cudnnTensorFormat_t format, cudnnDataType_t type, int n,
                                         int c, int h, int w) {
  const Size size{n, c, h, w};
  return put_tensor(*descriptor, type, size, strides_of(size, format));
}
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                           int n, int c, int h, int w, int by_n, int by_c, int by_h,
                                           int by_w) {
  return put_tensor(*descriptor, type, {n, c, h, w}, {by_n, by_c, by_h, by_w});
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  *descriptor = new cudnnFilterStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  const Size size{k, c, h, w};
  return put_tensor(*descriptor, type, size, strides_of(size, format));
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  *descriptor = new cudnnConvolutionStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h,
                                              int pad_w, int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t sums) {
  const bool sane =
      pad_h >= 0 && pad_w >= 0 && stride_h > 0 && stride_w > 0 && dilation_h > 0 && dilation_w > 0;
  if (!sane) return CUDNN_STATUS_BAD_PARAM;
  descriptor->sliding = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, 1, false};
  descriptor->supported = mode == CUDNN_CROSS_CORRELATION && sums == CUDNN_DATA_FLOAT;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  descriptor->sliding.groups = groups;
  return groups > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t math) {
  descriptor->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t sliding, cudnnTensorDescriptor_t y, int most, int* count,
    cudnnConvolutionFwdAlgoPerf_t* results) {
  Convolution4 c;
  const cudnnStatus_t status = convolution_of(x, w, sliding, y, c);
  return suggest(std::array{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                            CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM},
                 *sliding, status, most, count, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t /*handle*/, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t sliding, cudnnTensorDescriptor_t x, int most, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  Convolution4 c;
  const cudnnStatus_t status = convolution_of(x, w, sliding, y, c);
  return suggest(std::array{CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1},
                 *sliding, status, most, count, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t sliding, cudnnFilterDescriptor_t w, int most, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  Convolution4 c;
  const cudnnStatus_t status = convolution_of(x, w, sliding, y, c);
  return suggest(
      std::array{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1},
      *sliding, status, most, count, results);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t sliding, cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t /*algorithm*/, size_t* size_bytes) {
  Convolution4 c;
  const cudnnStatus_t status = convolution_of(x, w, sliding, y, c);
  *size_bytes = workspace_bytes_for(c);
  return status;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t sliding, cudnnTensorDescriptor_t x,
    cudnnConvolutionBwdDataAlgo_t /*algorithm*/, size_t* size_bytes) {
  return cudnnGetConvolutionForwardWorkspaceSize(
      handle, x, w, sliding, y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, size_bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t sliding, cudnnFilterDescriptor_t w,
    cudnnConvolutionBwdFilterAlgo_t /*algorithm*/, size_t* size_bytes) {
  return cudnnGetConvolutionForwardWorkspaceSize(
      handle, x, w, sliding, y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, size_bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t x, const void* x_data,
                                      cudnnFilterDescriptor_t w, const void* w_data,
                                      cudnnConvolutionDescriptor_t sliding,
                                      cudnnConvolutionFwdAlgo_t /*algorithm*/, void* workspace,
                                      size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t y, void* y_data) {
  PENSTOCK_HOST_CUDA_LOCK;
  Convolution4 c;
  const cudnnStatus_t status = convolution_of(x, w, sliding, y, c);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  c.x_data = const_cast<void*>(x_data);
  c.w_data = const_cast<void*>(w_data);
  c.y_data = y_data;
  c.alpha = number(alpha);
  c.beta = number(beta);
  return run(handle, c, &convolve_forward, workspace, workspace_bytes);
}
cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w, const void* w_data,
    cudnnTensorDescriptor_t y, const void* y_data, cudnnConvolutionDescriptor_t sliding,
    cudnnConvolutionBwdDataAlgo_t /*algorithm*/, void* workspace, size_t workspace_bytes,
    const void* beta, cudnnTensorDescriptor_t x, void* x_data) {
  PENSTOCK_HOST_CUDA_LOCK;
  Convolution4 c;
  const cudnnStatus_t status = convolution_of(x, w, sliding, y, c);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  c.x_data = x_data;
  c.w_data = const_cast<void*>(w_data);
  c.y_data = const_cast<void*>(y_data);
  c.alpha = number(alpha);
  c.beta = number(beta);
  return run(handle, c, &convolve_backward_data, workspace, workspace_bytes);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x, const void* x_data,
    cudnnTensorDescriptor_t y, const void* y_data, cudnnConvolutionDescriptor_t sliding,
    cudnnConvolutionBwdFilterAlgo_t /*algorithm*/, void* workspace, size_t workspace_bytes,
    const void* beta, cudnnFilterDescriptor_t w, void* w_data) {
  PENSTOCK_HOST_CUDA_LOCK;
  Convolution4 c;
  const cudnnStatus_t status = convolution_of(x, w, sliding, y, c);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  c.x_data = const_cast<void*>(x_data);
  c.w_data = w_data;
  c.y_data = const_cast<void*>(y_data);
  c.alpha = number(alpha);
  c.beta = number(beta);
  return run(handle, c, &convolve_backward_filter, workspace, workspace_bytes);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t /*type*/,
                                           cudnnBackendDescriptor_t* /*descriptor*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t /*descriptor*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t /*descriptor*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t /*descriptor*/,
                                       cudnnBackendAttributeName_t /*name*/,
                                       cudnnBackendAttributeType_t /*type*/, int64_t /*count*/,
                                       const void* /*values*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t /*descriptor*/,
                                       cudnnBackendAttributeName_t /*name*/,
                                       cudnnBackendAttributeType_t /*type*/, int64_t /*most*/,
                                       int64_t* /*count*/, void* /*values*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t /*handle*/, cudnnBackendDescriptor_t /*plan*/,
                                  cudnnBackendDescriptor_t /*pack*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}

}  // extern "C"
