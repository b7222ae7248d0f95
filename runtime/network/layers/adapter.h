// runtime/network/layers/adapter.h -- Adapter (LoRA, Hu et al. 2021): a small trained product
// beside a large matrix that stays as it is; and AdaptedParts, which says what linear layers have
// one.
//
// Instead of training the matrix W [out, in], one trains A [rank, in] and B [out, rank] with a
// small rank, and the layer computes W x + (alpha / rank) B A x.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/network/layers/context.h"

namespace penstock {

struct AdapterOptions {
  int64_t rank = 1;      // rows of A, columns of B
  double alpha = 1.0;    // the product B A x is multiplied by alpha / rank
  double dropout = 0.0;  // rate of dropout on the adapter's input x, in [0, 1)
};

// The choice of those linear layers inside an attention or feed-forward layer that have adapters.
struct AdaptedParts {
  AdapterOptions adapter = {};  // the same for all of them
  // The last part of their names: "query" stands for "blocks.0.attention.query" in every block.
  std::vector<std::string> names = {};

  // The options of the adapter of the linear layer `part`, such as "query"; nullopt: it has none.
  [[nodiscard]] std::optional<AdapterOptions> of(std::string_view part) const;
};

// The adapter of the matrix [out, in] of the linear layer called `layer`. Its parameters are
// "<layer>.lora_a" (A, [rank, in], random at first) and "<layer>.lora_b" (B, [out, rank], zero at
// first, so that training begins with the layer's results unchanged).
class Adapter {
 public:
  Adapter(const std::string& layer, int64_t in, int64_t out, const AdapterOptions& options);
  void declare(ParameterSet& set) const;  // declares A and B, as Layer::declare() does
  // Returns y + (alpha / rank) B (A dropout(x)), where x [..., in] is the input of the linear layer
  // and y [..., out] its result without the adapter.
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
