#include "kernels/cpu/onednn/thread_products.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/checks.h"
#include "kernels/cpu/onednn/onednn_state.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

std::vector<std::byte> random_numbers(int64_t count, DType type, uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size_of(type));
  with_element_type(type, "random numbers", [&]<class T>(T) {
    for (int64_t i = 0; i < count; ++i) {
      const auto word = static_cast<uint32_t>(mix(mix(seed) + static_cast<uint64_t>(i)));
      const T number = static_cast<T>(2.0F * uniform_of(word) - 1.0F);
      std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof number, &number, sizeof number);
    }
  });
  return bytes;
}

// Returns whether c [rows, columns] is the transpose of the fp32 matrix t, rounded to T.
template <class T>
bool is_transpose(const std::byte* c, const std::vector<float>& t, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < columns; ++i, c += sizeof(T)) {
      const auto number = std::bit_cast<std::array<std::byte, sizeof(T)>>(
          static_cast<T>(t[static_cast<size_t>(i * rows + r)]));
      if (!std::equal(number.begin(), number.end(), c)) return false;
    }
  }
  return true;
}

bool give_the_same_bits(OneDnn& dnn, const MatmulPlan& wide, const MatmulPlan& narrow) {
  const auto x = random_numbers(wide.m * wide.k, wide.a_type, 1);
  const auto w = random_numbers(wide.n * wide.k, wide.b_type, 2);
  std::vector<std::byte> together(static_cast<size_t>(wide.m * wide.n) * size_of(wide.c_type));
  std::vector<float> apart(static_cast<size_t>(narrow.m * narrow.n));
  ThreadProducts products(dnn, std::array{wide, narrow});
  products.run(0, 0, together.data(), x.data(), w.data());
  const size_t piece_of_x = x.size() / static_cast<size_t>(wide.m / narrow.n);
  const size_t piece_of_c = together.size() / static_cast<size_t>(wide.m / narrow.n);
  bool same = true;
  for (size_t i = 0; same && i * piece_of_x < x.size(); ++i) {
    products.run(0, 1, apart.data(), w.data(), x.data() + i * piece_of_x);
    with_element_type(wide.c_type, "a result of rows", [&]<class T>(T) {
      same = is_transpose<T>(together.data() + i * piece_of_c, apart, narrow.n, narrow.m);
    });
  }
  return same;
}

}  // namespace

bool ThreadProducts::agree(OneDnn& dnn, const MatmulPlan& wide, const MatmulPlan& narrow) {
  return dnn.state_->entry(dnn.state_->agreements, wide, [&](OneDnn::State&, const MatmulPlan&) {
    return give_the_same_bits(dnn, wide, narrow);
  });
}

ThreadProducts::ThreadProducts(OneDnn& dnn, std::span<const MatmulPlan> plans)
    : state_(*dnn.state_) {
  const auto make = [](OneDnn::State& state, const MatmulPlan& plan) {
    return prepare_for_threads(state, plan, state.threads);
  };
  for (const MatmulPlan& plan : plans) {
    std::vector<Prepared>& products = state_.entry(state_.thread_products, plan, make);
    products_.emplace_back(products);
    scratch_bytes_ = std::max(scratch_bytes_, products.front().scratch_bytes());
  }
  constexpr int64_t kLine = 64;
  scratch_bytes_ = (scratch_bytes_ + kLine - 1) / kLine * kLine;
  if (scratch_bytes_ > 0) scratch_ = state_.scratch(scratch_bytes_ * state_.threads, DType::U8);
  state_.use_threads();
}

void ThreadProducts::run(int thread, size_t plan, void* c, const void* a, const void* b) {
  Prepared& product = products_[plan].get()[static_cast<size_t>(thread)];
  const std::byte* scratch = nullptr;
  if (product.scratch_bytes() > 0) {
    scratch = static_cast<const std::byte*>(scratch_.raw()) + thread * scratch_bytes_;
  }
  const std::array<const void*, 3> buffers = {c, a, b};
  check(product.execute(state_, buffers, scratch), "the execution of a product of one thread");
}

void ThreadProducts::run(const Gemm& gemm, float* c, const float* a, const float* b) {
  constexpr int64_t kColumns = 512;  // a larger b would be copied into more memory
  state_.use_threads();
  for (int64_t first = 0; first < gemm.n; first += kColumns) {
    const int64_t columns = std::min(kColumns, gemm.n - first);
    check(
        dnnl_sgemm(gemm.a_transposed ? 'T' : 'N', 'N', gemm.m, columns, gemm.k, 1.0F, a, gemm.a_row,
                   b + first, gemm.b_row, gemm.accumulate ? 1.0F : 0.0F, c + first, gemm.c_row),
        "the execution of a product of one thread");
  }
}

}  // namespace penstock
