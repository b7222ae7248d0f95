// kernels/cuda/families/pointwise.cu -- sums, dropout, fills and casts at the speed of memory.
#include <algorithm>
#include <string>

#include "kernels/checks.h"
#include "kernels/cuda/families/dropout.h"
#include "kernels/cuda/loops/column_sums.h"
#include "kernels/cuda/loops/elementwise.h"
#include "kernels/cuda/loops/reduce.h"

namespace penstock {
namespace {

struct Add {
  static __device__ float of(float a, float b) { return a + b; }
};
struct Multiply {
  static __device__ float of(float a, float b) { return a * b; }
};
struct Same {
  static __device__ float of(float x) { return x; }
};

template <class T>
struct Scale : OneOperand<T> {
  double factor;  // a float, in eight bytes so that there is no padding
  template <int N>
  __device__ void finish(int64_t i, const Floats<N>& in) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = static_cast<float>(factor) * in[k];
    store<N>(this->y + i, out);
  }
};

template <class T>
struct Fill {
  static constexpr int kWide = 16 / sizeof(T);
  T* y;
  double value;
  [[nodiscard]] bool aligned() const { return is_aligned<kWide>(y); }
  template <int N>
  __device__ NoColumns load(int64_t /*i*/) const {
    return {};
  }
  template <int N>
  __device__ void finish(int64_t i, NoColumns /*in*/) const {
    struct alignas(N * sizeof(T)) Pack {
      T at[N];
    };
    Pack pack;
    for (int k = 0; k < N; ++k) pack.at[k] = static_cast<T>(value);
    *reinterpret_cast<Pack*>(y + i) = pack;
  }
};

template <class T>
struct AddRepeated : OneOperand<T> {
  const float* b;
  template <int N>
  __device__ Floats<N> columns(int64_t j, int64_t period) const {
    return repeated<N>(b, j, period);
  }
  template <int N>
  __device__ void finish(int64_t i, const Floats<N>& in, const Floats<N>& addend) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = in[k] + addend[k];
    store<N>(this->y + i, out);
  }
};

template <class T>
struct SumOfGradient {
  static constexpr int kWide = kGroup<T>;
  static constexpr int kTerms = 1;
  static constexpr bool kByRow = false;
  const T* g;
  [[nodiscard]] bool aligned() const { return is_aligned<kWide>(g); }
  template <int N>
  __device__ NoColumns columns(int64_t /*j*/, int64_t /*columns*/) const {
    return {};
  }
  template <int N, bool kAligned>
  __device__ void add(Floats<N> (&sums)[1], int64_t /*row*/, int64_t i, NoColumns /*c*/) const {
    const Floats<N> x = load<N, kAligned>(g + i);
    for (int k = 0; k < N; ++k) sums[0][k] += x[k];
  }
};
struct AddTotal {
  float* db;
  __device__ void operator()(int64_t column, const double (&totals)[1]) const {
    db[column] += static_cast<float>(totals[0]);
  }
};

constexpr int kChecksumThreads = 256;
constexpr int64_t kMostSumBlocks = 1024;

