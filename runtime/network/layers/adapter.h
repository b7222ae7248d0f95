// runtime/network/layers/adapter.h -- Adapter: a product of low rank that is trained beside a
// matrix (Hu et al. 2021, "LoRA"), and which parts of a layer have one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/network/layers/context.h"

namespace penstock {

struct AdapterOptions {
  int64_t rank = 1;      // columns between the two factors of the product
  double alpha = 1.0;    // what is added is multiplied by alpha / rank
  double dropout = 0.0;  // of what goes into the adapter, in [0, 1)
};

// The linear layers inside a layer that have adapters.
struct AdaptedParts {
  AdapterOptions adapter = {};
  std::vector<std::string> names = {};  // of those layers, without the layer's own: "query", "in"

  // The options of that part's adapter; nullopt: the part has none.
  [[nodiscard]] std::optional<AdapterOptions> of(std::string_view part) const;
};

// The adapter of the matrix [out, in] of `layer`: parameters "<layer>.lora_a" [rank, in] and
// "<layer>.lora_b" [out, rank], which starts at zero, so that at first the layer computes what it
// did without.
class Adapter {
 public:
  Adapter(const std::string& layer, int64_t in, int64_t out, const AdapterOptions& options);
  void declare(ParameterSet& set) const;
  // y [..., out] + (alpha / rank) B (A dropout(x)), for x [..., in].
  [[nodiscard]] Variable add_to(Context& context, const Variable& y, const Variable& x) const;
  // The reason why the options make no sense; empty: they do.
  [[nodiscard]] std::string trouble() const;

 private:
  std::string layer_;
  int64_t in_, out_;
  AdapterOptions options_;
  uint64_t dropout_hash_;
  Slot a_, b_;
};

}  // namespace penstock
