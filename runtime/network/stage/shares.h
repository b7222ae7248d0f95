// runtime/network/stage/shares.h -- ShareCutter: which elements of a stage each replica updates; a
// replica keeps the optimizer's state of its share alone (Rajbhandari et al. 2020, "ZeRO", stage
// 1). Pure.
//
// A share is ranges of elements, not whole tensors: a large embedding would spoil the balance.
// Every bucket of gradients is cut by itself, so that as soon as a bucket is complete the replicas
// sum it together, an equal part each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops/update.h"

namespace penstock {

// Cuts lie at multiples of so many elements of a parameter: the block that the gradient norm sums
// in one go, and whole vectors of the processor, so that an update has the same bits wherever its
// range begins.
inline constexpr int64_t kShareGranule = kSquaresBlock;

// The place of a trained parameter in its stage's vector of gradients and in that of values.
struct ParameterPlace {
  int64_t gradient = 0;  // index of its first element
  int64_t value = -1;    // index of its first element; -1: an earlier layer holds it
  int64_t elements = 0;
  int64_t room = 0;   // elements with the padding behind
  bool tied = false;  // cut by its size alone, since other stages must cut it alike
};

// Parameters that lie side by side in both vectors.
struct Stretch {
  int64_t gradient = 0, value = -1;  // indices of its first element, as in ParameterPlace
  int64_t elements = 0;              // padding included
  std::vector<int64_t> cuts;         // replica r has [cuts[r], cuts[r + 1]) of it
};

class ShareCutter {
 public:
  explicit ShareCutter(int replicas);

  // Cuts the next bucket, whose parameters come in the order of their gradients, into stretches.
  // Where a cut misses the equal part, by up to half a granule, later buckets make up for it: after
  // each bucket no replica has more than a granule beyond its equal part, tied parameters aside.
  [[nodiscard]] std::vector<Stretch> cut(std::span<const ParameterPlace> bucket);

 private:
  [[nodiscard]] Stretch cut_stretch(std::span<const ParameterPlace> places);

  int64_t replicas_;
  int64_t all_ = 0;              // elements of all stretches so far, each value once
  std::vector<int64_t> before_;  // [r]: how many of them replicas before r have
};

}  // namespace penstock
