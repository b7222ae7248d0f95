// runtime/network/autograd/replicas.h -- Replicas: an all-gather over replicas of a few numbers,
// for ops that need them while a micro-batch is computed (batch norm).
//
// Every replica runs the same instructions, so the calls come in the same order on each.
#pragma once

#include <span>

namespace penstock {

class Replicas {
 public:
  virtual ~Replicas() = default;
  [[nodiscard]] virtual int count() const = 0;
  // Gives `mine` and returns all replicas' values one after another, in the order of replicas;
  // valid until the next call. Waits for all replicas.
  [[nodiscard]] virtual std::span<const double> gather(std::span<const double> mine) = 0;
};

}  // namespace penstock