// Every block writes its share of the sum; a second kernel of one block adds the shares up.
template <class Word>
__global__ void __launch_bounds__(kChecksumThreads)
    checksum_kernel(uint64_t* sums, const Word* words, int64_t elements) {
  __shared__ uint64_t parts[kChecksumThreads / kWarp];
  uint64_t sum = 0;
  for (int64_t i = int64_t{blockIdx.x} * kChecksumThreads + threadIdx.x; i < elements;
       i += int64_t{gridDim.x} * kChecksumThreads) {
    sum += (2 * static_cast<uint64_t>(i) + 1) * static_cast<uint64_t>(words[i]);
  }
  sum = row_reduce<kChecksumThreads>(sum, parts, Plus{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void __launch_bounds__(kChecksumThreads)
    add_checksums_kernel(uint64_t* total, const uint64_t* sums, int count) {
  __shared__ uint64_t parts[kChecksumThreads / kWarp];
  uint64_t sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kChecksumThreads) sum += sums[i];
  sum = row_reduce<kChecksumThreads>(sum, parts, Plus{});
  if (threadIdx.x == 0) *total = sum;
}

class CudaPointwise final : public PointwiseOps {
 public:
  explicit CudaPointwise(CudaContext& context) : context_(context) {}

  void add(Tensor& y, const Tensor& a, const Tensor& b) override { map_two<Add>("add", y, a, b); }
  void multiply(Tensor& y, const Tensor& a, const Tensor& b) override {
    map_two<Multiply>("multiply", y, a, b);
  }
  void accumulate(Tensor& y, const Tensor& a) override {
    require_elements("accumulate", a, y.elements());
    with_element_type(y.dtype(), "accumulate", [&]<class Y>(Y) {
      with_element_type(a.dtype(), "accumulate", [&]<class A>(A) {
        const MapTwo<Add, Y, Y, A> body{y.data<Y>(), y.data<Y>(), a.data<A>()};
        launch_elementwise(context_, body, y.elements());
      });
    });
  }
  void scale(Tensor& y, const Tensor& a, float factor) override {
    require_alike("scale", y, a);
    with_element_type(a.dtype(), "scale", [&]<class T>(T) {
      launch_elementwise(context_, Scale<T>{{y.data<T>(), a.data<T>()}, double{factor}},
                         a.elements());
    });
  }

  void add_broadcast(Tensor& y, const Tensor& a, const Tensor& b) override {
    require_alike("add_broadcast", y, a);
    require_fraction("add_broadcast", b, a);
    with_element_type(a.dtype(), "add_broadcast", [&]<class T>(T) {
      const AddRepeated<T> body{{y.data<T>(), a.data<T>()}, b.data<float>()};
      launch_columns(context_, body, a.elements(), b.elements());
    });
  }
  void add_broadcast_backward(Tensor& db, const Tensor& g) override {
    require_fraction("add_broadcast_backward", db, g);
    with_element_type(g.dtype(), "add_broadcast_backward", [&]<class T>(T) {
      launch_column_sums(context_, SumOfGradient<T>{g.data<T>()}, AddTotal{db.data<float>()},
                         g.elements(), db.elements());
    });
  }

  void dropout(Tensor& y, const Tensor& x, float rate, const RandomStream& stream) override {
    require_alike("dropout", y, x);
    const float scale = scale_of_kept(rate);
    with_element_type(x.dtype(), "dropout", [&]<class T>(T) {
      const DropElements<T> body{{y.data<T>(), x.data<T>()}, stream, rate, scale};
      launch_elementwise(context_, body, x.elements());
    });
  }
  void dropout_rows(Tensor& y, const Tensor& x, float rate, const RandomStream& stream,
                    int64_t first) override {
    require_alike("dropout_rows", y, x);
    const float scale = scale_of_kept(rate);
    if (x.elements() == 0) return;
    const int64_t width = x.elements() / x.dim(0);
    with_element_type(x.dtype(), "dropout_rows", [&]<class T>(T) {
      const DropRows<T> body{{y.data<T>(), x.data<T>()}, stream, first, width, rate, scale};
      launch_elementwise(context_, body, x.elements());
    });
  }

  void fill(Tensor& y, float value) override {
    switch (y.dtype()) {
      case DType::F32:
        return fill_with(y, y.data<float>(), value);
      case DType::BF16:  // filled as bits: bfloat16 has no trivial constructor
        (void)y.data<bfloat16>();
        return fill_with(y, static_cast<uint16_t*>(y.raw()), bfloat16(value).bits);
      case DType::F64:
        return fill_with(y, y.data<double>(), value);
      case DType::I32:
        return fill_with(y, y.data<int32_t>(), static_cast<int32_t>(value));
      case DType::U8:
        fail_internal("fill does not take uint8");
    }
  }
  void copy(Tensor& y, const Tensor& x) override {
    require_elements("copy", y, x.elements());
    if (y.dtype() == x.dtype()) return copy_bytes(y, x);
    with_element_type(y.dtype(), "copy", [&]<class Y>(Y) {
      with_element_type(x.dtype(), "copy", [&]<class X>(X) {
        launch_elementwise(context_, MapOne<Same, Y, X>{{y.data<Y>(), x.data<X>()}}, x.elements());
      });
    });
  }
  void checksum(Tensor& sum, const Tensor& x) override {
    require_checksum(sum);
    const int64_t wanted = (x.elements() + 8 * kChecksumThreads - 1) / (8 * kChecksumThreads);
    const auto blocks = static_cast<uint32_t>(std::clamp<int64_t>(wanted, 1, kMostSumBlocks));
    const Tensor shares = context_.scratch({blocks}, DType::F64);  // 8 bytes for each block
    auto* sums = static_cast<uint64_t*>(shares.raw());
    with_word(x.dtype(), [&]<class Word>(Word) {
      launch(context_.queue, &checksum_kernel<Word>,
             {.grid = {blocks}, .block = {kChecksumThreads}}, sums,
             static_cast<const Word*>(x.raw()), x.elements());
    });
    launch(context_.queue, &add_checksums_kernel, {.grid = {1}, .block = {kChecksumThreads}},
           static_cast<uint64_t*>(sum.raw()), static_cast<const uint64_t*>(sums),
           static_cast<int>(blocks));
  }

 private:
  [[nodiscard]] static float scale_of_kept(float rate) {
    if (rate >= 0.0F && rate < 1.0F) return 1.0F / (1.0F - rate);
    fail_input("a dropout rate is " + std::to_string(rate) + "; give one in [0, 1)");
  }
  template <class F>
  void map_two(const char* op, Tensor& y, const Tensor& a, const Tensor& b) {
    require_alike(op, y, a);
    require_alike(op, y, b);
    with_element_type(y.dtype(), op, [&]<class T>(T) {
      const MapTwo<F, T, T, T> body{y.data<T>(), a.data<T>(), b.data<T>()};
      launch_elementwise(context_, body, y.elements());
    });
  }
  template <class T>
  void fill_with(Tensor& y, T* to, double value) {
    launch_elementwise(context_, Fill<T>{to, value}, y.elements());
  }

  static void copy_on(cudaStream_t stream, void* to, const void* from, size_t size_bytes) {
    PENSTOCK_CUDA(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToDevice, stream));
  }
  void copy_bytes(Tensor& y, const Tensor& x) {
    if (x.size_bytes() == 0 || y.raw() == x.raw()) return;
    context_.queue.call<&CudaPointwise::copy_on>(y.raw(), static_cast<const void*>(x.raw()),
                                                 x.size_bytes());
  }

  CudaContext& context_;
};

}  // namespace

std::unique_ptr<PointwiseOps> cuda_pointwise_ops(CudaContext& context) {
  return std::make_unique<CudaPointwise>(context);
}

}  // namespace penstock
