// runtime/network/autograd/replicas.h -- Replicas: an all-gather of the few numbers that ops of all
// replicas exchange while a micro-batch is computed.
//
// Every replica runs the same instructions, so the calls come in the same order on each.
#pragma once

#include <span>

namespace penstock {

class Replicas {
 public:
  virtual ~Replicas() = default;
  [[nodiscard]] virtual int count() const = 0;
  // Everyone's values one after another, in the order of replicas; valid until the next call.
  // Waits for all of them.
  [[nodiscard]] virtual std::span<const double> gather(std::span<const double> mine) = 0;
};

}  // namespace penstock
