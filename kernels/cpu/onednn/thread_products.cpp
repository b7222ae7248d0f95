#include "kernels/cpu/onednn/thread_products.h"

#include <algorithm>

#include "kernels/cpu/onednn/onednn_state.h"

namespace penstock {

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

}  // namespace penstock
