#include "kernels/checks.h"
#include "kernels/cuda/image/filter_layout.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kPackThreads = 256;

// Where element i of a filter [out, channels, taps] lies in [out, taps, channels].
__device__ int64_t packed_index(int64_t i, int64_t channels, int64_t taps) {
  const int64_t tap = i % taps;
  const int64_t channel = i / taps % channels;
  const int64_t out = i / taps / channels;
  return (out * taps + tap) * channels + channel;
}

template <class T>
__global__ void pack(T* packed, const float* filter, int64_t elements, int64_t channels,
                     int64_t taps) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < elements) narrow_to(packed + packed_index(i, channels, taps), filter[i]);
}

template <class T>
__global__ void add_packed(float* gradient, const T* packed, int64_t elements, int64_t channels,
                           int64_t taps) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < elements) gradient[i] += widened(packed[packed_index(i, channels, taps)]);
}

LaunchShape shape_for(int64_t elements) {
  return {.grid = {blocks_for(elements, kPackThreads), 1, 1}, .block = {kPackThreads, 1, 1}};
}

}  // namespace

void pack_filter(CudaContext& context, const Tensor& packed, const Tensor& filter) {
  with_element_type(packed.dtype(), "a filter", [&]<class T>(T) {
    launch(context.queue, &pack<T>, shape_for(filter.elements()), packed.data<T>(),
           filter.data<float>(), filter.elements(), filter.dim(1), filter.dim(2) * filter.dim(3));
  });
}

void add_packed_filter(CudaContext& context, const Tensor& gradient, const Tensor& packed) {
  with_element_type(packed.dtype(), "a filter", [&]<class T>(T) {
    launch(context.queue, &add_packed<T>, shape_for(gradient.elements()), gradient.data<float>(),
           packed.data<T>(), gradient.elements(), gradient.dim(1),
           gradient.dim(2) * gradient.dim(3));
  });
}

}  // namespace penstock
