// kernels/cpu/pointwise.cpp -- sums, dropout, fills and casts at the speed of memory.
#include <array>
#include <atomic>
#include <cstring>
#include <functional>

#include "kernels/cpu/loops/column_sums.h"
#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/random_mask.h"
#include "kernels/cpu/loops/simd_math.h"

namespace penstock {
namespace {

template <class T>
void add_repeated(const CpuContext& context, T* y, const T* a, const float* b, int64_t elements,
                  int64_t period) {
  for_elements(context, elements, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last;) {
      const int64_t at = i % period;
      const int64_t count = std::min(period - at, last - i);
      map_row(y + i, a + i, b + at, count, std::plus<float>());
      i += count;
    }
  });
}

template <class T>
void drop(const CpuContext& context, T* y, const T* x, int64_t elements, const RandomMask& mask) {
  for_elements(context, elements, [&](int64_t first, int64_t last) {
    alignas(64) float factors[RandomMask::kChunk];
    for (int64_t i = first; i < last; i += RandomMask::kChunk) {
      const int64_t count = std::min(RandomMask::kChunk, last - i);
      mask.fill(factors, i, count);
      // A dropped element becomes 0 even if x is infinite: 0 times x would then be NaN.
      map_row(y + i, x + i, factors, count,
              [](float xi, float factor) { return factor == 0.0F ? 0.0F : xi * factor; });
    }
  });
}

// Drops whole rows of `width` elements, and scales the rows that are kept.
template <class T>
void drop_rows(const CpuContext& context, T* y, const T* x, int64_t elements, int64_t width,
               float rate, const RandomStream& stream, int64_t first_row) {
  const float scale = 1.0F / (1.0F - rate);
  for_elements(context, elements, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last;) {
      const int64_t row = i / width;
      const int64_t end = std::min((row + 1) * width, last);
      const auto number = static_cast<uint64_t>(first_row + row);
      if (uniform_of(philox(stream, number / 4)[number % 4]) >= rate) {
        map_row(y + i, x + i, end - i, [scale](float xi) { return xi * scale; });
      } else {
        std::fill(y + i, y + end, static_cast<T>(0.0F));
      }
      i = end;
    }
  });
}

void require_rate(float rate) {
  if (rate >= 0.0F && rate < 1.0F) return;
  fail_input("a dropout rate is " + std::to_string(rate) + "; give one in [0, 1)");
}

template <class T>
void fill_with(const CpuContext& context, Tensor& y, float value) {
  auto* to = y.data<T>();
  const T element = static_cast<T>(value);
  for_elements(context, y.elements(),
               [=](int64_t first, int64_t last) { std::fill(to + first, to + last, element); });
}

void copy_bytes(const CpuContext& context, Tensor& y, const Tensor& x) {
  const size_t size = size_of(x.dtype());
  for_elements(context, x.elements(), [&](int64_t first, int64_t last) {
    const size_t at = static_cast<size_t>(first) * size;
    std::memcpy(static_cast<std::byte*>(y.raw()) + at, static_cast<const std::byte*>(x.raw()) + at,
                static_cast<size_t>(last - first) * size);
  });
}

class CpuPointwise final : public OnCpu<PointwiseOps> {
 public:
  using OnCpu::OnCpu;

  void add(Tensor& y, const Tensor& a, const Tensor& b) override {
    map_alike(context_, "add", y, a, b, [](float ai, float bi) { return ai + bi; });
  }
  void multiply(Tensor& y, const Tensor& a, const Tensor& b) override {
    map_alike(context_, "multiply", y, a, b, [](float ai, float bi) { return ai * bi; });
  }
  void accumulate(Tensor& y, const Tensor& a) override {
    require_elements("accumulate", a, y.elements());
    with_element_type(y.dtype(), "accumulate", [&]<class Y>(Y) {
      with_element_type(a.dtype(), "accumulate", [&]<class A>(A) {
        map(context_, y.data<Y>(), y.data<Y>(), a.data<A>(), y.elements(),
            [](float yi, float ai) { return yi + ai; });
      });
    });
  }
  void scale(Tensor& y, const Tensor& a, float factor) override {
    require_alike("scale", y, a);
    with_element_type(a.dtype(), "scale", [&]<class T>(T) {
      map(context_, y.data<T>(), a.data<T>(), a.elements(),
          [factor](float ai) { return factor * ai; });
    });
  }

