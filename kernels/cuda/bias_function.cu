#include "kernels/cuda/bias_function.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/launch.h"

namespace penstock {
namespace {

constexpr int kThreads = 256;

__device__ float applied(Fused f, float value) {
  switch (f) {
    case Fused::Relu:
      return value < 0.0F ? 0.0F : value;  // keeps a NaN visible
    case Fused::Tanh:
      return tanhf(value);
    default:
      return value;
  }
}

// A thread owns one pack of neighbouring columns and walks down the rows, so its bias is read once.
template <class T, int kPack>
__global__ void bias_function(T* y, const float* bias, int64_t rows, int64_t columns, Fused f) {
  const int64_t column = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPack;
  if (column >= columns) return;
  float added[kPack];
  for (int i = 0; i < kPack; ++i) added[i] = bias == nullptr ? 0.0F : bias[column + i];
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    auto* at = reinterpret_cast<Pack<T, kPack>*>(y + row * columns + column);
    Pack<T, kPack> pack = *at;
    for (int i = 0; i < kPack; ++i) {
      pack.element[i] = narrow<T>(applied(f, wide(pack.element[i]) + added[i]));
    }
    *at = pack;
  }
}

template <class T, int kPack>
void launch_bias_function(CudaContext& context, const Tensor& y, const Tensor* bias, Fused f) {
  const int64_t columns = y.shape().back();
  const int64_t rows = y.shape().rows();
  const auto rows_at_once = static_cast<uint32_t>(std::min<int64_t>(rows, 1024));
  const LaunchShape shape{.grid = {blocks_for(columns, kThreads * kPack), rows_at_once, 1},
                          .block = {kThreads, 1, 1}};
  launch(context.queue, &bias_function<T, kPack>, shape, static_cast<T*>(y.raw()),
         bias == nullptr ? nullptr : bias->data<float>(), rows, columns, f);
}

template <class T>
void choose_pack(CudaContext& context, const Tensor& y, const Tensor* bias, Fused f) {
  constexpr int kPack = 16 / sizeof(T);
  if (y.shape().back() % kPack == 0 && reinterpret_cast<uintptr_t>(y.raw()) % 16 == 0) {
    launch_bias_function<T, kPack>(context, y, bias, f);
  } else {
    launch_bias_function<T, 1>(context, y, bias, f);
  }
}

}  // namespace

void apply_bias_function(CudaContext& context, Tensor& y, const Tensor* bias, Fused f) {
  if (bias == nullptr && f == Fused::None) return;
  with_elements(y, [&]<class T>(T*) { choose_pack<T>(context, y, bias, f); });
}

}  // namespace penstock
