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
  int64_t copied_bytes = 0;  // OneDnn::copied_bytes()

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
  // plan). Throws what that throws, and before it Error(Resource) as require_room_for_code() does.
  template <class Plan, class Entry, class Make>
  Entry& entry(std::unordered_map<Plan, Entry, PlanHash>& cache, const Plan& plan, Make make) {
    if (const auto found = cache.find(plan); found != cache.end()) return found->second;
    use_threads();
    require_room_for_code();
    return cache.emplace(plan, make(*this, plan)).first->second;
  }
  // Sets how many OpenMP threads the calling thread's parallel regions have from here on. oneDNN
  // makes a primitive for the number that is set at that moment; another number at its run changes
  // nothing.
  void use_threads() const;
  // Says that so many elements were copied.
  void count_copies(int64_t elements, DType from, DType to) {
    copied_bytes += elements * static_cast<int64_t>(size_of(from) + size_of(to));
  }
  [[nodiscard]] OperandFacts operand_facts(bool read_once = false) const {
    return {native_bf16, operand_copies, read_once};
  }
  // The type in which numbers of that type are computed with: fp32 where bf16 is emulated.
  [[nodiscard]] DType computed(DType type) const { return native_bf16 ? type : DType::F32; }
  [[nodiscard]] Tensor scratch(int64_t elements, DType type) {
    const size_t size_bytes = static_cast<size_t>(elements) * size_of(type);
    return {memory.take(size_bytes, Purpose::Workspace), Shape{elements}, type};
  }
};

// Rounds dense numbers by a loop of our own. `to` is overwritten.
void narrow(OneDnn::State& state, bfloat16* to, const float* from, int64_t elements);

// Dense bf16 numbers as fp32 ones, where bf16 is emulated; else nothing.
class Wide {
 public:
  // Takes memory for that many numbers of that type where they are emulated, and reads them from
  // `data` unless that is null.
  Wide(OneDnn::State& state, int64_t elements, DType type, const void* data = nullptr);
  // Returns where an op reads or writes the numbers that lie there: the fp32 ones if there are any.
  [[nodiscard]] const void* in_place_of(const void* data) const {
    return copy_ ? copy_.raw() : data;
  }
  // Rounds the fp32 numbers, if there are any, to `data`.
  void round_to(void* data) const;

 private:
  OneDnn::State& state_;
  Tensor copy_;
};

}  // namespace penstock
