// runtime/network/stage/shares.h -- ShareCutter: decides which elements of a stage's weights each
// replica updates, so that a replica keeps the optimizer's state of its share alone (ZeRO stage 1,
// Rajbhandari et al. 2020). Pure arithmetic, the same on every rank (docs/sharing.md).
//
// A share is ranges of elements and not whole tensors, since one large embedding would make the
// shares unequal; only what must be updated as a whole (muon's matrices) is not cut. Every bucket
// of gradients (gradient_buckets.h) is cut by itself into one range for each replica: as soon as
// the bucket is complete, each replica sums its range over all replicas.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops/update.h"

namespace penstock {

// The granule: cuts lie at multiples of so many elements (4096) of a parameter. The gradient norm
// is summed in blocks of this size, and these are whole vectors of the processor, so norm and
// update have the same bits wherever the cuts are.
inline constexpr int64_t kShareGranule = kSquaresBlock;

// Where a trained parameter lies in the two vectors of its stage, that of all gradients and that of
// all values (weights).
struct ParameterPlace {
  int64_t gradient = 0;  // index of its first element in the vector of gradients
  int64_t value = -1;  // index in that of values; -1: the value is that of an earlier layer (tied)
  int64_t elements = 0;
  int64_t room = 0;  // elements that it takes in the vectors, with the padding behind it
  // True: layers of other stages may hold the parameter too. It is cut by its size alone, so that
  // all these stages cut it alike.
  bool tied = false;
  // True: one replica must update all of its elements, so that it is not cut.
  bool whole = false;
};

// Neighbouring parameters, without gaps in both vectors, that are cut as one range of elements.
struct Stretch {
  int64_t gradient = 0, value = -1;  // indices of its first element, as in ParameterPlace
  int64_t elements = 0;              // padding included
  std::vector<int64_t> cuts;  // replica r updates elements [cuts[r], cuts[r + 1]) of the stretch
};

class ShareCutter {
 public:
  explicit ShareCutter(int replicas);

  // Called for one bucket after another, the last layers' first: returns the stretches that the
  // bucket's parameters, given in the order of their gradients, are cut into. A cut lies up to half
  // a granule beside the equal part, and later buckets make up for that: after each bucket no
  // replica has more than one granule, or the largest parameter that is not cut, beyond its equal
  // part of all buckets so far, tied parameters not counted.
  [[nodiscard]] std::vector<Stretch> cut(std::span<const ParameterPlace> bucket);

 private:
  [[nodiscard]] Stretch cut_stretch(std::span<const ParameterPlace> places);

  int64_t replicas_;
  int64_t all_ = 0;              // elements of all stretches so far, a tied parameter counted once
  std::vector<int64_t> before_;  // [r]: how many of all_ the replicas 0 .. r - 1 have
};

}  // namespace penstock