  void add_broadcast(Tensor& y, const Tensor& a, const Tensor& b) override {
    require_alike("add_broadcast", y, a);
    require_fraction("add_broadcast", b, a);
    with_element_type(a.dtype(), "add_broadcast", [&]<class T>(T) {
      add_repeated(context_, y.data<T>(), a.data<T>(), b.data<float>(), a.elements(), b.elements());
    });
  }
  void add_broadcast_backward(Tensor& db, const Tensor& g) override {
    require_fraction("add_broadcast_backward", db, g);
    with_element_type(g.dtype(), "add_broadcast_backward", [&]<class T>(T) {
      const T* from = g.data<T>();
      const Tensor sums = column_sums<1>(context_, folded_rows(g.elements(), db.elements()),
                                         [=](int64_t /*row*/, int64_t /*column*/, int64_t i) {
                                           return std::array<float, 1>{static_cast<float>(from[i])};
                                         });
      add_sums(db.data<float>(), sums.data<double>(), db.elements());
    });
  }

  void dropout(Tensor& y, const Tensor& x, float rate, const RandomStream& stream) override {
    require_alike("dropout", y, x);
    require_rate(rate);
    with_element_type(x.dtype(), "dropout", [&]<class T>(T) {
      drop(context_, y.data<T>(), x.data<T>(), x.elements(), RandomMask(rate, stream));
    });
  }
  void dropout_rows(Tensor& y, const Tensor& x, float rate, const RandomStream& stream,
                    int64_t first) override {
    require_alike("dropout_rows", y, x);
    require_rate(rate);
    if (x.elements() == 0) return;
    with_element_type(x.dtype(), "dropout_rows", [&]<class T>(T) {
      drop_rows(context_, y.data<T>(), x.data<T>(), x.elements(), x.elements() / x.dim(0), rate,
                stream, first);
    });
  }

  void fill(Tensor& y, float value) override {
    switch (y.dtype()) {
      case DType::F32:
        return fill_with<float>(context_, y, value);
      case DType::BF16:
        return fill_with<bfloat16>(context_, y, value);
      case DType::F64:
        return fill_with<double>(context_, y, value);
      case DType::I32:
        return fill_with<int32_t>(context_, y, value);
      case DType::U8:
        fail_internal("fill does not take uint8");
    }
  }
  void copy(Tensor& y, const Tensor& x) override {
    require_elements("copy", y, x.elements());
    if (y.dtype() == x.dtype()) return copy_bytes(context_, y, x);
    with_element_type(y.dtype(), "copy", [&]<class Y>(Y) {
      with_element_type(x.dtype(), "copy", [&]<class X>(X) {
        map(context_, y.data<Y>(), x.data<X>(), x.elements(), [](float xi) { return xi; });
      });
    });
  }
  void checksum(Tensor& sum, const Tensor& x) override {
    require_checksum(sum);
    std::atomic<uint64_t> total{0};
    with_word(x.dtype(), [&]<class Word>(Word) {
      const auto* words = static_cast<const Word*>(x.raw());
      for_elements(context_, x.elements(), [&](int64_t first, int64_t last) {
        total += simd_sum<uint64_t>(last - first, [=](int64_t i) {
          return (2 * static_cast<uint64_t>(first + i) + 1) * uint64_t{words[first + i]};
        });
      });
    });
    const uint64_t bits = total;
    std::memcpy(sum.raw(), &bits, sizeof(bits));
  }
};

}  // namespace

std::unique_ptr<PointwiseOps> cpu_pointwise_ops(CpuContext& context) {
  return std::make_unique<CpuPointwise>(context);
}

}  // namespace penstock
