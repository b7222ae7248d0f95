// runtime/network/layers/expert_adapter.h -- ExpertAdapter: an adapter (adapter.h) beside the
// matrices of a mixture of experts, with matrices A and B for each expert.
#pragma once

#include <string>

#include "runtime/network/layers/adapter.h"

namespace penstock {

// The parameters are "<part>.lora_a" (A, [experts, rank, in]) and "<part>.lora_b" (B, [experts,
// out, rank]), which start as those of an Adapter do. There is no dropout, as in peft.
class ExpertAdapter {
 public:
  struct Sizes {
    int64_t experts = 0, in = 0, out = 0;
  };
  ExpertAdapter(std::string part, const Sizes& sizes, const AdapterOptions& options);
  void declare(ParameterSet& set) const;
  // Returns (alpha / rank) B A x, [rows, out], of the rows x [rows, in], each by the matrices of
  // its expert.
  [[nodiscard]] Variable product(Context& context, const Variable& x, const Routing& routing) const;

 private:
  std::string part_;
  Sizes sizes_;
  AdapterOptions options_;
  Slot a_, b_;
};

}  // namespace penstock
