// runtime/engine/decoding/places.h -- Places: gives each text its rows in every round, from its
// first word to its last. Pure.
//
// A text never changes its replica: the cached keys and values of its rows are there, and another
// replica, which would have to compute them anew, would round them differently.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

class Places {
 public:
  // Makes places for texts of `width` neighbouring rows each, in rounds of `per_replica` rows on
  // each replica. Throws Error(Internal) when a text does not fit a replica.
  Places(int64_t per_replica, int64_t replicas, int64_t width);

  [[nodiscard]] int64_t texts() const { return texts_; }  // how many fit at once
  [[nodiscard]] bool any_free() const { return !free_.empty(); }
  // Takes the lowest free place for a text that starts: the Row::place of its first row; its other
  // rows have the places behind. Only while any_free().
  [[nodiscard]] int64_t take();
  void give_back(int64_t place);  // what take() gave to a text that has ended

 private:
  int64_t texts_;
  std::vector<int64_t> free_;  // first places, descending
};

}  // namespace penstock
