#include "kernels/checks.h"
#include "kernels/cuda/image/filter_layout.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kPackThreads = 256;

// Returns where element i of a filter [out, channels, taps] lies in the order [out, taps,
// channels].
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
__global__ void unpack(float* gradient, const T* packed, int64_t elements, int64_t channels,
                       int64_t taps, bool accumulate) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  const float sum = widened(packed[packed_index(i, channels, taps)]);
  gradient[i] = accumulate ? gradient[i] + sum : sum;
}

// Transposes a filter [out, taps] to [taps, out].
__global__ void turn(float* turned, const float* filter, int64_t elements, int64_t out) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < elements) turned[i] = filter[i % out * (elements / out) + i / out];
}

LaunchShape shape_for(int64_t elements) {
  return {.grid = {blocks_for(elements, kPackThreads), 1, 1}, .block = {kPackThreads, 1, 1}};
}

// Returns the weight's form of that name. make(form) writes the form anew if the weight has changed
// since the form was written.
template <class F>
Tensor form_of(CudaContext& context, Weight& w, uint64_t name, DType type, const F& make) {
  Weight::Packing& packing = w.packing(name);
  if (!packing.packed) packing.packed = context.scratch({w.value().elements()}, type);
  if (packing.version != w.version()) {
    make(packing.packed);
    packing.version = w.version();
  }
  return packing.packed;
}

}  // namespace

Tensor packed_filter(CudaContext& context, Weight& w, DType type) {
  const bool one_pixel = w.value().dim(2) * w.value().dim(3) == 1;
  if (one_pixel && type == DType::F32) return w.value();  // the layouts are the same
  constexpr uint64_t kPacked[] = {hash_name("cuda: filter in fp32"),
                                  hash_name("cuda: filter in bf16")};
  return form_of(context, w, kPacked[type == DType::F32 ? 0 : 1], type, [&](const Tensor& packed) {
    const Tensor& filter = w.value();
    with_element_type(type, "a filter", [&]<class T>(T) {
      launch(context.queue, &pack<T>, shape_for(filter.elements()), packed.data<T>(),
             filter.data<float>(), filter.elements(), filter.dim(1), filter.dim(2) * filter.dim(3));
    });
  });
}

Tensor turned_filter(CudaContext& context, Weight& w) {
  constexpr uint64_t kTurned = hash_name("cuda: filter, outputs side by side");
  return form_of(context, w, kTurned, DType::F32, [&](const Tensor& turned) {
    const Tensor& filter = w.value();
    launch(context.queue, &turn, shape_for(filter.elements()), turned.data<float>(),
           filter.data<float>(), filter.elements(), filter.dim(0));
  });
}

void unpack_filter_gradient(CudaContext& context, const Tensor& gradient, const Tensor& packed,
                            bool accumulate) {
  with_element_type(packed.dtype(), "a filter", [&]<class T>(T) {
    launch(context.queue, &unpack<T>, shape_for(gradient.elements()), gradient.data<float>(),
           packed.data<T>(), gradient.elements(), gradient.dim(1),
           gradient.dim(2) * gradient.dim(3), accumulate);
  });
}

}  // namespace penstock
