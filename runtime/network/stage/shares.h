// runtime/network/stage/shares.h -- the elements of a stage that each replica updates: it keeps the
// optimizer's state of its share alone (Rajbhandari et al. 2020, "ZeRO", stage 1). Pure.
//
// A share is ranges of elements, not whole tensors: a large embedding would spoil the balance.
// Every bucket of gradients is cut by itself, so that all replicas add up each bucket together, an
// equal part of it each, as soon as it is complete.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops/update.h"

namespace penstock {

// Cuts lie between so many elements of a parameter: what the norm adds up in one go, and whole
// vectors of the processor, so that an update has the same bits wherever its range begins.
inline constexpr int64_t kShareGranule = kSquaresBlock;

// The place of a trained parameter in its stage's two vectors.
struct ParameterPlace {
  int64_t gradient = 0;
  int64_t value = -1;  // -1: the value is that of an earlier layer of the stage
  int64_t elements = 0;
  int64_t room = 0;   // with the padding behind
  bool tied = false;  // its cuts depend on nothing but its size: other stages must make the same
};

// Parameters that lie side by side in both vectors.
struct Stretch {
  int64_t gradient = 0, value = -1;  // where it begins
  int64_t elements = 0;              // padding included
  std::vector<int64_t> cuts;         // replica r has elements [cuts[r], cuts[r + 1])
};

class ShareCutter {
 public:
  explicit ShareCutter(int replicas);

  // The stretches of one bucket, whose parameters come in the order of their gradients. What one
  // bucket gives a replica too much, by up to half a granule, the next ones take off: after each of
  // them no replica has more than a granule beyond its equal part, tied parameters aside.
  [[nodiscard]] std::vector<Stretch> cut(std::span<const ParameterPlace> bucket);

 private:
  [[nodiscard]] Stretch cut_stretch(std::span<const ParameterPlace> places);

  int64_t replicas_;
  int64_t all_ = 0;              // elements of all stretches so far, each value once
  std::vector<int64_t> before_;  // [r]: of those, what replicas before r have
};

}  // namespace penstock
