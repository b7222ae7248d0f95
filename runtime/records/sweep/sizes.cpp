#include "runtime/records/sweep/sizes.h"

#include <fmt/format.h>

#include <limits>

#include "kernels/amount.h"

namespace penstock {

std::vector<std::vector<size_t>> combinations(const std::vector<size_t>& sizes) {
  std::vector<std::vector<size_t>> all = {{}};
  for (const size_t size : sizes) {
    std::vector<std::vector<size_t>> longer;
    for (const std::vector<size_t>& one : all) {
      for (size_t i = 0; i < size; ++i) {
        longer.push_back(one);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  return all;
}

const char* word_of(Scaling scaling) {
  switch (scaling) {
    case Scaling::Strong:
      return "strong";
    case Scaling::Weak:
      return "weak";
    default:
      return "as-given";
  }
}

bool fit_ranks(int ranks, const SizeRules& rules, PointSizes& sizes) {
  if (!rules.replicas) {
    const int64_t chunks = int64_t{ranks} * sizes.chunks;
    if (chunks % sizes.stages != 0) return false;
    sizes.replicas = static_cast<int>(chunks / sizes.stages);
  } else if (!rules.stages) {
    if (ranks % sizes.replicas != 0) return false;
    sizes.stages = ranks / sizes.replicas * sizes.chunks;
  }
  return sizes.stages % sizes.chunks == 0 && sizes.ranks() == ranks;
}

std::string fit_mini_batch(const SizeRules& rules, PointSizes& sizes) {
  if (rules.scaling == Scaling::AsGiven) return {};
  const int64_t wanted =
      rules.mini_batch * (rules.scaling == Scaling::Weak ? int64_t{sizes.ranks()} : 1);
  if (rules.micro_batches && rules.micro_batch_size) {
    if (sizes.mini_batch() == wanted) return {};
    return fmt::format("{} x {} x {} are not the mini-batch of {}",
                       amount_text(sizes.replicas, "replica"),
                       amount_text(sizes.micro_batches, "micro-batch", "es"),
                       amount_text(sizes.micro_batch_size, "sample"), wanted);
  }
  if (rules.micro_batches) {
    const int64_t together = int64_t{sizes.replicas} * sizes.micro_batches;
    if (wanted % together != 0) {
      return fmt::format("a mini-batch of {} is no multiple of {} x {}",
                         amount_text(wanted, "sample"), amount_text(sizes.replicas, "replica"),
                         amount_text(sizes.micro_batches, "micro-batch", "es"));
    }
    sizes.micro_batch_size = wanted / together;
    return {};
  }
  const int64_t together = sizes.replicas * sizes.micro_batch_size;
  if (wanted % together != 0 || wanted / together > std::numeric_limits<int>::max()) {
    return fmt::format("a mini-batch of {} is no multiple of {} x micro-batches of {}",
                       amount_text(wanted, "sample"), amount_text(sizes.replicas, "replica"),
                       sizes.micro_batch_size);
  }
  sizes.micro_batches = static_cast<int>(wanted / together);
  return {};
}

}  // namespace penstock
