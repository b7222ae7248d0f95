// kernels/cpu/onednn/onednn_state.h -- the state that the files of the oneDNN wrapper share: the
// engine, and the primitives made for the plans seen so far. Included by onednn*.cpp only.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/cpu/onednn/onednn_filter.h"
#include "kernels/cpu/onednn/onednn_prepared.h"
#include "kernels/cpu/onednn/onednn_product.h"
#include "kernels/memory/memory.h"

namespace penstock {

// Returns a hash of any number of integers and enums. Maps compare the plans themselves as well, so
// two plans may have one hash.
template <class... Fields>
[[nodiscard]] uint64_t hash_fields(uint64_t seed, const Fields&... fields) {
  auto fold = [&seed](uint64_t word) {
    seed = (seed ^ word) * 0x9e3779b97f4a7c15ULL;
    seed ^= seed >> 32;
  };
  (fold(static_cast<uint64_t>(fields)), ...);
  return seed;
}

// Describes a call of OneDnn::activation_forward() or activation_backward().
struct ActivationPlan {
  int64_t elements = 0;
  DType type = DType::F32;
  Activation f = Activation::Relu;
  bool backward = false;
  bool operator==(const ActivationPlan&) const = default;
};

struct PlanHash {
  size_t operator()(const MatmulPlan& plan) const;
  size_t operator()(const ConvolutionPlan& plan) const;
  size_t operator()(const ActivationPlan& plan) const;
};

struct OneDnn::State {
  // `processor`: the one at hand, without bf16 where that is to be emulated.
  State(int thread_count, Memory& scratch_memory, const Processor& processor);

  const int threads;
  Memory& memory;
  const bool native_bf16;
  const OperandCopies operand_copies;
  dnnl::engine engine;
  dnnl::stream stream;
  int64_t primitives_created = 0;

  // What is ready to run, by plan. A Prepared is a oneDNN primitive with the memory objects of its
  // arguments. The other entries hold one or several, together with what copies operands or results
  // to and from the layouts that these want.
  std::unordered_map<MatmulPlan, PreparedProduct, PlanHash> products;
  std::unordered_map<MatmulPlan, std::vector<Prepared>, PlanHash> thread_products;  // by thread
  std::unordered_map<MatmulPlan, bool, PlanHash> agreements;  // ThreadProducts::agree()
  std::unordered_map<ConvolutionPlan, PackedPrimitive, PlanHash> convolutions_forward;
  std::unordered_map<ConvolutionPlan, PackedPrimitive, PlanHash> convolutions_backward_input;
  std::unordered_map<ConvolutionPlan, AddedPrimitive, PlanHash> convolutions_backward_weight;
  std::unordered_map<ActivationPlan, Prepared, PlanHash> activations;

  // Weights keep copies of themselves in the layouts that primitives want. An element is a pair of
  // layouts: a weight's and that of a copy. The element's index + 1 is the key of such copies in
  // Weight::packing().
  std::vector<std::pair<dnnl_api::Desc, dnnl_api::Desc>> packings;

  // Returns the entry of `plan` in `cache`; where there is none yet, it is made by make(*this,
  // plan).
  template <class Plan, class Entry, class Make>
  Entry& entry(std::unordered_map<Plan, Entry, PlanHash>& cache, const Plan& plan, Make make) {
    if (const auto found = cache.find(plan); found != cache.end()) return found->second;
    use_threads();
    return cache.emplace(plan, make(*this, plan)).first->second;
  }
  // Sets how many OpenMP threads the calling thread's parallel regions have from here on. oneDNN
  // makes a primitive for the number that is set at that moment; another number at its run changes
  // nothing.
  void use_threads() const;
  [[nodiscard]] Tensor scratch(int64_t elements, DType type) {
    const size_t size_bytes = static_cast<size_t>(elements) * size_of(type);
    return {memory.take(size_bytes, Purpose::Workspace), Shape{elements}, type};
  }
};

// Convert dense arrays between fp32 and bf16 with loops of our own, on processors for which the
// library cannot. `to` is overwritten.
void widen(float* to, const bfloat16* from, int64_t elements, int threads);
void narrow(bfloat16* to, const float* from, int64_t elements, int threads);

}  // namespace penstock
