// runtime/network/autograd/replicas.h -- Replicas: lets an op exchange a few numbers with the same
// op on the other replicas (data parallelism) while a micro-batch is computed; batch norm over all
// replicas does.
//
// gather() is an all-gather, collective over the replicas of one stage. Every replica runs the same
// instructions in the same order, so the calls of all replicas meet. The network knows only this
// interface; the pipeline implements it.
#pragma once

#include <span>

namespace penstock {

class Replicas {
 public:
  virtual ~Replicas() = default;
  [[nodiscard]] virtual int count() const = 0;  // of replicas, this one included
  // Waits for all replicas, and returns their numbers one replica after another, in the order of
  // replicas: count() * mine.size() numbers, valid until the next call. `mine` has the same size on
  // every replica.
  [[nodiscard]] virtual std::span<const double> gather(std::span<const double> mine) = 0;
};

}  // namespace penstock
