// kernels/cuda/families/expert_rows.cu -- the rows of a mixture of experts: into the experts' order
// and back, their biases and their gates. A warp moves or sums a row, in one order, without
// atomics.
#include "kernels/checks.h"
#include "kernels/cuda/families/experts.h"
#include "kernels/cuda/families/sigmoid.h"
#include "kernels/cuda/loops/rows.h"

namespace penstock {
namespace {

constexpr int kBiasThreads = 128;

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    gather_kernel(T* y, const T* x, const int32_t* order, int64_t slots, int64_t chosen,
                  int64_t width) {
  const int64_t place = row_of_thread<kWarp>();
  if (place >= slots) return;
  const T* from = x + order[place] / chosen * width;
  T* to = y + place * width;
  for (auto c = static_cast<int64_t>(threadIdx.x); c < width; c += kWarp) to[c] = from[c];
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    add_slots_kernel(T* to, const T* from, const float* weights, const int32_t* places,
                     int64_t rows, int64_t chosen, int64_t width) {
  const int64_t row = row_of_thread<kWarp>();
  if (row >= rows) return;
  for (auto c = static_cast<int64_t>(threadIdx.x); c < width; c += kWarp) {
    float sum = 0.0F;
    for (int64_t slot = row * chosen; slot < (row + 1) * chosen; ++slot) {
      const float weight = weights == nullptr ? 1.0F : weights[slot];
      sum += weight * widened(from[places[slot] * width + c]);
    }
    narrow_to(to + row * width + c, sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    combine_backward_kernel(T* dx, float* dweights, const T* g, const T* x, const float* weights,
                            const int32_t* places, int64_t slots, int64_t chosen, int64_t width) {
  const int64_t slot = row_of_thread<kWarp>();
  if (slot >= slots) return;
  const T* from = g + slot / chosen * width;
  const T* row = x + places[slot] * width;
  T* to = dx + places[slot] * width;
  const float weight = weights[slot];
  float sum = 0.0F;
  for (auto c = static_cast<int64_t>(threadIdx.x); c < width; c += kWarp) {
    const float gradient = widened(from[c]);
    sum += gradient * widened(row[c]);
    narrow_to(to + c, weight * gradient);
  }
  sum = warp_reduce(sum, Plus{});
  if (threadIdx.x == 0) dweights[slot] = sum;
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    add_expert_bias_kernel(T* y, const float* bias, const int32_t* offsets, int64_t rows,
                           int64_t width) {
  const int64_t row = row_of_thread<kWarp>();
  if (row >= rows) return;
  int64_t expert = 0;
  while (offsets[expert + 1] <= row) ++expert;
  for (auto c = static_cast<int64_t>(threadIdx.x); c < width; c += kWarp) {
    narrow_to(y + row * width + c, widened(y[row * width + c]) + bias[expert * width + c]);
  }
}

// A thread adds up a column of an expert, blockIdx.y.
template <class T>
__global__ void __launch_bounds__(kBiasThreads)
    expert_bias_backward_kernel(float* dbias, const T* g, const int32_t* offsets, int64_t width) {
  const int64_t c = int64_t{blockIdx.x} * kBiasThreads + static_cast<int64_t>(threadIdx.x);
  if (c >= width) return;
  const int64_t expert = blockIdx.y;
  float sum = dbias[expert * width + c];
  for (int64_t row = offsets[expert]; row < offsets[expert + 1]; ++row) {
    sum += widened(g[row * width + c]);
  }
  dbias[expert * width + c] = sum;
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    gate_rows_kernel(T* y, const T* x, const T* gate, int64_t rows, int64_t width) {
  const int64_t row = row_of_thread<kWarp>();
  if (row >= rows) return;
  const float factor = sigmoid(widened(gate[row]));
  for (auto c = static_cast<int64_t>(threadIdx.x); c < width; c += kWarp) {
    narrow_to(y + row * width + c, factor * widened(x[row * width + c]));
  }
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    gate_rows_backward_kernel(T* dx, T* dgate, const T* g, const T* x, const T* gate, int64_t rows,
                              int64_t width) {
  const int64_t row = row_of_thread<kWarp>();
  if (row >= rows) return;
  const float factor = sigmoid(widened(gate[row]));
  float sum = 0.0F;
  for (auto c = static_cast<int64_t>(threadIdx.x); c < width; c += kWarp) {
    const float gradient = widened(g[row * width + c]);
    sum += gradient * widened(x[row * width + c]);
    narrow_to(dx + row * width + c, factor * gradient);
  }
  sum = warp_reduce(sum, Plus{});
  if (threadIdx.x == 0) narrow_to(dgate + row, sum * factor * (1.0F - factor));
}

}  // namespace

void gather_slots(CudaContext& context, Tensor& y, const Tensor& x, const Routing& routing,
                  const RoutingSizes& sizes) {
  with_element_type(y.dtype(), "gather", [&]<class T>(T) {
    launch(context.queue, &gather_kernel<T>, row_shape<kWarp>(sizes.slots()), y.data<T>(),
           x.data<T>(), routing.order.data<int32_t>(), sizes.slots(), sizes.chosen,
           x.shape().back());
  });
}

void add_slots(CudaContext& context, Tensor& to, const Tensor& from, const Tensor* weights,
               const Routing& routing, const RoutingSizes& sizes) {
  with_element_type(to.dtype(), "combine", [&]<class T>(T) {
    const float* weight = weights != nullptr ? weights->data<float>() : nullptr;
    launch(context.queue, &add_slots_kernel<T>, row_shape<kWarp>(sizes.rows), to.data<T>(),
           from.data<T>(), weight, routing.places.data<int32_t>(), sizes.rows, sizes.chosen,
           to.shape().back());
  });
}

void combine_backward(CudaContext& context, Tensor& dx, Tensor& dweights, const Tensor& g,
                      const Tensor& x, const Tensor& weights, const Routing& routing,
                      const RoutingSizes& sizes) {
  with_element_type(x.dtype(), "combine_backward", [&]<class T>(T) {
    launch(context.queue, &combine_backward_kernel<T>, row_shape<kWarp>(sizes.slots()),
           dx.data<T>(), dweights.data<float>(), g.data<T>(), x.data<T>(), weights.data<float>(),
           routing.places.data<int32_t>(), sizes.slots(), sizes.chosen, x.shape().back());
  });
}

void add_expert_bias(CudaContext& context, Tensor& y, const Tensor& bias, const Tensor& offsets) {
  with_element_type(y.dtype(), "add_expert_bias", [&]<class T>(T) {
    launch(context.queue, &add_expert_bias_kernel<T>, row_shape<kWarp>(y.shape().rows()),
           y.data<T>(), bias.data<float>(), offsets.data<int32_t>(), y.shape().rows(),
           y.shape().back());
  });
}

void expert_bias_backward(CudaContext& context, Tensor& dbias, const Tensor& g,
                          const Tensor& offsets) {
  const int64_t width = g.shape().back();
  with_element_type(g.dtype(), "expert_bias_backward", [&]<class T>(T) {
    launch(
        context.queue, &expert_bias_backward_kernel<T>,
        {.grid = {blocks_for(width, kBiasThreads), static_cast<uint32_t>(offsets.elements() - 1)},
         .block = {kBiasThreads}},
        dbias.data<float>(), g.data<T>(), offsets.data<int32_t>(), width);
  });
}

void gate_rows(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& gate) {
  with_element_type(x.dtype(), "gate_rows", [&]<class T>(T) {
    launch(context.queue, &gate_rows_kernel<T>, row_shape<kWarp>(gate.elements()), y.data<T>(),
           x.data<T>(), gate.data<T>(), gate.elements(), x.shape().back());
  });
}

void gate_rows_backward(CudaContext& context, Tensor& dx, Tensor& dgate, const Tensor& g,
                        const Tensor& x, const Tensor& gate) {
  with_element_type(x.dtype(), "gate_rows_backward", [&]<class T>(T) {
    launch(context.queue, &gate_rows_backward_kernel<T>, row_shape<kWarp>(gate.elements()),
           dx.data<T>(), dgate.data<T>(), g.data<T>(), x.data<T>(), gate.data<T>(), gate.elements(),
           x.shape().back());
  });
}

}  // namespace penstock
