// kernels/cpu/onednn/onednn_state.h -- what the files of the oneDNN door share: the engine, the
// plans seen so far, and Prepared, a primitive with its memory objects. Included by onednn*.cpp
// only.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/cpu/onednn/onednn_api.h"
#include "kernels/memory/memory.h"

namespace penstock {

// One hash of any number of integers and enums; exact comparison follows, so it need only spread.
template <class... Fields>
[[nodiscard]] uint64_t hash_fields(uint64_t seed, const Fields&... fields) {
  auto fold = [&seed](uint64_t word) {
    seed = (seed ^ word) * 0x9e3779b97f4a7c15ULL;
    seed ^= seed >> 32;
  };
  (fold(static_cast<uint64_t>(fields)), ...);
  return seed;
}

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

struct Argument {
  int name;  // DNNL_ARG_SRC ...
  dnnl_api::Desc desc;
};

// A primitive and the memory objects of its arguments, which each run points at its buffers.
class Prepared {
 public:
  template <class Primitive>
  Prepared(OneDnn::State& state, std::type_identity<Primitive>,
           const typename Primitive::primitive_desc& desc, const std::vector<Argument>& arguments)
      : Prepared(state, Primitive(desc), desc.scratchpad_desc(), arguments) {}

  // Buffers in the order of the arguments given at construction.
  void run(OneDnn::State& state, std::initializer_list<const void*> buffers);

 private:
  Prepared(OneDnn::State& state, dnnl::primitive primitive, const dnnl_api::Desc& scratch,
           const std::vector<Argument>& arguments);

  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // own the C handles below; the scratch pad last
  std::vector<dnnl_exec_arg_t> arguments_;
  size_t scratch_bytes_;
};

// How a weight's fp32 value becomes the form that a primitive reads.
class Packing {
 public:
  Packing(OneDnn::State& state, const dnnl_api::Desc& value, const dnnl_api::Desc& packed);
  // The form's bytes, remade when the weight has changed; the value's own where the layouts agree.
  [[nodiscard]] const void* form_of(OneDnn::State& state, Weight& weight);

 private:
  std::optional<Prepared> reorder_;  // none: the primitive reads the value as it is
  uint64_t key_ = 0;                 // of Weight::form
  int64_t size_bytes_ = 0;
};

struct PackedPrimitive {
  Prepared primitive;
  Packing packing;
};

// A weight gradient lands in the layout the library likes, and is written or added from there.
struct AddedPrimitive {
  Prepared primitive;
  Prepared write, add;
  int64_t size_bytes;  // of the gradient in between
};

struct OneDnn::State {
  State(int thread_count, Memory& scratch_memory, Bf16 bf16);

  const int threads;
  Memory& memory;
  const bool native_bf16;
  dnnl::engine engine;
  dnnl::stream stream;
  int64_t primitives_created = 0;

  std::unordered_map<MatmulPlan, Prepared, PlanHash> products;
  std::unordered_map<ConvolutionPlan, PackedPrimitive, PlanHash> convolutions_forward;
  std::unordered_map<ConvolutionPlan, PackedPrimitive, PlanHash> convolutions_backward_input;
  std::unordered_map<ConvolutionPlan, AddedPrimitive, PlanHash> convolutions_backward_weight;
  std::unordered_map<ActivationPlan, Prepared, PlanHash> activations;

  // Pairs of (value, packed) layouts; an index + 1 is the key of a Weight::form.
  std::vector<std::pair<dnnl_api::Desc, dnnl_api::Desc>> packings;

  // The entry of `plan`, made by `make(state, plan)` on first sight.
  template <class Plan, class Entry, class Make>
  Entry& entry(std::unordered_map<Plan, Entry, PlanHash>& cache, const Plan& plan, Make make) {
    if (const auto found = cache.find(plan); found != cache.end()) return found->second;
    use_threads();
    return cache.emplace(plan, make(*this, plan)).first->second;
  }
  // For the calling thread. A primitive is made for the number of threads there is at that moment,
  // whatever there is when it runs.
  void use_threads() const;
  [[nodiscard]] Tensor scratch(int64_t elements, DType type) {
    const size_t size_bytes = static_cast<size_t>(elements) * size_of(type);
    return {memory.take(size_bytes, Purpose::Workspace), Shape{elements}, type};
  }
};

// Attributes of a primitive whose scratch pad is ours. New each time: a copy of a
// dnnl::primitive_attr is the same object.
[[nodiscard]] dnnl::primitive_attr new_attributes();
[[nodiscard]] dnnl::memory::data_type library_type(DType type);
[[nodiscard]] dnnl::algorithm library_algorithm(Activation f);
// Throws Error(Internal), or Error(Resource) when memory ran out: `what` failed as `error` says.
[[noreturn]] void fail_library(const std::string& what, const dnnl::error& error);

// Conversions of dense arrays for CPUs whose library cannot.
void widen(float* to, const bfloat16* from, int64_t elements, int threads);
void narrow(bfloat16* to, const float* from, int64_t elements, int threads);

}  // namespace penstock
